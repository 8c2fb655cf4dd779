"""RecurD (Chen et al. 2022), Table 10: parameters, multiplications, and time."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from typing import Any

import torch

from hatchel.core.memory import keep_memory
from hatchel.core.spec import Count, added
from hatchel.data.dsprites import DSprites
from hatchel.methods.resolve import resolve
from hatchel.studies.common import RECURD, at, of_pool
from hatchel.studies.pool import SHAPES
from hatchel.study.claims import lower
from hatchel.study.frame import Frame, select
from hatchel.study.grid import Grid, Scale
from hatchel.study.study import Study, register
from hatchel.study.table import Column, Table, table
from hatchel.study.task import Case, Result, Task, Workspace
from hatchel.study.trained import Trained
from hatchel.training.cost import cost
from hatchel.training.events import read_events
from hatchel.training.run import TrainedRun
from hatchel.training.spec import RunSpec

WINDOW = 5
"""Logged means of the reconstruction term that are averaged, because batches differ."""


class Reached(Task):
    """Steps, and seconds at the run's own pace, until the reconstruction term is down to the other run's last.

    `wanted` is the other's error at its end, `error` the run's own; without `steps` it was not reached. The pace is
    the median over the run: two runs that were not trained side by side are only roughly comparable in time.
    """

    run: RunSpec
    """The run; its seed is the task's."""
    other: RunSpec
    """Whose error is to be reached, with the same seed."""

    def compute(self, workspace: Workspace) -> Result:
        own, other = (Trained(seed=self.seed, run=run).trained(workspace) for run in (self.run, self.other))
        errors, wanted = _errors(own), _errors(other)[-1][1]
        pace = statistics.median(e["seconds_per_step"] for e in read_events(own.folder))
        values = {"wanted": wanted, "error": errors[-1][1], "milliseconds a step": 1000 * pace}
        reached = [step for step, error in errors if error <= wanted]
        return Result(values | ({"steps": float(reached[0]), "seconds": reached[0] * pace} if reached else {}))


def _errors(run: TrainedRun) -> list[tuple[int, float]]:
    """The reconstruction term at each logged step, a mean over the last few."""
    events: list[dict[str, Any]] = read_events(run.folder)
    values = [float(e["term/rec"]) for e in events]
    return [(int(e["step"]), statistics.fmean(values[max(0, i + 1 - WINDOW) : i + 1])) for i, e in enumerate(events)]


TABLE_3 = {"encoder": "recurd0", "decoder": "recurd0_decoder"}
OUTPUTS = {"between": "outputs"}
"""Appendix E.4: a MINE for "each pair of outputs of encoders"."""
WITHOUT = {"l2": 0, "between": "none"}
METHODS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "beta-VAE": ("beta_vae", TABLE_3),
    "FactorVAE": ("factor_vae", TABLE_3),
    "RecurD-1 without MINE": ("recurd", {"depth": 1, **WITHOUT}),
    "RecurD-1 shared MINE": ("recurd", {"depth": 1, **OUTPUTS}),
    "RecurD-1 specific MINE": ("recurd", {"depth": 1, **OUTPUTS, "nets": "specific"}),
    "RecurD-1 specific MINE, literal widths": (
        "recurd",
        {"depth": 1, **OUTPUTS, "nets": "specific", "reading": "literal"},
    ),
    "RecurD-1 as trained": ("recurd", {"depth": 1}),
    "RecurD-2 without MINE": ("recurd", {"depth": 2, **WITHOUT}),
    "RecurD-2 without MINE, router as printed": ("recurd", {"depth": 2, **WITHOUT, "encoder.router": "printed"}),
    "RecurD-2 shared MINE": ("recurd", {"depth": 2, **OUTPUTS}),
    "RecurD-2 specific MINE": ("recurd", {"depth": 2, **OUTPUTS, "nets": "specific"}),
    "RecurD-2 as trained": ("recurd", {"depth": 2}),
}
"""As trained: one MINE for each kind of pair, between layers of what encoders read with what others give."""
HEADS = {"3DShapes": 8, "CelebA": 16}
"""Latent dimensions by data set."""
TABLE_10: Mapping[tuple[str, str], tuple[float, float]] = {
    # MACs in billions, parameters in millions
    ("3DShapes", "beta-VAE"): (3.144, 0.769),
    ("3DShapes", "FactorVAE"): (3.401, 4.779),
    ("3DShapes", "RecurD-1 specific MINE"): (3.466, 3.672),
    ("3DShapes", "RecurD-2 specific MINE"): (3.469, 3.694),
    ("CelebA", "beta-VAE"): (3.145, 0.769),
    ("CelebA", "FactorVAE"): (3.402, 4.792),
    ("CelebA", "RecurD-1 specific MINE"): (3.944, 7.935),
    ("CelebA", "RecurD-2 specific MINE"): (3.957, 8.040),
    ("CelebA", "RecurD-2 without MINE"): (2.960, 0.826),
    ("CelebA", "RecurD-2 shared MINE"): (3.654, 1.325),
}
TRAINED = {
    "beta-VAE": at(SHAPES, "beta-VAE", 4, "D = 8"),
    "RecurD-1 as trained": at(SHAPES, "RecurD-1", 0.1),
    "FactorVAE": at(SHAPES, "FactorVAE", 6.4, "D = 8"),
}
"""Their runs in the pool; all three have 8 dimensions."""
PAPER_SECONDS = {"beta-VAE": 32.5251, "FactorVAE": 40.6231, "RecurD-1 as trained": 27.1212}
"""To beta-VAE's error on 3DShapes, on the paper's machine; its RecurD-1 has specific MINEs."""


