"""Comb: which encoder, objective and optimiser together disentangle best; searched, confirmed, taken apart.

A cell is an encoder x an objective x an optimiser. The search halves a designed list of them, most of which differ in
one part from its centre, FactorVAE with the split encoder; seeds from 100 on, so that confirming has fresh ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hatchel.studies.pool import NETWORK, SHAPES, SMALL, TEN, columns, source
from hatchel.study.frame import Frame, groups, select, values, with_value
from hatchel.study.grid import Grid, Scale, Setting, metrics, trained
from hatchel.study.grid import changes as changes_of
from hatchel.study.study import Study, register
from hatchel.study.table import Column, Table, table
from hatchel.study.task import Case, Label
from hatchel.study.trained import Grown, Trained

JUDGED = ("mig", "dci", "factor_vae_score")
"""A cell is chosen by the mean of these three, and over seeds."""
SEARCH_SEEDS = 100


@dataclass(frozen=True)
class Round:
    """Of the search."""

    steps: int
    seeds: int
    cells: int
    """How many take part, the best of the round before."""


ROUNDS = (Round(1_250, 2, 99), Round(2_500, 3, 21), Round(5_000, 5, 6))
LAST = ROUNDS[-1].steps
"""Schedules are made for a training of so many steps, in every round."""


def _recursive(**fields: Any) -> dict[str, Any]:
    return {"kind": "recursive", **fields}


def _split(**fields: Any) -> dict[str, Any]:
    return {"kind": "split", **fields}


BRANCHES = {"channels": 32, "hidden": 128}
"""The split encoder's, as heads of the recursive one."""
ENCODERS: Mapping[str, Any] = {
    "conv": "conv",
    "split": "split",
    "split, narrow branches": _split(branch_channels=16, hidden=64),
    "split, wide branches": _split(branch_channels=64, hidden=256),
    "split, narrow trunk": _split(channels=[16, 16, 32]),
    "split, wide trunk": _split(channels=[64, 64, 128]),
    "recursive": "recursive",
    "recursive, k = 4": _recursive(k=4),
    "recursive, attention": _recursive(router="attention"),
    "recursive, no router": _recursive(router="none"),
    "recursive, then split": _recursive(**BRANCHES),
    "recursive, then split, no router": _recursive(**BRANCHES, router="none"),
    "recursive (wide), then split": _recursive(**BRANCHES, reading="literal"),
}


def _ramp(start: float, end: float, share: float) -> dict[str, Any]:
    """A weight that changes over a share of the last round."""
    return {"kind": "ramp", "start": start, "end": end, "steps": round(share * LAST)}


def _tc(weight: Any) -> dict[str, Any]:
    """The term of FactorVAE beside those of another method."""
    return {"term": {"kind": "total_correlation", "by": SMALL}, "weight": weight}


def factor_vae(gamma: Any = 10, **more: Any) -> dict[str, Any]:
    """Kim & Mnih 2018."""
    return {"method": "factor_vae", "gamma": gamma, "by": SMALL, **NETWORK, **TEN, **more}


def tcvae(beta: Any) -> dict[str, Any]:
    """Chen et al. 2018."""
    return {"method": "beta_tcvae", "beta": beta, **NETWORK, **TEN}


def rtc(beta: float, eta: float) -> dict[str, Any]:
    """FactorVAE with the variance penalty of Cheng et al. 2020."""
    return {"method": "rtc_vae", "beta": beta, "eta": eta, "by": SMALL, **NETWORK, **TEN}


