"""Comb as it is shipped: on fresh seeds and other data; each part taken away; how the gradients of its latents meet."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from hatchel.core.estimate import Estimate
from hatchel.core.spec import Count
from hatchel.data.mnist import MNIST
from hatchel.data.shapes3d import Shapes3D
from hatchel.data.source import Source
from hatchel.methods.comb import Comb
from hatchel.nets.conv import Conv
from hatchel.nets.part import Encoder, Shape
from hatchel.nets.split import Split
from hatchel.objective.trace import Batch
from hatchel.objective.weights import Ramp
from hatchel.studies.comb import JUDGED, SCORES, judged
from hatchel.studies.pool import (
    CLASSES,
    ON_THE_WAY,
    SHAPES,
    SPRITES,
    STEPS,
    TEN,
    cell,
    factor_vae,
    main,
    others,
    stage,
    strengths,
    tcvae,
    vae,
)
from hatchel.study.claims import best, per_seed
from hatchel.study.frame import Frame, groups, select, values
from hatchel.study.grid import Grid, Scale, Setting, metrics
from hatchel.study.statistics import paired_difference
from hatchel.study.study import Study, register
from hatchel.study.table import Column, Table, TableRow, table
from hatchel.study.task import Case, Result, Task, Workspace
from hatchel.study.trained import Agreement, Trained
from hatchel.training.model import System
from hatchel.training.run import TrainedRun
from hatchel.training.spec import RunSpec

NAME = "Comb"
SEEDS = 10
LONG = 12_000
LONGER = f"{LONG:,} steps"
MEASURED = metrics(*JUDGED, "sap", "modularity", "active_units", "gaussian_tc", "reconstruction", "elbo_terms")
COLUMNS = (
    *SCORES,
    Column("reconstruction", "reconstruction (nats)", digits=1),
    Column("active_units", "active units", digits=1),
    Column("udr", "agreement between seeds (UDR)"),
)


def winner(variant: str = "", reads: str = "split", **changed: Any) -> Setting:
    """Comb as it is shipped, or changed; its schedule is as long as the training."""
    return cell(NAME, "", variant, reads, **{"method": "comb", "decoder": "deconv", **TEN, **changed})


def confirm(scale: Scale) -> Grid:
    """Comb, trained long and as long as the pool; then its neighbours trained long; then the pool; nothing twice."""
    beside = [factor_vae(10), tcvae(6, "split"), vae()]
    first, sprites = (lean(d, scale, [winner(LONGER)], SEEDS, LONG) for d in (SHAPES, SPRITES))
    alike = [lean(data, scale, [winner()], SEEDS) for data in (SHAPES, SPRITES)]
    large = _on(Shapes3D(size=64), first, "Shapes3D, 64 px")
    digits = _agreement(first if scale == "smoke" else _on(MNIST(), first, "MNIST"))
    neighbours = [lean(d, scale, [_longer(one) for one in beside], 5, LONG) for d in (SHAPES, SPRITES)]
    methods = [stage(data, scale, [*beside, *main(n), *strengths(), *others(n)], 5) for data, n in CLASSES.items()]
    if scale == "smoke":
        return replace(first, then=(digits, stage(SHAPES, scale, [winner(), *beside], 1)))
    then = _new(first, [alike[0], sprites, alike[1], digits, *neighbours, *methods, large])
    return replace(first, then=tuple(then))


def lean(data: str, scale: Scale, settings: Sequence[Setting], seeds: int, steps: int = 0) -> Grid:
    """As in the pool, or longer, but in bfloat16 and measured by less."""
    if scale != "laptop":
        return stage(data, scale, settings, seeds)
    own: dict[str, Any] = {"metrics": MEASURED, "beside": ON_THE_WAY, "snapshots": 6 if steps else 5}
    return stage(data, scale, settings, seeds, steps=steps or STEPS[data], precision="bfloat16", **own)


def _longer(setting: Setting) -> Setting:
    return Setting({**setting.labels, "variant": LONGER}, setting.changes)


def _on(data: Source, grid: Grid, name: str) -> Grid:
    """The same runs on other data."""
    cases = [(c, c.task) for c in grid.cases if isinstance(c.task, Trained)]
    moved = [Case({**c.labels, "data": name}, t.with_fields(run=t.run.with_fields(data=data))) for c, t in cases]
    return replace(grid, cases=tuple(moved))


def _agreement(grid: Grid) -> Grid:
    """Where no factor is known: how alike the codes of all seeds are."""
    tasks = [(c.labels, c.task.run) for c in grid.cases if isinstance(c.task, Trained)]
    cases = [Case({**labels, "data": "MNIST"}, Agreement(0, run, max(2, grid.seeds))) for labels, run in tasks]
    return Grid(tuple(cases), 1, seeded=False)


def _new(first: Grid, rest: Sequence[Grid]) -> list[Grid]:
    """Without the tasks that an earlier grid has already, or the same one."""
    known = {c.task.digest() for c in first.cases}
    found: list[Grid] = []
    for grid in rest:
        own = {digest: c for c in grid.cases if (digest := c.task.digest()) not in known}
        found.append(replace(grid, cases=tuple(own.values())))
        known |= own.keys()
    return found


def confirm_tables(frame: Frame) -> list[Table]:
    """Everything by its labels; then Comb less each method trained as long, at its best strength, paired over seeds."""
    scored, by = judged(frame), ("data", "method", "encoder", "variant")
    rows: list[TableRow] = []
    for key, other in groups(scored, *by).items():
        own = select(scored, data=key[0], method=NAME, variant=LONGER if key[3] == LONGER else "")
        if key[1] != NAME and len(own):
            found = tuple(_difference(own, other, c.name) for c in SCORES)
            rows.append(TableRow(key, found, (None,) * len(SCORES)))
    whole = table("Mean over seeds with a 95 % interval", scored, (*by[:2], "strength", *by[2:]), COLUMNS)
    title = f"{NAME} less each method at the strength that is best over the other seeds, paired over seeds"
    return [whole, Table(title, by, SCORES, tuple(rows))]


def _difference(own: Frame, other: Frame, name: str) -> Estimate | None:
    a, b = per_seed(own, name), per_seed(other, best(name, "strength"))
    seeds = sorted(a.keys() & b.keys())
    return paired_difference([a[s] for s in seeds], [b[s] for s in seeds]) if len(seeds) > 1 else None


def against_all(frame: Frame) -> Any:
    """A figure: (MIG + DCI-D + FactorVAE score) / 3 of every seed on Shapes3D, Comb and the pool; None without runs."""
    from hatchel.studies.leaderboard import named
    from hatchel.study.figures import boxes

    shown = named(select(judged(frame), data=SHAPES)) if len(frame) else frame
    if not len(shown):
        return None
    means = {name: fmean(values(rows, "score")) for (name,), rows in groups(shown, "setting").items()}
    ranked = shown.sort_values("setting", key=lambda names: -names.map(means), kind="stable")
    return boxes(ranked, "score", "setting", "(MIG + DCI-D + FactorVAE score) / 3")


def ablation(scale: Scale) -> Grid:
    """Comb, without each of its parts, and with plain encoders of its size; then all of their gradients."""
    end = Comb().kl
    assert isinstance(end, Ramp)
    settings = [
        winner(),
        winner("plain encoder", "conv", encoder="conv"),
        winner("bottleneck open from the start", kl=end.end),
        winner("no discriminator", gamma=0),
        winner("torch's initial weights", initial="torch"),
        winner("split encoder alone", kl=end.end, gamma=0, initial="torch"),
        *(winner(f"plain encoder of as many {w}", "conv", encoder=wide_conv(w)) for w in SIZES),
    ]
    grid = lean(SHAPES, scale, settings, SEEDS)
    gradients: list[Case] = []
    for case in grid.cases:
        assert isinstance(case.task, Trained)
        task = GradientConflict(seed=0, run=case.task.run, snapshots=case.task.snapshots)
        gradients.append(Case({**case.labels, "measured": "gradients"}, task))
    scores = tuple(Case({**c.labels, "measured": "scores"}, c.task) for c in grid.cases)
    return replace(grid, cases=scores, then=(replace(grid, cases=tuple(gradients), note=""),))


SIZES = ("parameters", "multiplications")


@functools.cache
def wide_conv(what: str, shape: Shape = (3, 32, 32), sites: int = 10) -> Conv:
    """The plain encoder, wider in all layers alike, with as many parameters or multiplications as the split one."""
    wanted = size(Split(), what, shape, sites)
    made = [Conv(channels=(c, c, 2 * c, 2 * c), hidden=(8 * c,)) for c in range(16, 97, 2)]
    return min(made, key=lambda conv: abs(size(conv, what, shape, sites) - wanted))


def size(encoder: Encoder, what: str, shape: Shape, sites: int) -> int:
    """Parameters, or multiplications for one item."""
    net = encoder.build(shape, (2,) * sites)
    if what == "parameters":
        return sum(p.numel() for p in net.parameters())
    with torch.no_grad(), FlopCounterMode(display=False) as counted:
        net(torch.zeros(1, *shape))
    return counted.get_total_flops() // 2


class GradientConflict(Task):
    """Whether latents pull shared weights of the encoder in opposite directions, at several times of training.

    g_d is the part of the loss's gradient that reaches the shared weights through the numbers of site d; over all sites
    they add up to the whole. `cosine` is sum_{i != j} g_i g_j / sum_{i != j} |g_i| |g_j|, the cosine of two sites
    weighted by their lengths, and `opposed` the share of that weight in pairs below 0; means over batches and times.
    `.first`: of the first convolution alone, which every encoder has.
    """

    run: RunSpec
    """What is trained; its seed is the task's."""
    snapshots: Count = 5
    """Times, equally spaced; the last is at the end."""
    batches: Count = 8
    """Of the training data, at each time."""

    def compute(self, workspace: Workspace) -> Result:
        task = Trained(seed=self.seed, run=self.run, snapshots=self.snapshots)
        run = task.trained(workspace)
        curves: dict[str, list[list[float]]] = {}
        for step in task.times():
            for name, value in self._at(run, step).items():
                curves.setdefault(name, []).append([step, value])
        return Result({name: fmean(v for _, v in curve) for name, curve in curves.items()}, {"curves": curves})

    def _at(self, run: TrainedRun, step: int) -> dict[str, float]:
        from hatchel.training.checkpoint import restore
        from hatchel.training.order import Batches

        system = run.spec.build(run.shape)
        restore(run.folder, system, step=step)
        items = run.data.split(run.spec.seed, run.spec.test_share)[0]
        order = Batches(run.spec, run.data, torch.from_numpy(items), system.objective.needs)
        read = run.data.reader("cpu")
        widths = run.spec.latent.widths
        found = [gradients(system, widths, order.at(step + i, read)) for i in range(self.batches)]
        all_of_it = [conflict(torch.cat(parts, 1)) for parts in found]
        first = [conflict(torch.cat(parts[:2], 1)) for parts in found]  # its weight and its bias
        values = {"cosine": [c for c, _ in all_of_it], "opposed": [o for _, o in all_of_it]}
        values |= {"cosine.first": [c for c, _ in first], "opposed.first": [o for _, o in first]}
        return {name: fmean(v) for name, v in values.items()}


