"""The studies of DeVAE, the split encoder and RTC-VAE at `smoke`."""

from __future__ import annotations

import pytest

from tests.studies.smoke import SMOKED, runs


@pytest.mark.parametrize("name", [*SMOKED["devae"], *SMOKED["split"], *SMOKED["ours"], *SMOKED["rtc"]])
def test_smoke(name, tmp_path):
    runs(name, tmp_path)
