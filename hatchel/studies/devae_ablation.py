"""DeVAE, Tables 2, 3, 4: spaces, betas and the scale of the draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hatchel.studies.devae_comparison import BETAS, FREE
from hatchel.study.budget import LAPTOP, LAPTOP_WORDS, SMOKE, SMOKE_WORDS, Budget
from hatchel.study.claims import higher, near
from hatchel.study.comparison import Comparison, Variant
from hatchel.study.rows import where
from hatchel.study.store import Row
from hatchel.study.study import Claim, Scale
from hatchel.study.table import Column

PUBLISHED = {"single": 0.19, "parallel": 0.24, "linear": 0.24, "scaled (DeVAE)": 0.35}
ERRORS = {"single": 47.49, "parallel": 22.21, "linear": 38.82, "scaled (DeVAE)": 43.29}
"""Table 2 at layer 0: MIG, reconstruction."""


class DeVAEAblation(Comparison, kind="devae-ablation"):
    """One space, parallel spaces, a linear map, and DeVAE's scaling; other betas; other draws of the layer."""

    paper = "Wu et al. 2023, Tables 2, 3, 4"
    scales = {
        "smoke": SMOKE_WORDS,
        "laptop": f"{LAPTOP_WORDS}; betas 1, 4, 10",
        "paper": "300,000 steps of 256 images at 64 px, 10 seeds; betas 1, 10, 40",
    }
    budgets = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Budget(steps=300_000, seeds=10, batch_size=256, lr=1e-4)}
    columns = (
        Column("mig", "MIG, layer 0", {(k,): v for k, v in PUBLISHED.items()}),
        Column("mig@level 2", "MIG, layer 2", {("parallel",): 0.35, ("linear",): 0.30, ("scaled (DeVAE)",): 0.35}),
        Column("reconstruction", "reconstruction, layer 0", {(k,): v for k, v in ERRORS.items()}, 2),
        Column(
            "reconstruction@level 2",
            "reconstruction, layer 2",
            {("parallel",): 62.40, ("linear",): 63.78, ("scaled (DeVAE)",): 175.99},
            2,
        ),
    )
    contrast = "variant"

    def variants(self, scale: Scale) -> list[Variant]:
        """Table 2, then Tables 3 and 4."""
        betas = BETAS[scale]

        def one(label: str, **symbols: Any) -> Variant:
            return Variant({"variant": label}, "de_vae", {"betas": betas, **symbols}, FREE)

        return [
            one("scaled (DeVAE)"),
            one("parallel", spaces="parallel"),
            one("linear", spaces="linear"),
            one("single", betas=betas[:1]),
            one("two betas", betas=betas[:2]),
            one("five betas", betas=(*betas, 2 * betas[-1], 4 * betas[-1])),
            *(one(f"s = {s:g}", scale=s) for s in (0.0, 0.5, 2.0)),
        ]

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Table 2."""
        own = where(rows, variant="scaled (DeVAE)")
        others = {v: where(rows, variant=v) for v in ("single", "parallel", "linear")}
        equal = near("Scaling keeps MIG across layers (± 0.02).", own, own, "mig@level 2", "mig", 0.02)
        return [equal, *(higher(f"MIG at layer 0 is above that of {v}.", own, o, "mig") for v, o in others.items())]