class Costed(Task):
    """What a run costs by itself: counted, and timed for encoding."""

    run: RunSpec
    """The run; it is built, not trained."""
    channels: int = 3
    """Of its images of 64 pixels: the paper's are coloured."""
    images: Count = added(default=64)
    """At once, when encoding is timed."""

    def trainings(self) -> tuple[RunSpec, ...]:
        return ()

    def compute(self, workspace: Workspace) -> Result:
        keep_memory()
        shape = (self.channels, 64, 64)
        spec = self.run.fit_to_shape(shape)
        found = cost(spec, shape)
        model = spec.build(shape).model.eval().to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
        x = torch.zeros(self.images, *shape).contiguous(memory_format=torch.channels_last)
        times: list[float] = []
        with torch.inference_mode():
            for _ in range(7):
                begin = time.perf_counter()
                model.encode(x)
                times.append(time.perf_counter() - begin)
        return Result(
            {
                "parameters": sum(found.parameters.values()) / 1e6,
                "critic parameters": found.parameters["objective"] / 1e6,
                "macs": sum(found.macs.values()) / 1e6,
                "thop macs": sum(found.thop.values()) / 1e9,
                "encoder macs": found.macs["encoder"] / 1e6,
                "encoding": 1000 * sorted(times)[3],
            }
        )


def cost_grid(scale: Scale) -> Grid:
    """What is counted, and what is trained: runs of the pool."""
    plain = at(SHAPES, "beta-VAE", 4)  # at smoke the pool has no other
    rows = {**TRAINED, "beta-VAE": plain} if scale == "smoke" else TRAINED
    runs = {label: found[0][1].run for label, row in rows.items() if (found := of_pool(scale, [row]))}
    size = {"images": 1} if scale == "smoke" else {}
    counted = [
        Case(
            {"data": data, "method": label, "what": "counted"},
            Costed(
                0,
                resolve(method, DSprites(), {**fields, "heads" if method == "recurd" else "latent.dim": heads}),
                **size,
            ),
        )
        for data, heads in list(HEADS.items())[: 1 if scale == "smoke" else None]
        for label, (method, fields) in METHODS.items()
    ]
    trained = [
        Case({"data": "3DShapes", "method": label, "what": "trained"}, Reached(0, run, runs["beta-VAE"]))
        for label, run in runs.items()
    ]
    note = (
        "counted in full at 64 px and 3 channels, MINE of 128 units on 2x2 means, the time of this machine; "
        "trained: runs of the pool"
    )
    return Grid(tuple(counted), 1, note, seeded=False, then=(Grid(tuple(trained), 1 if scale == "smoke" else 5),))


def cost_tables(frame: Frame) -> list[Table]:
    """As the paper's. Its MACs are those of thop for 64 images: the baselines' come out in every digit."""
    reached = (
        Column("steps", "steps to beta-VAE's error", digits=0),
        Column("seconds", "seconds", {(k,): v for k, v in PAPER_SECONDS.items()}, 0),
        Column("milliseconds a step", "milliseconds a step", digits=0),
        Column("error", "error at the end (nats)", digits=2),
    )
    columns = (
        Column("parameters", "parameters (M)", {k: v[1] for k, v in TABLE_10.items()}),
        Column("critic parameters", "of which critics (M)"),
        Column("macs", "MACs an image (M)", digits=1),
        Column("encoder macs", "of which encoder (M)", digits=1),
        Column("thop macs", "MACs of 64 images by thop's rules (G)", {k: v[0] for k, v in TABLE_10.items()}),
        Column("encoding", "encoding 64 images (ms)", digits=1),
    )
    kinds = (
        ("counted", "Cost", ("data", "method"), columns),
        ("trained", "Training until it reconstructs as beta-VAE does", ("method",), reached),
    )
    return [
        table(title, chosen, lines, shown)
        for what, title, lines, shown in kinds
        if len(chosen := select(frame, what=what))
    ]


COUNTED = {"what": "counted", "data": "3DShapes"}
CLAIMS = (
    RECURD("R11.parameters", "Table 10", "RecurD-1 has fewer parameters than FactorVAE with its discriminator.",
           lower("parameters", {**COUNTED, "method": "RecurD-1 as trained"}, {**COUNTED, "method": "FactorVAE"},
           exact=True)),
    RECURD("R11.macs", "Table 10", "RecurD-1 takes fewer MACs than RecurD-2, both with specific MINEs.",
           lower("thop macs", *({**COUNTED, "method": f"RecurD-{d} specific MINE"} for d in (1, 2)), exact=True)),
    *(RECURD(f"R11.{value}", "Table 10", f"RecurD-1 reaches beta-VAE's error in fewer {value} than beta-VAE does.",
             lower(value, *({"what": "trained", "method": method} for method in ("RecurD-1 as trained", "beta-VAE"))))
      for value in ("steps", "seconds")),
)  # fmt: skip


register(Study(
    name="recurd-cost",
    about="Parameters, MACs, encoding time, and time to beta-VAE's error of beta-VAE, FactorVAE and RecurD.",
    paper="Chen et al. 2022, Table 10",
    grid=cost_grid,
    tables=cost_tables,
    figures=lambda frame: {},
    claims=CLAIMS,
))  # fmt: skip
