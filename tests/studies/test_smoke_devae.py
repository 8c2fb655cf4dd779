"""The studies of papers 001, 002 and 004 at `smoke`."""

from __future__ import annotations

import pytest

from tests.studies.smoke import SMOKED, runs


@pytest.mark.parametrize("name", [*SMOKED["001"], *SMOKED["002"], *SMOKED["004"]])
def test_smoke(name, tmp_path):
    runs(name, tmp_path)
