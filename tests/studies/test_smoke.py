"""Every row of the papers' tables and figures is a study that builds at every scale."""

from __future__ import annotations

import pytest

from hatchel.study.study import studies
from tests.studies.smoke import SMOKED, builds

STUDIES = (
    "tc-dimension", "tc-estimators", "tc-bound", "dimension-shutdown", "rtc-vae", "rtc-nets", "recurd", "recurd-cost",
    "downstream-mnist", "domain-generalisation", "devae", "devae-highdim", "split-encoder", "hfvae-scores",
    "hfvae-features", "hfvae-discrete", "hfvae-zero-shot", "hfvae-terms", "objectives", "precision",
)  # fmt: skip


def test_all_of_them_are_here_and_run_in_the_tests():
    own = {name for name, study in studies().items() if study.grid.__module__.startswith("hatchel.studies")}
    # The tasks of the pool and the leader board are run as those of its views; those of Comb have tests of their own.
    assert {name for name in own - {"pool", "leaderboard"} if not name.startswith("comb-")} == set(STUDIES)
    assert sorted(name for group in SMOKED.values() for name in group) == sorted(STUDIES)


@pytest.mark.parametrize("name", STUDIES)
def test_builds_at_every_scale(name):
    builds(name)
