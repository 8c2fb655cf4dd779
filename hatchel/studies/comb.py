"""Comb: which encoder, objective and optimiser together disentangle best; searched, confirmed, taken apart.

A cell is an encoder x an objective x an optimiser. The search halves a designed list of them, most of which differ in
one part from its centre, FactorVAE with the split encoder; seeds from 100 on, so that confirming has fresh ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hatchel.studies.pool import NETWORK, SHAPES, SMALL, TEN, columns, source
from hatchel.study.frame import Frame, groups, values, with_value
from hatchel.study.grid import Grid, Scale, Setting, metrics, trained
from hatchel.study.grid import changes as changes_of
from hatchel.study.study import Study, register
from hatchel.study.table import Column, Table, table
from hatchel.study.task import Case, Label
from hatchel.study.trained import Grown, Trained

JUDGED = ("mig", "dci", "factor_vae_score")
"""A cell is chosen by the mean of these three, and over seeds."""
SEARCH_SEEDS = 100
STEPS = 5_000


@dataclass(frozen=True)
class Round:
    """Of the search: seeds, and how many cells take part, the best of the round before.

    Every round trains to the end: a weight that falls on the way has shown nothing of what it does before.
    """

    seeds: int
    cells: int


ROUNDS = (Round(1, 99), Round(2, 4), Round(5, 2))


def _recursive(**fields: Any) -> dict[str, Any]:
    return {"kind": "recursive", **fields}


def _split(**fields: Any) -> dict[str, Any]:
    return {"kind": "split", **fields}


BRANCHES = {"channels": 32, "hidden": 128}
"""The split encoder's, as heads of the recursive one."""
ENCODERS: Mapping[str, Any] = {
    "conv": "conv",
    "split": "split",
    "split, wide branches": _split(branch_channels=64, hidden=256),
    "split, thin trunk": _split(channels=(32, 32, 32)),
    "recursive": "recursive",
    "recursive, then split": _recursive(**BRANCHES),
}


def _ramp(start: float, end: float, share: float) -> dict[str, Any]:
    """A weight that changes over a share of the training."""
    return {"kind": "ramp", "start": start, "end": end, "steps": round(share * STEPS)}


def _tc(weight: Any) -> dict[str, Any]:
    """The term of FactorVAE beside those of another method."""
    return {"term": {"kind": "total_correlation", "by": SMALL}, "weight": weight}


def _pairs(weight: float) -> dict[str, Any]:
    """RecurD's pairs on the code alone, their densities by the minibatch, which needs no critic."""
    return {"term": {"kind": "pairwise_information", "by": "mws"}, "weight": weight}


def factor_vae(gamma: Any = 10, **more: Any) -> dict[str, Any]:
    """Kim & Mnih 2018."""
    return {"method": "factor_vae", "gamma": gamma, "by": SMALL, **NETWORK, **TEN, **more}


def tcvae(beta: Any) -> dict[str, Any]:
    """Chen et al. 2018."""
    return {"method": "beta_tcvae", "beta": beta, **NETWORK, **TEN}


