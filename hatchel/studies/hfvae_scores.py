"""HFVAE, Table 2: FactorVAE and Eastwood scores on dSprites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hatchel.study.budget import LAPTOP, QUICK, SMOKE, SMOKE_WORDS, Budget
from hatchel.study.cells.trained import metrics
from hatchel.study.claims import higher
from hatchel.study.comparison import Comparison, Variant
from hatchel.study.rows import where
from hatchel.study.store import Row
from hatchel.study.study import Claim, Scale
from hatchel.study.table import Column

MEASURED = metrics("factor_vae_score", {"kind": "dci", "regressor": "forest"}, "mig", "reconstruction")
NETS: Mapping[str, Any] = {"encoder": "hfvae_dsprites", "decoder": "hfvae_dsprites_decoder"}
METHODS: dict[str, tuple[str, dict[str, Any], bool]] = {
    # name, symbols, whether its latent is a plain Gaussian
    "VAE": ("vae", {}, True),
    "beta-VAE": ("beta_vae", {"beta": 4}, True),
    "beta-SVAE": ("beta_svae", {"beta": 4, "classes": 3}, False),
    "beta-TCVAE": ("beta_tcvae", {"beta": 4}, True),
    "HFVAE": ("hf_vae", {"beta": 4, "gamma": 3, "classes": 3}, False),
}
FACTOR = {"VAE": 0.71, "beta-VAE": 0.72, "beta-SVAE": 0.47, "beta-TCVAE": 0.71, "HFVAE": 0.78}
EASTWOOD = {"VAE": 0.40, "beta-VAE": 0.71, "beta-SVAE": 0.19, "beta-TCVAE": 0.31, "HFVAE": 0.74}


class HFVAEScores(Comparison, kind="hfvae-scores"):
    """FactorVAE score and Eastwood & Williams' disentanglement (random forest) of five methods."""

    paper = "Esmaeili et al. 2019, Table 2"
    scales = {
        "smoke": SMOKE_WORDS,
        "laptop": "2,000 steps of 128 images, dSprites at 32 px, learning rate 1e-3, the paper's MLPs, 3 seeds",
        "paper": "100,000 steps of 1,024 images at 64 px, the paper's MLPs, 10 seeds",
    }
    budgets = {
        "smoke": SMOKE,
        "laptop": Budget(2_000, 3, LAPTOP.items, 128, 1e-3, MEASURED),
        "paper": Budget(100_000, 10, 10_000, 1024, 1e-3, MEASURED),
    }
    columns = (
        Column("factor_vae_score", "FactorVAE score", {(k,): v for k, v in FACTOR.items()}, 2),
        Column("dci(regressor=forest)", "Eastwood", {(k,): v for k, v in EASTWOOD.items()}, 2),
        Column("mig", "MIG"),
        Column("reconstruction", "reconstruction (nats)", digits=2),
    )

    def variants(self, scale: Scale) -> list[Variant]:
        """Five methods on one network."""
        plain = {"latent": {"kind": "diagonal", "dim": 10}}
        measure = {"metrics": QUICK} if scale == "smoke" else {}
        return [
            Variant({"method": label}, method, symbols, {**NETS, **(plain if gaussian else {})}, measure)
            for label, (method, symbols, gaussian) in METHODS.items()
        ]

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Section 6.1: HFVAE has the highest of both scores."""
        own = where(rows, method="HFVAE")
        return [
            higher(f"HFVAE's FactorVAE score is above that of {m}.", own, where(rows, method=m), "factor_vae_score")
            for m in METHODS
            if m != "HFVAE"
        ]