def hf_vae(beta: float, gamma: float, *sizes: int, classes: int = 0) -> dict[str, Any]:
    """Groups of coordinates of these sizes, and a class (Esmaeili et al. 2019)."""
    groups = {f"group{i}": {"kind": "gaussian", "dim": size} for i, size in enumerate(sizes, 1)}
    groups |= {"class": {"kind": "concrete", "classes": classes}} if classes else {}
    own = {"beta": beta, "gamma": gamma, "groups": groups, "head_start_steps": LAST // 2}
    return {"method": "hf_vae", **own, **NETWORK}


def de_vae(*betas: float, **more: Any) -> dict[str, Any]:
    """Latent spaces that narrow by level (Wu et al. 2023)."""
    return {"method": "de_vae", "betas": betas, **NETWORK, **more}


OBJECTIVES: Mapping[str, Mapping[str, Any]] = {
    "VAE": {"method": "vae", **NETWORK, **TEN},
    **{f"FactorVAE {g}": factor_vae(g) for g in (3, 5, 10, 20, 40)},
    **{f"beta-TCVAE {b}": tcvae(b) for b in (3, 6, 10)},
    **{f"FactorVAE {b}, variance {e}": rtc(b, e) for b, e in ((10, 1), (10, 3), (10, 10), (20, 3))},
    "HFVAE 6, 3, two groups": hf_vae(6, 3, 5, 5),
    "HFVAE 10, 6, two groups": hf_vae(10, 6, 5, 5),
    "HFVAE 6, 3, five groups": hf_vae(6, 3, 2, 2, 2, 2, 2),
    "HFVAE 6, 6, one of 4 classes": hf_vae(6, 6, 10, classes=4),
    "DeVAE 1, 10, 40": de_vae(1, 10, 40),
    "DeVAE 1, 4, 16": de_vae(1, 4, 16),
    "DeVAE 1, 10, 40 + TC 10": de_vae(1, 10, 40, **{"objective.tc": _tc([10, 10, 10])}),
    "DeVAE 1, 4 + TC 10": de_vae(1, 4, **{"objective.tc": _tc([10, 10])}),
    "FactorVAE 0 to 10 in a quarter": factor_vae(_ramp(0, 10, 0.25)),
    "FactorVAE 0 to 20 in a half": factor_vae(_ramp(0, 20, 0.5)),
    "FactorVAE 40 to 10 in a half": factor_vae(_ramp(40, 10, 0.5)),
    "FactorVAE 10, KL 0 to 1 in a quarter": factor_vae(**{"objective.kl.weight": _ramp(0, 1, 0.25)}),
    "FactorVAE 10, KL 4 to 1 in a half": factor_vae(**{"objective.kl.weight": _ramp(4, 1, 0.5)}),
    "FactorVAE 20, KL 4 to 1 in a half": factor_vae(20, **{"objective.kl.weight": _ramp(4, 1, 0.5)}),
    "FactorVAE 10, KL 2": factor_vae(**{"objective.kl.weight": 2}),
    "beta-TCVAE 0 to 10 in a half": tcvae(_ramp(0, 10, 0.5)),
    "beta-TCVAE 12 to 4 in a half": tcvae(_ramp(12, 4, 0.5)),
}


def _cosine(warmup: int) -> dict[str, Any]:
    return {"kind": "cosine", "steps": LAST, "warmup": warmup, "floor": 0.05}


OPTIMISERS: Mapping[str, Mapping[str, Any]] = {
    "Adam 1e-3": {},
    "Adam 5e-4": {"optimizer.lr": 5e-4},
    "Adam 2e-3": {"optimizer.lr": 2e-3},
    "AdamW 0.01": {"optimizer.weight_decay": 0.01},
    "AdamW 0.1": {"optimizer.weight_decay": 0.1},
    "warm-up 250": {"optimizer.schedule": {"kind": "warmup", "steps": 250}},
    "cosine": {"optimizer.schedule": _cosine(0)},
    "cosine, 2e-3, warm-up 250": {"optimizer.lr": 2e-3, "optimizer.schedule": _cosine(250)},
    "critic 3e-4": {"critic_optimizer.lr": 3e-4},
    "critic 3e-3": {"critic_optimizer.lr": 3e-3},
    "2 critic updates": {"critic_updates": 2},
    "4 critic updates": {"critic_updates": 4},
    "critic 3e-4, 4 updates": {"critic_optimizer.lr": 3e-4, "critic_updates": 4},
}


@dataclass(frozen=True)
class Cell:
    """One point of the search, by the names of its parts."""

    encoder: str = "split"
    objective: str = "FactorVAE 10"
    optimiser: str = "Adam 1e-3"

    @property
    def labels(self) -> dict[str, Label]:
        return {"encoder": self.encoder, "method": self.objective, "optimiser": self.optimiser}

    @property
    def fields(self) -> dict[str, Any]:
        return {**OBJECTIVES[self.objective], "encoder": ENCODERS[self.encoder], **OPTIMISERS[self.optimiser]}


def cells() -> list[Cell]:
    """Every part by itself at the centre, then a few pairs; what is likely good or cheap to know comes first."""
    pairs = [
        Cell("conv", "beta-TCVAE 6"), Cell("recursive", "beta-TCVAE 6"), Cell("recursive, then split", "beta-TCVAE 6"),
        Cell("conv", "FactorVAE 20"), Cell("recursive", "FactorVAE 20"), Cell("split, wide branches", "FactorVAE 20"),
        Cell("recursive, then split", "FactorVAE 20"), Cell("recursive", "FactorVAE 10, variance 3"),
        Cell("split, wide branches", "FactorVAE 10", "cosine, 2e-3, warm-up 250"),
    ]  # fmt: skip
    by_part = [
        *(Cell(encoder=name) for name in ENCODERS), *(Cell(objective=name) for name in OBJECTIVES),
        *(Cell(optimiser=name) for name in OPTIMISERS),
    ]  # fmt: skip
    return list(dict.fromkeys([Cell(), *by_part, *pairs]))


NOTE = (
    "conv decoder, D = 10, Bernoulli, discriminators of 256 units at the model's rate, scores on 5,000 items of the "
    "held-out tenth; the printed weights on the sum over 32 x 32 pixels; schedules as long as the last round"
)
WINNER = Cell()
"""Of the search. Until its last round is done, the centre stands for it."""


def base(scale: Scale, steps: int) -> dict[str, Any]:
    """Fields of every run."""
    own = {"data": source(SHAPES, scale), "steps": steps, "batch_size": 64, "optimizer.lr": 1e-3, "test_share": 0.1}
    return own | ({"batch_size": 16, "test_share": 0.0} if scale == "smoke" else {})


def search(scale: Scale, number: int = 0, chosen: Sequence[Cell] | None = None) -> Grid:
    """A round: those cells, or in the first all."""
    this, smoke = ROUNDS[number], scale == "smoke"
    some = list(chosen or (cells()[:3] if smoke else cells()))
    settings = [Setting(cell.labels, changes_of(cell.fields)) for cell in some]
    steps = 2 * (number + 1) if smoke else this.steps
    made: list[Case] = []
    for case in trained(settings, base(scale, steps)):
        assert isinstance(case.task, Trained)
        task = Grown(seed=0, run=case.task.run, items=200 if smoke else 5_000, metrics=metrics(*JUDGED))
        made.append(Case({**case.labels, "round": number + 1}, task))
    return Grid(tuple(made), 1 if smoke else this.seeds, NOTE if scale == "laptop" else "", first=SEARCH_SEEDS)


def standings(frame: Frame) -> list[tuple[Cell, float]]:
    """The cells of a frame with the mean over seeds of (MIG + DCI-D + FactorVAE score) / 3, the best first."""
    found: list[tuple[Cell, float]] = []
    for key, rows in groups(judged(frame), "encoder", "method", "optimiser").items():
        if seen := values(rows, "score"):
            found.append((Cell(*map(str, key)), sum(seen) / len(seen)))
    return sorted(found, key=lambda one: -one[1])


def judged(frame: Frame) -> Frame:
    """With `score` of each run that has all three."""
    whole = with_value(frame, "score", lambda row: sum(row[name] for name in JUDGED) / len(JUDGED), JUDGED)
    return whole.dropna(subset=["value"])


def next_round(scale: Scale, frame: Frame) -> list[Case]:
    """The best of the last round that is there, for longer and with more seeds."""
    number = int(max(frame["round"]))
    if number == len(ROUNDS):
        return []
    ranked = [cell for cell, _ in standings(select(frame, round=number))]
    few = 4 - number if scale == "smoke" else ROUNDS[number].cells
    return search(scale, number, ranked[:few]).tasks()


def search_tables(frame: Frame) -> list[Table]:
    """A table for each round, the best cell first."""
    made: list[Table] = []
    for number, rows in sorted((int(key), rows) for (key,), rows in groups(judged(frame), "round").items()):
        ranked = {cell: place for place, (cell, _) in enumerate(standings(rows))}
        title = f"Round {number}, {len(ranked)} cells, mean over seeds with a 95 % interval"
        found = table(title, rows, ("encoder", "method", "optimiser"), COLUMNS)
        order = sorted(found.rows, key=lambda row: ranked[Cell(*map(str, row.labels))])
        made.append(replace(found, rows=tuple(order)))
    return made


SCORES = (Column("score", "mean of the three"), *columns(*JUDGED))
COLUMNS = (*SCORES, Column("explained", "explained"), Column("seconds_per_step", "s a step"))

register(Study(
    name="comb-search",
    about="Encoders, objectives and optimisers of the five papers, combined and halved in three rounds on Shapes3D.",
    paper="this project",
    grid=search,
    following=next_round,
    columns=COLUMNS,
    tables=search_tables,
    figures=lambda frame: {},
))  # fmt: skip
