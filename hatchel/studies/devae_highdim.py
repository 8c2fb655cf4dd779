"""DeVAE, Figs. 5, 12: ten latent dimensions against a thousand."""

from __future__ import annotations

from collections.abc import Sequence

from hatchel.studies.devae_comparison import BETAS
from hatchel.study.budget import LAPTOP, LAPTOP_WORDS, QUICK, SMOKE, SMOKE_WORDS, Budget
from hatchel.study.cells.trained import metrics
from hatchel.study.claims import inside, near
from hatchel.study.comparison import Comparison, Variant
from hatchel.study.rows import column, where
from hatchel.study.store import Row
from hatchel.study.study import Claim, Scale
from hatchel.study.table import Column

DIMENSIONS = {"smoke": (10, 32), "laptop": (10, 1024), "paper": (10, 1024)}
MEASURED = metrics("mig", "reconstruction", "active_units", "med")


class DeVAEHighDim(Comparison, kind="devae-highdim"):
    """MIG, reconstruction, MED and active units of DeVAE and beta-VAE with 10 and 1024 dimensions."""

    paper = "Wu et al. 2023, Figs. 5, 12"
    scales = {
        "smoke": f"{SMOKE_WORDS}; 10 and 32 dimensions",
        "laptop": f"{LAPTOP_WORDS}; betas 1, 4, 10",
        "paper": "300,000 steps of 256 images at 64 px, 10 seeds; betas 1, 10, 40",
    }
    budgets = {
        "smoke": SMOKE,
        "laptop": Budget(LAPTOP.steps, LAPTOP.seeds, 5_000, LAPTOP.batch_size, LAPTOP.lr),
        "paper": Budget(steps=300_000, seeds=10, batch_size=256, lr=1e-4),
    }
    columns = (
        Column("mig", "MIG"),
        Column("med", "MED"),
        Column("active_units", "active units", digits=1),
        Column("reconstruction", "reconstruction (nats)", digits=2),
    )

    def variants(self, scale: Scale) -> list[Variant]:
        """Both methods, both widths."""
        betas = BETAS[scale]
        measure = {"metrics": QUICK if scale == "smoke" else MEASURED}
        result: list[Variant] = []
        for dim in DIMENSIONS[scale]:
            result.append(Variant({"method": "DeVAE", "D": dim}, "de_vae", {"betas": betas, "dim": dim}, {}, measure))
            fields = {"latent.dim": dim}
            result.append(Variant({"method": "beta-VAE", "D": dim}, "beta_vae", {"beta": betas[1]}, fields, measure))
        return result

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Section 4.4: DeVAE trains with 1024 dimensions and keeps few of them active."""
        own = {d: where(rows, method="DeVAE", D=d) for d in (10, 1024)}
        few = "DeVAE with D = 1024 trains, and leaves nine tenths of the dimensions unused (active units)."
        kept = "DeVAE's MIG with D = 1024 is that with D = 10 (± 0.05)."
        return [
            inside(few, column(own[1024], "active_units"), 0, 102),
            near(kept, own[1024], own[10], "mig", "mig", 0.05),
        ]
