"""RecurD (Chen et al. 2022), Table 10: parameters, multiplications, and time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import torch

from hatchel.core.memory import keep_memory
from hatchel.data.dsprites import DSprites
from hatchel.methods.resolve import resolve
from hatchel.studies.recurd import table2_grid
from hatchel.studies.tasks.reached import Reached
from hatchel.study.claims import Claim, lower
from hatchel.study.frame import Frame, estimate, select
from hatchel.study.grid import Grid, Scale
from hatchel.study.study import Study, register
from hatchel.study.table import Column, Table, table
from hatchel.study.task import Case, Result, Task, Workspace
from hatchel.study.trained import Trained
from hatchel.training.cost import cost
from hatchel.training.spec import RunSpec

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
TRAINED = {"beta-VAE 4": "beta-VAE", "RecurD": "RecurD-1 as trained", "FactorVAE": "FactorVAE"}
"""Methods of recurd-table2 by their names here."""
PAPER_SECONDS = {"beta-VAE": 32.5251, "FactorVAE": 40.6231, "RecurD-1 as trained": 27.1212}
"""To beta-VAE's error on 3DShapes, on the paper's machine; its RecurD-1 has specific MINEs."""


class Costed(Task):
    """What a run costs by itself: counted, and timed for encoding."""

    run: RunSpec
    """The run; it is built, not trained."""
    channels: int = 3
    """Of its images of 64 pixels: the paper's are coloured."""

    def trainings(self) -> tuple[RunSpec, ...]:
        return ()

    def compute(self, workspace: Workspace) -> Result:
        keep_memory()
        shape = (self.channels, 64, 64)
        spec = self.run.fit_to_shape(shape)
        found = cost(spec, shape)
        model = spec.build(shape).model.eval().to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
        x = torch.zeros(64, *shape).contiguous(memory_format=torch.channels_last)
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
    """What is counted, and what is trained: the runs of recurd-table2 on its first data."""
    table2 = table2_grid(scale)
    runs = {
        str(c.labels["method"]): c.task.run
        for c in table2.cases
        if c.labels["data"] == "dSprites" and isinstance(c.task, Trained)
    }
    counted = [
        Case(
            {"data": data, "method": label, "what": "counted"},
            Costed(0, resolve(method, DSprites(), {**fields, "heads" if method == "recurd" else "latent.dim": heads})),
        )
        for data, heads in HEADS.items()
        for label, (method, fields) in METHODS.items()
    ]
    trained = [
        Case({"data": "dSprites", "method": TRAINED[label], "what": "trained"}, Reached(0, run, runs["beta-VAE 4"]))
        for label, run in runs.items()
        if label in TRAINED
    ]
    note = (
        "counted in full at 64 px and 3 channels, MINE of 128 units on 2x2 means, the time of this machine; "
        "trained: the runs of recurd-table2 on its first data"
    )
    return Grid((*counted, *trained), table2.seeds, note)


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


def cost_claims(frame: Frame) -> list[Claim]:
    """Section 6.5: RecurD needs fewer parameters than FactorVAE."""
    counted, trained = select(frame, what="counted", data="3DShapes"), select(frame, what="trained")
    own, other = (estimate(select(counted, method=m), "parameters") for m in ("RecurD-1 as trained", "FactorVAE"))
    result: list[Claim] = []
    if own and other:
        text = "RecurD-1 has fewer parameters than FactorVAE with its discriminator."
        result.append(Claim(text, own.value < other.value, f"{own.value:.3f} M against {other.value:.3f} M"))
    for value in ("steps", "seconds"):
        text = f"RecurD-1 reaches beta-VAE's error in fewer {value} than beta-VAE does."
        first, second = (select(trained, method=m) for m in ("RecurD-1 as trained", "beta-VAE"))
        result.append(lower(text, first, second, value))
    return result


register(Study(
    name="recurd-cost",
    about="Parameters, MACs, encoding time, and time to beta-VAE's error of beta-VAE, FactorVAE and RecurD.",
    paper="Chen et al. 2022, Table 10",
    grid=cost_grid,
    tables=cost_tables,
    figures=lambda frame: {},
    claims=cost_claims,
))  # fmt: skip
