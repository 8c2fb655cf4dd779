"""RecurD, Table 10: parameters, multiplications, and time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import torch

from hatchel.data.dsprites import DSprites
from hatchel.presets.preset import preset
from hatchel.study.cell import Cell, Place, Record
from hatchel.study.rows import measured, where
from hatchel.study.store import Entry, Row
from hatchel.study.study import Claim, Scale, Study
from hatchel.study.table import Column, Table, table
from hatchel.training.cost import cost
from hatchel.training.spec import RunSpec, build, fitted

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


class Costed(Cell):
    """What a run costs by itself: counted, and timed for encoding."""

    run: RunSpec
    """The run; it is built, not trained."""
    channels: int = 3
    """Of its images of 64 pixels: the paper's are coloured."""

    def compute(self, place: Place) -> Record:
        """Millions of parameters and of multiplications an image; milliseconds to encode 64 images."""
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
                "encoder macs": found.macs["encoder"] / 1e6,
                "encoding": 1000 * sorted(times)[3],
            }
        )


class RecurDCost(Study, kind="recurd-cost"):
    """Parameters, MACs and encoding time of beta-VAE, FactorVAE and RecurD with shared and specific MINE."""

    paper = "000 Table 10"
    scales = dict.fromkeys(
        ("smoke", "laptop", "paper"),
        "64 px, 3 channels, MINE of 32 units on pooled features; counted in full, the time of this machine",
    )

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """Counting has no seed."""
        data = DSprites()
        return [Entry({"method": k}, Costed(0, preset(m, data=data, **s))) for k, (m, s) in METHODS.items()]

    def tables(self, rows: Sequence[Row]) -> list[Table]:
        """As the paper's, for one image; the paper's MACs are for a batch whose size it does not print."""
        columns = (
            Column("parameters", "parameters (M)", {(k,): v for k, v in PAPER.items()}),
            Column("critic parameters", "of which critics (M)"),
            Column("macs", "MACs an image (M)", digits=1),
            Column("encoder macs", "of which encoder (M)", digits=1),
            Column("encoding", "encoding 64 images (ms)", digits=1),
        )
        return [table("Cost", rows, ("method",), columns)]

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Section 6.5: RecurD needs fewer parameters than FactorVAE."""
        own, other = (measured(where(rows, method=m), "parameters") for m in ("RecurD-1 shared MINE", "FactorVAE"))
        if own is None or other is None:
            return []
        text = "RecurD-1 has fewer parameters than FactorVAE with its discriminator."
        return [Claim(text, own.value < other.value, f"{own.value:.3f} M against {other.value:.3f} M")]
