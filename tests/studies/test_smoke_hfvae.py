"""The studies of Esmaeili et al. 2019 at `smoke`."""

from __future__ import annotations

import pytest

from tests.studies.smoke import SMOKED, runs


@pytest.mark.parametrize("name", SMOKED["hfvae"])
def test_smoke(name, tmp_path):
    runs(name, tmp_path)


@pytest.mark.parametrize("name", SMOKED["hfvae, digits"])
def test_smoke_on_real_digits(name, tmp_path, real_data, monkeypatch):
    monkeypatch.setenv("HATCHEL_DATA", str(real_data))
    runs(name, tmp_path)