CENTRE = {"start": 128.0, "end": 4.0, "steps": round(2 / 3 * STEPS), "delay": STEPS // 24, "curve": "geometric"}


def rtc(beta: float, eta: float) -> dict[str, Any]:
    """FactorVAE with the variance penalty of Cheng et al. 2020."""
    return {"method": "rtc_vae", "beta": beta, "eta": eta, "by": SMALL, **NETWORK, **TEN}


def hf_vae(beta: float, gamma: float, *sizes: int, classes: int = 0) -> dict[str, Any]:
    """Groups of coordinates of these sizes, and a class (Esmaeili et al. 2019)."""
    groups = {f"group{i}": {"kind": "gaussian", "dim": size} for i, size in enumerate(sizes, 1)}
    groups |= {"class": {"kind": "concrete", "classes": classes}} if classes else {}
    own = {"beta": beta, "gamma": gamma, "groups": groups, "head_start_steps": STEPS // 2}
    return {"method": "hf_vae", **own, **NETWORK}


def de_vae(*betas: float, **more: Any) -> dict[str, Any]:
    """Latent spaces that narrow by level (Wu et al. 2023)."""
    return {"method": "de_vae", "betas": betas, **NETWORK, **more}


def comb(**changed: Any) -> dict[str, Any]:
    """FactorVAE with a bottleneck that opens, at the search's centre, or changed from there."""
    kl = {} if "kl" in changed else {f"kl.{name}": value for name, value in CENTRE.items()}
    return {"method": "comb", "gamma": 80.0, "by": SMALL, "decoder": "deconv", **TEN, **kl, **changed}


OBJECTIVES: Mapping[str, Mapping[str, Any]] = {
    "Comb": comb(),
    **{f"Comb, TC {gamma}": comb(gamma=gamma) for gamma in (0, 20, 320)},
    "Comb, KL linear": comb(**{"kl.curve": "linear"}),
    "Comb, KL in a half": comb(**{"kl.steps": STEPS // 2}),
    **{
        f"Comb, KL {a} to {b}": comb(**{"kl.start": a, "kl.end": b}) for a, b in ((32, 4), (512, 4), (128, 2), (128, 8))
    },
    "Comb, KL 4": comb(kl=4),
    **{f"Comb, pairs {w}": comb(gamma=0, **{"objective.pairs": _pairs(w)}) for w in (8, 40)},
    "Comb, variance 12": comb(**{"objective.var": {"term": "posterior_variance", "weight": 12}}),
    "FactorVAE 20": factor_vae(20),
    "beta-TCVAE 8 to 1": tcvae(_ramp(8, 1, 0.8)),
    "HFVAE 6, 3, two groups": hf_vae(6, 3, 5, 5),
    "DeVAE 1, 10, 40": de_vae(1, 10, 40),
    "DeVAE 1, 10, 40 + TC 10": de_vae(1, 10, 40, **{"objective.tc": _tc([10, 10, 10])}),
}


OPTIMISERS: Mapping[str, Mapping[str, Any]] = {
    "Adam 1e-3": {},
    "Adam 5e-4": {"optimizer.lr": 5e-4},
    "Adam 2e-3": {"optimizer.lr": 2e-3},
    "torch's initial weights": {"initial": "torch"},
    "AdamW 0.01": {"optimizer.weight_decay": 0.01},
    "cosine": {"optimizer.schedule": {"kind": "cosine", "steps": STEPS, "warmup": 0, "floor": 0.05}},
    "2 critic updates": {"critic_updates": 2},
}


@dataclass(frozen=True)
class Cell:
    """One point of the search, by the names of its parts."""

    encoder: str = "split"
    objective: str = "Comb"
    optimiser: str = "Adam 1e-3"

    @property
    def labels(self) -> dict[str, Label]:
        return {"encoder": self.encoder, "method": self.objective, "optimiser": self.optimiser}

    @property
    def fields(self) -> dict[str, Any]:
        return {**OBJECTIVES[self.objective], "encoder": ENCODERS[self.encoder], **OPTIMISERS[self.optimiser]}


def cells() -> list[Cell]:
    """Every part by itself at the centre."""
    return list(dict.fromkeys([
        *(Cell(objective=name) for name in OBJECTIVES if name.startswith("Comb")),
        *(Cell(encoder=name) for name in ENCODERS),
        *(Cell(optimiser=name) for name in OPTIMISERS),
        *(Cell(objective=name) for name in OBJECTIVES),
    ]))  # fmt: skip


NOTE = (
    "conv decoder, D = 10, Bernoulli, discriminators of 256 units at the model's rate, scores on 5,000 items of the "
    "held-out tenth, bfloat16, He's initial weights; the printed weights on the sum over 32 x 32 pixels, but Comb's "
    "are for 64 x 64"
)


def base(scale: Scale) -> dict[str, Any]:
    """Fields of every run."""
    own = {"data": source(SHAPES, scale), "steps": STEPS, "batch_size": 64, "test_share": 0.1}
    own |= {"optimizer.lr": 1e-3, "initial": "he"}
    return own | ({"batch_size": 16, "test_share": 0.0, "steps": 4} if scale == "smoke" else {"precision": "bfloat16"})


def search(scale: Scale, number: int = 0, chosen: Sequence[Cell] | None = None) -> Grid:
    """A round: those cells, or in the first all."""
    smoke = scale == "smoke"
    some = list(chosen or (cells()[:3] if smoke else cells()))
    settings = [Setting(cell.labels, changes_of(cell.fields)) for cell in some]
    made: list[Case] = []
    for case in trained(settings, base(scale)):
        assert isinstance(case.task, Trained)
        task = Grown(seed=0, run=case.task.run, items=200 if smoke else 5_000, metrics=metrics(*JUDGED))
        made.append(Case(case.labels, task))
    return Grid(tuple(made), ROUNDS[number].seeds, NOTE if scale == "laptop" else "", first=SEARCH_SEEDS)


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


def of_round(frame: Frame, number: int) -> Frame:
    """The rows of a round, the first is 0: of the cells that have all of its seeds."""
    end = SEARCH_SEEDS + ROUNDS[number].seeds
    keys = list(zip(frame["encoder"], frame["method"], frame["optimiser"], strict=True))
    last = {key for key, seed in zip(keys, frame["seed"], strict=True) if seed == end - 1}
    return frame.loc[[key in last and seed < end for key, seed in zip(keys, frame["seed"], strict=True)]]


def rounds(frame: Frame) -> list[Frame]:
    """Those that have begun."""
    return [rows for number in range(len(ROUNDS)) if len(rows := of_round(frame, number))]


def next_round(scale: Scale, frame: Frame) -> list[Case]:
    """The best of the last round that is there, with more seeds."""
    done = rounds(frame)
    if len(done) in (0, len(ROUNDS)):
        return []
    few = 3 - len(done) if scale == "smoke" else ROUNDS[len(done)].cells
    return search(scale, len(done), [cell for cell, _ in standings(done[-1])][:few]).tasks()


def search_tables(frame: Frame) -> list[Table]:
    """A table for each round, the best cell first."""
    made: list[Table] = []
    for number, rows in enumerate(map(judged, rounds(frame)), 1):
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
