"""Whether factors disintegrate is asked of those that were learned."""

from __future__ import annotations

import pandas as pd

from hatchel.studies.rtc_vae import carriers
from hatchel.study.study import Study
from tests.study.made import rows, seeds

SHARES = {"rows": [[0.4, 0.02, None], [0.3, 0.02, None], [0.0, 0.02, None]], "factors": ["hue", "turn", "still"]}
VALUES = {"disintegration.hue.effective_number": [1.9, 1.8, 2.0], "disintegration.turn.effective_number": [3.0] * 3}


def made(method: str, shares: dict[str, list]) -> pd.DataFrame:
    return rows({"method": method, "what": "scores"}, {"matrices": {"disintegration": shares}}, **VALUES)


def test_a_factor_that_no_latent_tells_does_not_count() -> None:
    assert carriers(seeds(made("RTC-VAE", SHARES), 0)) == 1.9
    nothing = {"rows": [[0.05, 0.02, None]], "factors": SHARES["factors"]}
    assert carriers(seeds(made("RTC-VAE", nothing), 0)) is None


def test_the_claim_rests_on_the_others() -> None:
    study = Study.load("disintegration")
    rtc, dip = study.claims(made("RTC-VAE", SHARES))
    assert rtc.holds is True
    assert rtc.evidence == "1.9 [1.8, 2] over 3 seeds"
    assert (dip.holds, dip.evidence) == (None, "not run")
