"""The papers' studies as views of the pool, and the claims that read them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from hatchel.studies.common import again, at, rank_correlation_of, view
from hatchel.studies.devae import alone, fall, jump
from hatchel.studies.pool import SHAPES, pool
from hatchel.studies.recurd import early, found_factors
from hatchel.studies.rtc_vae import carried, disintegrated, gap, suppressed
from hatchel.study.claims import per_seed
from hatchel.study.frame import build
from hatchel.study.study import Study, studies
from tests.study.made import both, rows

VIEWS = ("recurd", "devae", "split-encoder", "hfvae-scores", "rtc-vae")
POOL = {c.task.digest() for c in pool("laptop").tasks()}
IDS = {"R": 13, "D": 11, "S": 8, "H": 6, "T": 9}


def test_every_claim_of_the_papers_is_registered_once() -> None:
    claims = [claim for study in studies().values() for claim in study.claims]
    assert {c.id.partition(".")[0] for c in claims} == {f"{k}{i + 1}" for k, n in IDS.items() for i in range(n)}
    assert len({c.id for c in claims}) == len(claims)
    assert len({c.paper for c in claims}) == 5
    assert all(c.text.endswith(".") and c.where for c in claims)


@pytest.mark.parametrize(
    ("name", "own", "new"), [("recurd", 20, 10), ("devae", 40, 20), ("split-encoder", 0, 0), ("hfvae-scores", 0, 0)]
)
def test_a_view_trains_only_what_the_pool_lacks(name: str, own: int, new: int) -> None:
    tasks = Study.load(name).tasks("laptop")
    assert sum(c.task.digest() not in POOL for c in tasks) == own
    trained = {run.digest() for c in tasks for run in c.task.trainings()}
    known = {run.digest() for c in pool("laptop").tasks() for run in c.task.trainings()}
    assert len(trained - known) == new  # what else there is measures runs of the pool


def test_a_row_measured_again_is_the_same_run() -> None:
    row = at(SHAPES, "FactorVAE", 10)
    (case,) = again("laptop", [row], "once more", "mig").cases
    (whole,) = view(lambda labels: labels == row)("laptop").cases
    assert case.labels == {**row, "variant": "once more"}
    assert case.task.run == whole.task.run
    assert [m.kind for m in case.task.metrics] == ["mig"]


FACTORS = ["floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation"]
SHARES = {"rows": [[0.8, 0.0, 0.0, 0.0, 0.0, 0.0], [0.7, 0.9, 0.02, 0.0, 0.0, 0.0]], "factors": FACTORS}
DETAILS: dict[str, Any] = {
    "matrices": dict.fromkeys(("sap", "mig", "disintegration"), SHARES),
    "training": {"rec": [[100 * (i + 1), 50.0 - i] for i in range(10)]},
    "curves": {"active_units": [[1, 2.0], [2, 7.0], [3, 8.0]]},
    "history": [[1, {"mig": SHARES}], [2, {"mig": {**SHARES, "rows": [[0.4, 0.0, 0.1, 0.0, 0.0, 0.0]]}}]],
}


class Everything(dict[str, float]):
    """Any value that a claim may ask for."""

    NAMES = (
        "mig", "sap", "dci", "dci.completeness", "dci.informativeness", "factor_vae_score", "elbo_terms",
        "elbo_terms.mutual_information", "pairwise_nmi", "total_correlation", "gaussian_tc", "gaussian_tc@sample",
        "gaussian_tc.active_mean", "gaussian_tc.active_sample",
        "reconstruction",
        "information@level 0", "information@level 1", "information@level 2", "med_topk",
        "reconstruction@level 1", "reconstruction@level 2", "mig@layer m2", "mig@layer m3", "active_units",
        "dci(regressor=forest_regression)", "correlation", "tc", "truth", "mean", "sample", "information", "width",
        "log_evidence",
        "aggregate_kl", "distinct", "clustering", "named_alike", "between", "unused", "kept", "removed", "parameters",
        "thop macs", "steps", "seconds", "told apart: thickness of 7s", "told apart: width of 0s",
        *(f"accuracy {s:g}" for s in (0.2, 0.4, 0.6, 0.8, 1.0)),
        *(f"{score}.{factor}" for score in ("mig", "sap") for factor in FACTORS[:2]),
    )  # fmt: skip

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__({name: float(rng.uniform(1, 2)) for name in self.NAMES})
        for factor, number in (("floor_hue", 2.0), ("wall_hue", 1.0)):
            self |= {f"disintegration.{factor}.effective_number": number, f"disintegration.{factor}.dependence": 0.0}


@pytest.mark.parametrize("name", [name for name, study in studies().items() if study.claims])
def test_every_claim_reads_labels_that_its_study_has(name: str) -> None:
    rng, study = np.random.default_rng(0), Study.load(name)
    scale = "paper" if name in ("downstream-mnist", "domain-generalisation") else "laptop"
    frame = build(
        (c.labels, c.task.seed, {"digest": c.task.digest(), "values": Everything(rng), "details": DETAILS})
        for c in study.tasks(scale, 5)
    )
    missing = [(v.claim.id, part.against) for v in study.verdicts(frame) for part in v.parts if part.mean is None]
    assert missing == []


def one(**changes: Any) -> pd.DataFrame:
    values = {"gaussian_tc": [2.0], "gaussian_tc@sample": [0.5], "mig.floor_hue": [0.1], "mig.wall_hue": [0.7]}
    for factor, number, dependence in (("floor_hue", 1.9, 0.0), ("wall_hue", 1.0, 0.0), ("object_hue", 3.0, 0.0)):
        values |= {f"disintegration.{factor}.effective_number": [number]}
        values |= {f"disintegration.{factor}.dependence": [dependence]}
    return rows({"method": "a"}, DETAILS, **{**values, **changes})


def test_numbers_of_a_run_by_hand() -> None:
    assert gap(one()) == 1.5
    # object_hue was not learned: its best latent tells 0.02 of it.
    assert carried(one()) == {"floor_hue": True, "wall_hue": False}
    assert disintegrated(one()) == 1
    assert disintegrated(one(**{"disintegration.floor_hue.dependence": [0.4]})) == 0  # two that are no two
    assert per_seed(one(), suppressed("mig")) == pytest.approx({0: -0.6})
    assert found_factors(one()) == 0.0
    assert early(one()) == 49.5  # the first two of ten
    assert fall(one()) == 1.0  # wall_hue from 0.9 to nothing
    assert jump(one()) == 5
    assert per_seed(one(), alone("wall_hue")) == pytest.approx({0: 0.9 / 1.62})


def test_rank_correlation_over_the_runs_of_a_seed() -> None:
    runs = [rows({"beta": b}, mig=[m], sap=[s]) for b, (m, s) in enumerate([(1, 2.0), (2, 4), (3, 3), (4, 9)])]
    assert rank_correlation_of("mig", "sap")(both(*runs)) == pytest.approx(0.8)  # 1 - 6 * 2 / 60
    assert rank_correlation_of("mig", "sap")(both(*runs[:3])) is None
