"""RTC-VAE, App. 1.3: a minibatch estimate of total correlation rewards dead coordinates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hatchel.objective.estimators.minibatch import MSS
from hatchel.study.cells.estimated import Estimated
from hatchel.study.claims import inside
from hatchel.study.rows import groups, where
from hatchel.study.store import Entry, Row
from hatchel.study.study import Claim, Scale, Study
from hatchel.study.table import Column, Table, table

D = 20
SIGMAS = (0.01, 0.001)
"""The appendix assumes that posteriors do not overlap: so it is in D dimensions, but in a single one of them only where
M sigma is well below 1, which it is at 0.001 alone."""
DEAD = (0, 2, 4, 8, 12, 16)
BATCHES = (64, 256, 1024)


class DimensionShutdown(Study, kind="dimension-shutdown"):
    """MSS of independent codes with S dead coordinates: the estimate falls as (D - S - 1) log M, the truth is 0."""

    paper = "Cheng et al. 2020, App. 1.3"
    scales = {
        "smoke": "1 batch of 64, 1 seed",
        "laptop": f"D = {D}, batches of 64, 256 and 1024 out of N = M, 10 batches each, 3 seeds",
        "paper": f"D = {D}, batches of 64, 256 and 1024 out of N = M, 10 batches each, 10 seeds",
    }

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """Every number of dead coordinates and size of batch."""
        smoke = scale == "smoke"
        count = seeds or (1 if smoke else 3 if scale == "laptop" else 10)
        return [
            Entry(
                {"sigma": sigma, "M": size, "S": dead},
                Estimated(
                    seed, MSS(), D, sigma=sigma, dead=dead, floor=sigma**2 / 100, batch=size, n_data=size,
                    repeats=1 if smoke else 10,
                ),
            )
            for sigma in SIGMAS
            for size in BATCHES[: 1 if smoke else 3]
            for dead in DEAD
            for seed in range(count)
        ]  # fmt: skip

    def tables(self, rows: Sequence[Row]) -> list[Table]:
        """The estimate, the appendix's formula, the truth."""
        shown = [_with_formula(r) for r in rows]
        columns = (Column("tc", "estimated TC", digits=2), Column("formula", "(D - S - 1) log M", digits=2),
                   Column("truth", "true TC", digits=4))  # fmt: skip
        return [
            table(f"Total correlation in nats, sigma = {sigma:g}", where(shown, sigma=sigma), ("M", "S"), columns)
            for (sigma,) in groups(shown, "sigma")
        ]

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """The estimate over S, the formula dashed."""
        from hatchel.study.figures import lines

        shown = [_with_formula(r) for r in rows]
        both = {"tc": "estimated", "formula": "(D - S - 1) log M"}
        return {
            f"TC by dead dimensions, sigma = {sigma:g}": lines(group, "S", both, "M", ("dead dimensions S", "TC, nats"))
            for (sigma,), group in groups(shown, "sigma").items()
        }

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Eq. 11 and what follows it."""
        result: list[Claim] = []
        for (sigma,), part in groups([_with_formula(r) for r in rows], "sigma").items():
            for (size,), group in groups(part, "M").items():
                # The mean over S is one number a seed.
                half = [r for r in group if int(r.labels["S"]) <= D // 2]
                shares = [
                    float(np.mean([r.values["tc"] / r.values["formula"] for r in half if r.seed == seed]))
                    for seed in sorted({r.seed for r in half})
                ]
                text = (
                    f"sigma = {sigma:g}, M = {size}: with up to half of the coordinates dead the estimate is "
                    "(D - S - 1) log M within 15 % (their ratio); the truth is 0."
                )
                result.append(inside(text, shares, 0.85, 1.15))
        return result


def _with_formula(row: Row) -> Row:
    value = (D - int(row.labels["S"]) - 1) * math.log(int(row.labels["M"]))
    return Row(row.labels, row.seed, row.digest, {**row.values, "formula": value}, row.details, row.seconds)
