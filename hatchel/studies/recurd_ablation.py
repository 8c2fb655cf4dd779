"""RecurD, Figs. 6, 10-17 and Table 9: weights, the number of routed features, and the router itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hatchel.study.budget import LAPTOP, LAPTOP_WORDS, SMOKE, SMOKE_WORDS, Budget
from hatchel.study.claims import higher, lower
from hatchel.study.comparison import Comparison, Variant
from hatchel.study.rows import where
from hatchel.study.store import Row
from hatchel.study.study import Claim, Scale
from hatchel.study.table import Column

ROUTERS = {"linear": (0.2539, 0.0176), "fixed": (0.2617, 0.0116), "attention": (0.2604, 0.0095)}
"""MIG and reconstruction on 3DShapes (Table 9)."""
TABLE9 = {("RecurD",): (0.3105, 0.0083), **{(f"router {k}",): v for k, v in ROUTERS.items()}}


class RecurDAblation(Comparison, kind="recurd-ablation"):
    """lambda1, lambda2, k, and the linear, fixed and attention routers in place of RecurD's own."""

    paper = "Chen et al. 2022, Figs. 6, 10-17; Table 9"
    scales = {
        "smoke": SMOKE_WORDS,
        "laptop": f"{LAPTOP_WORDS}; RecurD-1",
        "paper": "300,000 steps of 64 images at 64 px, 5 seeds (the paper's Table 9: 3DShapes)",
    }
    budgets = {
        "smoke": SMOKE,
        "laptop": LAPTOP,
        "paper": Budget(300_000, 5),
    }
    columns = (
        Column("mig", "MIG", {k: v[0] for k, v in TABLE9.items()}),
        Column("reconstruction.mse_per_pixel", "reconstruction (MSE)", {k: v[1] for k, v in TABLE9.items()}, 4),
        Column("sap", "SAP"),
        Column("dci", "DCI-D"),
    )
    trade = ("reconstruction.mse_per_pixel", "sap")
    contrast = "variant"

    def variants(self, scale: Scale) -> list[Variant]:
        """Table 9; then the weights and k of Fig. 6."""

        def one(label: str, symbols: dict[str, Any] | None = None, **fields: Any) -> Variant:
            return Variant(
                {"variant": label}, "recurd", symbols or {}, {"decoder": "deconv", **fields}, {"layers": True}
            )

        result = [one("RecurD"), *(one(f"router {r}", None, **{"encoder.router": r}) for r in ROUTERS)]
        result += [one(f"lambda1 = {v:g}", {"l1": v}) for v in (0.5, 4.0)]
        result += [one(f"lambda2 = {v:g}", {"l2": v}) for v in (0.0, 8.0)]
        return result + [one(f"k = {k}", {"k": k}) for k in (1, 4)]

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Table 9; Fig. 6: larger penalties give a higher SAP and a smaller error."""
        own = where(rows, variant="RecurD")
        result: list[Claim] = []
        for router in ROUTERS:
            text = f"MIG with RecurD's router is above that with {router}."
            result.append(higher(text, own, where(rows, variant=f"router {router}"), "mig"))
        for weight, small, large in (("lambda1", "0.5", "4"), ("lambda2", "0", "8")):
            less, more = (where(rows, variant=f"{weight} = {v}") for v in (small, large))
            text = f"{weight} = {large} in place of {small}:"
            result += [
                higher(f"{text} SAP is higher.", more, less, "sap"),
                lower(f"{text} reconstruction is better.", more, less, "reconstruction"),
            ]
        return result
