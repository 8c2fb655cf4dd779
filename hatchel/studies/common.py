"""What the papers' studies share: how they cite, and how they read the pool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from hatchel.studies.pool import SHAPES, SPRITES, columns, pool
from hatchel.study.claims import Claim
from hatchel.study.frame import Frame, groups, values
from hatchel.study.grid import Grid, Scale, metrics
from hatchel.study.statistics import rank_correlation
from hatchel.study.task import Case, Label
from hatchel.study.trained import Trained

RECURD, DEVAE, SPLIT, HFVAE, RTC = (
    partial(Claim, paper)
    for paper in (
        "RecurD, Chen et al. 2022",
        "DeVAE, Wu et al. 2023",
        "Split Encoder 2019",
        "HFVAE, Esmaeili et al. 2019",
        "RTC-VAE, Cheng et al. 2020",
    )
)
"""A claim of each paper, by the paper's name in docs/papers.md."""
DATA: Mapping[str, str] = {"shapes3d": SHAPES, "dsprites": SPRITES}
"""By the suffix of a claim's id."""
ERROR = "reconstruction"
KL = "elbo_terms"
COLUMNS = columns("mig", "sap", "dci", "factor_vae_score", KL, ERROR)
"""Of most views."""


def at(data: str, method: str, strength: Label = "", variant: str = "", encoder: str = "conv") -> dict[str, Label]:
    """The labels of a row of the pool."""
    recursive = method.startswith("RecurD") and method != "RecurD-0"
    reads = "recursive" if recursive else "residual" if method == "NVAE" else encoder
    return {"data": data, "method": method, "strength": strength, "encoder": reads, "variant": variant}


def view(
    wanted: Callable[[Mapping[str, Label]], bool], more: Callable[[Scale], Sequence[Grid]] = lambda scale: ()
) -> Callable[[Scale], Grid]:
    """The tasks of the pool whose labels are wanted, and `more` that it lacks."""

    def grid(scale: Scale) -> Grid:
        whole = pool(scale)
        every = [replace(g, cases=tuple(c for c in g.cases if wanted(c.labels)), then=()) for g in (whole, *whole.then)]
        first, *rest = [part for part in (*every, *more(scale)) if part.cases]
        return replace(first, then=tuple(rest))

    return grid


def of_pool(scale: Scale, rows: Iterable[Mapping[str, Label]]) -> list[tuple[Mapping[str, Label], Trained]]:
    """Rows of the pool, as far as a scale has them, with what is trained."""
    whole = pool(scale)
    tasks = {tuple(c.labels.values()): c.task for g in (whole, *whole.then) for c in g.cases}
    found = [(row, tasks.get(tuple(row.values()))) for row in rows]
    return [(row, task) for row, task in found if isinstance(task, Trained)]


def again(scale: Scale, rows: Iterable[Mapping[str, Label]], what: str, *measured: str | Mapping[str, Any]) -> Grid:
    """Runs of the pool measured by something that it does not measure, under `what` as their variant."""
    items = 200 if scale == "smoke" else 10_000
    cases = [
        Case({**row, "variant": what}, Trained(seed=0, run=task.run, metrics=metrics(*measured), items=items))
        for row, task in of_pool(scale, rows)
    ]
    return Grid(tuple(cases), 1 if scale == "smoke" else 5)


def matrix(rows: Frame, name: str) -> tuple[Any, list[str]]:
    """The matrix behind a score of one task (latents, factors), and the factors' names; empty where there is none."""
    found = rows["details"].iloc[0].get("matrices", {}).get(name)
    if not found:
        return np.zeros((0, 0)), []
    return np.nan_to_num(np.array(found["rows"], dtype=float)), list(found["factors"])


def trade_off(frame: Frame) -> dict[str, Any]:
    """MIG against the reconstruction error, a dot a run, on each data set."""
    from hatchel.study.figures import scatter

    return {
        f"{data}: MIG against reconstruction": scatter(group, ERROR, "mig", "method", ("reconstruction (nats)", "MIG"))
        for (data,), group in groups(frame, "data").items()
    }


def rank_correlation_of(first: str, second: str) -> Callable[[Frame], float | None]:
    """Spearman's correlation of two values over all tasks of a seed; None below four of them."""

    def correlated(rows: Frame) -> float | None:
        by = rows.pivot_table(index="task", columns="metric", values="value", sort=False)
        if not {first, second} <= {*by.columns} or len(by := by[[first, second]].dropna()) < 4:
            return None
        return float(rank_correlation({first: by[first], second: by[second]})[0, 1])

    return correlated


def one(rows: Frame, name: str) -> float | None:
    """A value of a single task."""
    found = values(rows, name)
    return found[0] if found else None
