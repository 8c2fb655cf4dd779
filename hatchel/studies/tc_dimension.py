"""DeVAE, Table 1: a discriminator's total correlation against the truth as the dimension grows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hatchel.objective.estimators.discriminator import DensityRatio
from hatchel.study.cells.estimated import Estimated
from hatchel.study.claims import inside
from hatchel.study.rows import where
from hatchel.study.store import Entry, Row
from hatchel.study.study import Claim, Scale, Study
from hatchel.study.table import Column, Table, table

PUBLISHED = {
    # D, rho: estimated
    (10, 0.3): 0.23, (10, 0.6): 1.08, (10, 0.9): 4.14, (100, 0.3): 2.17, (100, 0.6): 10.27, (100, 0.9): 23.39,
    (1000, 0.3): 8.62, (1000, 0.6): 17.40, (1000, 0.9): 22.47,
}  # fmt: skip
TRUTH = {
    (10, 0.3): 0.24, (10, 0.6): 1.12, (10, 0.9): 4.15, (100, 0.3): 2.36, (100, 0.6): 11.16, (100, 0.9): 41.52,
    (1000, 0.3): 23.58, (1000, 0.6): 111.57, (1000, 0.9): 415.18,
}  # fmt: skip
STEPS = {"smoke": 5, "laptop": 2000, "paper": 2000}
SEEDS = {"smoke": 1, "laptop": 1, "paper": 10}


class TCDimension(Study, kind="tc-dimension"):
    """TC by FactorVAE's discriminator after 2,000 updates against -D/4 log(1 - rho^2), for D = 10, 100, 1000."""

    paper = "Wu et al. 2023, Table 1"
    scales = {
        "smoke": "5 updates of a small discriminator",
        "laptop": "2,000 updates with FactorVAE's batches of 64 and rate of 1e-4, 1 repeat",
        "paper": "2,000 updates with FactorVAE's batches of 64 and rate of 1e-4 (the paper prints neither), 10 repeats",
    }

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """Every dimension and correlation; codes in correlated pairs."""
        by = DensityRatio(hidden=16, layers=2) if scale == "smoke" else DensityRatio()
        return [
            Entry(
                {"D": dim, "rho": rho}, Estimated(seed, by, dim, rho, sigma=0.0, batch=64, steps=STEPS[scale], lr=1e-4)
            )
            for dim, rho in (k for k in PUBLISHED if scale != "smoke" or k[0] < 1000)
            for seed in range(seeds or SEEDS[scale])
        ]

    def tables(self, rows: Sequence[Row]) -> list[Table]:
        """As the paper's, with its estimate and its truth."""
        paper: dict[tuple[Any, ...], float] = dict(PUBLISHED)
        truth: dict[tuple[Any, ...], float] = dict(TRUTH)
        columns = (Column("tc", "estimated TC", paper, 2), Column("truth", "true TC", truth, 2))
        return [table("Total correlation in nats", rows, ("D", "rho"), columns)]

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Section 4.1: right in 10 dimensions, far too low in 1000."""
        result: list[Claim] = []
        for dim, rho in PUBLISHED:
            shares = [r.values["tc"] / r.values["truth"] for r in where(rows, D=dim, rho=rho)]
            if dim == 10:
                text = f"D = 10, rho = {rho}: the estimate is within 15 % of the truth (their ratio)."
                result.append(inside(text, shares, 0.85, 1.15))
            elif dim == 1000:
                text = f"D = 1000, rho = {rho}: the estimate is less than half of the truth (their ratio)."
                result.append(inside(text, shares, -math.inf, 0.5))
        return result