def gradients(system: System, widths: Sequence[int], batch: Batch) -> list[Tensor]:
    """g_d of every parameter that sites share, (sites, its numbers) each."""
    seen: list[Any] = []
    handle = system.model.encoder.register_forward_hook(lambda net, given, out: seen.append(out))  # pyright: ignore
    loss = system(batch).total
    handle.remove()
    numbers: Tensor = seen[0].parameters
    (whole,) = torch.autograd.grad(loss, numbers, retain_graph=True)
    shared = [p for name, p in system.model.encoder.named_parameters() if not name.startswith(("head.", "last."))]
    rows: list[list[Tensor]] = []
    start = 0
    for width in widths:
        own = torch.zeros_like(whole)
        own[:, start : start + width] = whole[:, start : start + width]
        start += width
        rows.append([g.flatten() for g in torch.autograd.grad(numbers, shared, own, retain_graph=True)])
    return [torch.stack(column) for column in zip(*rows, strict=True)]


def conflict(g: Tensor) -> tuple[float, float]:
    """The weighted mean cosine of the rows, and the share of the weight in pairs whose cosine is below 0.

    >>> conflict(torch.tensor([[1.0, 0.0], [-3.0, 0.0]])), conflict(torch.eye(2))
    ((-1.0, 1.0), (0.0, 0.0))
    """
    pairs = torch.triu_indices(len(g), len(g), 1)
    products, lengths = (g @ g.T)[*pairs], torch.outer(g.norm(dim=1), g.norm(dim=1))[*pairs]
    total = float(lengths.sum()) or 1.0
    return float(products.sum()) / total, float(lengths[products < 0].sum()) / total


def ablation_tables(frame: Frame) -> list[Table]:
    """Scores, then gradients."""
    scored, by = judged(frame), ("variant", "encoder")
    parts = {"scores": COLUMNS[:-1], "gradients": CONFLICT}
    found = {what: select(scored, measured=what) for what in parts}
    return [
        table(f"Mean over seeds with a 95 % interval: {w}", found[w], by, c) for w, c in parts.items() if len(found[w])
    ]


CONFLICT = (
    Column("cosine", "cosine of two latents' gradients"),
    Column("opposed", "share opposed"),
    Column("cosine.first", "cosine, first convolution"),
    Column("opposed.first", "opposed, first convolution"),
)

register(Study(
    name="comb-confirm",
    about="The search's winner on fresh seeds and on data that it was not chosen by, against the methods of the pool.",
    paper="this project",
    grid=confirm,
    columns=COLUMNS,
    tables=confirm_tables,
))  # fmt: skip
register(Study(
    name="comb-ablation",
    about="What each part of the winner brings, and whether latents pull shared weights in opposite directions.",
    paper="this project",
    grid=ablation,
    columns=COLUMNS,
    tables=ablation_tables,
))  # fmt: skip
