"""RTC-VAE, App. 1.3: a minibatch estimate of total correlation rewards dead coordinates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from hatchel.estimators.minibatch import MSS
from hatchel.study.cells.estimated import Estimated
from hatchel.study.rows import groups, measured
from hatchel.study.store import Entry, Row
from hatchel.study.study import Claim, Scale, Study
from hatchel.study.table import Column, Table, table

D, SIGMA = 20, 0.01
"""Dimensions enough, and noise small enough, that posteriors do not overlap: what the appendix assumes."""
DEAD = (0, 2, 4, 8, 12, 16)
BATCHES = (64, 256, 1024)


class DimensionShutdown(Study, kind="dimension-shutdown"):
    """MSS of independent codes with S dead coordinates: the estimate falls as (D - S - 1) log M, the truth is 0."""

    paper = "004 App. 1.3"
    scales = {
        "smoke": "1 batch of 64, 1 seed",
        "laptop": f"D = {D}, sigma = {SIGMA}, batches of 64, 256 and 1024 out of N = M, 10 batches each, 3 seeds",
        "paper": f"D = {D}, sigma = {SIGMA}, batches of 64, 256 and 1024 out of N = M, 10 batches each, 10 seeds",
    }

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """Every number of dead coordinates and size of batch."""
        smoke = scale == "smoke"
        count = seeds or (1 if smoke else 3 if scale == "laptop" else 10)
        return [
            Entry(
                {"M": size, "S": dead},
                Estimated(
                    seed, MSS(), D, sigma=SIGMA, dead=dead, floor=SIGMA**2 / 100, batch=size, n_data=size,
                    repeats=1 if smoke else 10,
                ),
            )
            for size in BATCHES[: 1 if smoke else 3]
            for dead in DEAD
            for seed in range(count)
        ]  # fmt: skip

    def tables(self, rows: Sequence[Row]) -> list[Table]:
        """The estimate, the appendix's formula, the truth."""
        shown = [_with_formula(r) for r in rows]
        columns = (Column("tc", "estimated TC", digits=2), Column("formula", "(D - S - 1) log M", digits=2),
                   Column("truth", "true TC", digits=4))  # fmt: skip
        return [table("Total correlation in nats", shown, ("M", "S"), columns)]

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """The estimate over S, the formula dashed."""
        from hatchel.study.figures import lines

        shown = [_with_formula(r) for r in rows]
        both = {"tc": "estimated", "formula": "(D - S - 1) log M"}
        return {"TC by dead dimensions": lines(shown, "S", both, "M", ("dead dimensions S", "TC, nats"))}

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Eq. 11 and what follows it."""
        shares = [
            found.value / ((D - int(s) - 1) * math.log(int(m)))
            for (m, s), group in groups(rows, "M", "S").items()
            if (found := measured(group, "tc")) and isinstance(s, int) and isinstance(m, int) and s <= D // 2
        ]
        if not shares:
            return []
        text = "With up to half of the coordinates dead the estimate is (D - S - 1) log M within 15 %; the truth is 0."
        evidence = f"{100 * min(shares):.0f} to {100 * max(shares):.0f} % of the formula"
        return [Claim(text, all(abs(s - 1) <= 0.15 for s in shares), evidence)]


def _with_formula(row: Row) -> Row:
    value = (D - int(row.labels["S"]) - 1) * math.log(int(row.labels["M"]))
    return Row(row.labels, row.seed, row.digest, {**row.values, "formula": value}, row.details, row.seconds)
