"""RecurD, Table 8 and Fig. 1: disentanglement grows from layer to layer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hatchel.study.budget import LAPTOP, LAPTOP_WORDS, QUICK, SMOKE, SMOKE_WORDS, Budget
from hatchel.study.cells.trained import metrics
from hatchel.study.claims import higher, lower
from hatchel.study.comparison import Comparison, Variant
from hatchel.study.rows import where
from hatchel.study.store import Row
from hatchel.study.study import Claim, Scale
from hatchel.study.table import Column

MEASURED = metrics("mig", "reconstruction", "pairwise_nmi")


class RecurDLayers(Comparison, kind="recurd-layers"):
    """MIG and pairwise NMI of the routed features m^l and of z, for RecurD-1 and RecurD-2."""

    paper = "Chen et al. 2022, Table 8, Fig. 1"
    scales = {
        "smoke": SMOKE_WORDS,
        "laptop": f"{LAPTOP_WORDS} (RecurD's own encoders, D = 8 and 16; the runs of recurd-depth)",
        "paper": "300,000 steps of 64 images at 64 px, 5 seeds (the paper: 3DShapes)",
    }
    budgets = {
        "smoke": Budget(SMOKE.steps, 1, SMOKE.items, SMOKE.batch_size, metrics=QUICK),
        "laptop": Budget(LAPTOP.steps, LAPTOP.seeds, LAPTOP.items, LAPTOP.batch_size, LAPTOP.lr, MEASURED),
        "paper": Budget(300_000, 5, metrics=MEASURED),
    }
    columns = (
        # Layers are counted from z: the paper does not print how many routers Table 8 is about.
        Column("mig@layer m2", "MIG of m2", {("RecurD-1",): 0.2892, ("RecurD-2",): 0.1081}, 4),
        Column("mig@layer m3", "MIG of m3", {("RecurD-2",): 0.2892}, 4),
        Column("mig", "MIG of z", {("RecurD-1",): 0.3105, ("RecurD-2",): 0.3105}, 4),
        Column("pairwise_nmi@layer m2", "pairwise NMI of m2"),
        Column("pairwise_nmi@layer m3", "pairwise NMI of m3"),
        Column("pairwise_nmi", "pairwise NMI of z"),
    )
    trade = None

    def variants(self, scale: Scale) -> list[Variant]:
        """One router, and two."""
        return [
            Variant(
                {"method": f"RecurD-{d}"},
                "recurd",
                {"depth": d} if d > 1 else {},
                {"decoder": "deconv"},
                {"layers": True},
            )
            for d in (1, 2)
        ]

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Table 8: z is more disentangled than the layer before it, which is more so than the one before."""
        result: list[Claim] = []
        for method, layers in (("RecurD-1", ("m2", "z")), ("RecurD-2", ("m2", "m3", "z"))):
            own = where(rows, method=method)
            for before, after in pairwise(layers) if own else ():
                text = f"{method}: MIG of {after} is above that of {before}."
                result.append(higher(text, own, own, _of("mig", after), _of("mig", before)))
                text = f"{method}: pairwise NMI of {after} is below that of {before}."
                result.append(lower(text, own, own, _of("pairwise_nmi", after), _of("pairwise_nmi", before)))
        return result


def _of(metric: str, layer: str) -> str:
    """The name of a layer's value."""
    return metric if layer == "z" else f"{metric}@layer {layer}"
