"""RecurD, Table 10: parameters, multiplications, and time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import torch

from hatchel.core.memory import keep_memory
from hatchel.data.dsprites import DSprites
from hatchel.methods.method import preset
from hatchel.studies.recurd_table2 import RecurDTable2
from hatchel.study.cell import Cell, Place, Record
from hatchel.study.cells.reached import Reached
from hatchel.study.cells.trained import Trained
from hatchel.study.claims import lower
from hatchel.study.rows import measured, where
from hatchel.study.store import Entry, Row
from hatchel.study.study import Claim, Scale, Study
from hatchel.study.table import Column, Table, table
from hatchel.training.cost import cost
from hatchel.training.spec import RunSpec, build, fitted

COUNTED = "64 px, 3 channels, MINE of 32 units on pooled features; counted in full, the time of this machine. Trained:"
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "beta-VAE": ("recurd", {"depth": 0, "l2": 0}),
    "FactorVAE": ("factor_vae", {}),
    "RecurD-1 without MINE": ("recurd", {"depth": 1, "l2": 0}),
    "RecurD-1 shared MINE": ("recurd", {"depth": 1}),
    "RecurD-1 specific MINE": ("recurd", {"depth": 1, "nets": "specific"}),
    "RecurD-2 without MINE": ("recurd", {"depth": 2, "l2": 0}),
    "RecurD-2 shared MINE": ("recurd", {"depth": 2}),
    "RecurD-2 specific MINE": ("recurd", {"depth": 2, "nets": "specific"}),
}
PAPER = {"beta-VAE": 0.769, "FactorVAE": 4.779, "RecurD-1 specific MINE": 3.672, "RecurD-2 specific MINE": 3.694}
"""Parameters on 3DShapes, in millions."""
PAPER_MACS = {"beta-VAE": 3.144, "FactorVAE": 3.401, "RecurD-1 specific MINE": 3.466, "RecurD-2 specific MINE": 3.469}
"""On 3DShapes, in billions, for a batch whose size is not printed."""
TRAINED = {"beta-VAE 4": "beta-VAE", "RecurD": "RecurD-1 shared MINE", "FactorVAE": "FactorVAE"}
"""Methods of recurd-table2 by their names here."""
PAPER_SECONDS = {"beta-VAE": 32.5251, "FactorVAE": 40.6231, "RecurD-1 shared MINE": 27.1212}
"""To beta-VAE's error on 3DShapes, on the paper's machine; its RecurD-1 has specific MINEs."""


class Costed(Cell):
    """What a run costs by itself: counted, and timed for encoding."""

    run: RunSpec
    """The run; it is built, not trained."""
    channels: int = 3
    """Of its images of 64 pixels: the paper's are coloured."""

    def trainings(self) -> tuple[RunSpec, ...]:
        """None."""
        return ()

    def compute(self, place: Place) -> Record:
        """Millions of parameters and of multiplications an image; milliseconds to encode 64 images."""
        keep_memory()
        shape = (self.channels, 64, 64)
        spec = fitted(self.run, shape)
        found = cost(spec, shape)
        model = build(spec, shape).model.eval().to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
        x = torch.zeros(64, *shape).contiguous(memory_format=torch.channels_last)
        times: list[float] = []
        with torch.inference_mode():
            for _ in range(7):
                begin = time.perf_counter()
                model.encode(x)
                times.append(time.perf_counter() - begin)
        return Record(
            {
                "parameters": sum(found.parameters.values()) / 1e6,
                "critic parameters": found.parameters["objective"] / 1e6,
                "macs": sum(found.macs.values()) / 1e6,
                "batch macs": 64 * sum(found.macs.values()) / 1e9,
                "encoder macs": found.macs["encoder"] / 1e6,
                "encoding": 1000 * sorted(times)[3],
            }
        )


class RecurDCost(Study, kind="recurd-cost"):
    """Parameters, MACs, encoding time, and time to beta-VAE's error of beta-VAE, FactorVAE and RecurD."""

    paper = "Chen et al. 2022, Table 10"
    scales = {
        scale: f"{COUNTED} {words}; the runs of recurd-table2 on its first data"
        for scale, words in RecurDTable2.scales.items()
    }

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """What is counted, and what is trained."""
        table2 = [e for e in RecurDTable2().entries(scale, seeds) if e.labels["data"] == "dSprites"]
        runs = {(e.labels["method"], e.cell.seed): e.cell.run for e in table2 if isinstance(e.cell, Trained)}
        data = DSprites()
        return [
            Entry({"method": name, "what": "counted"}, Costed(seed, preset(method, data=data, **symbols)))
            for name, (method, symbols) in METHODS.items()
            for seed in sorted({seed for _, seed in runs})
        ] + [
            Entry({"method": TRAINED[label], "what": "trained"}, Reached(seed, run, runs["beta-VAE 4", seed]))
            for (label, seed), run in runs.items()
            if label in TRAINED
        ]

    def tables(self, rows: Sequence[Row]) -> list[Table]:
        """As the paper's; its MACs are for a batch whose size it does not print, ours for one image and for 64."""
        reached = (
            Column("steps", "steps to beta-VAE's error", digits=0),
            Column("seconds", "seconds", {(k,): v for k, v in PAPER_SECONDS.items()}, 0),
            Column("milliseconds a step", "milliseconds a step", digits=0),
            Column("error", "error at the end (nats)", digits=2),
        )
        columns = (
            Column("parameters", "parameters (M)", {(k,): v for k, v in PAPER.items()}),
            Column("critic parameters", "of which critics (M)"),
            Column("macs", "MACs an image (M)", digits=1),
            Column("encoder macs", "of which encoder (M)", digits=1),
            Column("batch macs", "MACs of 64 images (G)", {(k,): v for k, v in PAPER_MACS.items()}),
            Column("encoding", "encoding 64 images (ms)", digits=1),
        )
        kinds = (("counted", "Cost", columns), ("trained", "Training until it reconstructs as beta-VAE does", reached))
        return [
            table(title, chosen, ("method",), shown)
            for what, title, shown in kinds
            if (chosen := where(rows, what=what))
        ]

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Section 6.5: RecurD needs fewer parameters than FactorVAE."""
        counted, trained = (where(rows, what=what) for what in ("counted", "trained"))
        own, other = (measured(where(counted, method=m), "parameters") for m in ("RecurD-1 shared MINE", "FactorVAE"))
        result: list[Claim] = []
        if own and other:
            text = "RecurD-1 has fewer parameters than FactorVAE with its discriminator."
            result.append(Claim(text, own.value < other.value, f"{own.value:.3f} M against {other.value:.3f} M"))
        for value in ("steps", "seconds"):
            text = f"RecurD-1 reaches beta-VAE's error in fewer {value} than beta-VAE does."
            first, second = (where(trained, method=m) for m in ("RecurD-1 shared MINE", "beta-VAE"))
            result.append(lower(text, first, second, value))
        return result
