"""DeVAE, Fig. 2 and Table 6: disentanglement and reconstruction against the field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hatchel.study.budget import LAPTOP, LAPTOP_WORDS, NETWORK, SMOKE, SMOKE_WORDS, Budget, critic
from hatchel.study.claims import higher, lower, near
from hatchel.study.comparison import Comparison, Variant
from hatchel.study.rows import where
from hatchel.study.store import Row
from hatchel.study.study import Claim, Scale
from hatchel.study.table import Column

BETAS = {"smoke": (1, 4, 10), "laptop": (1, 4, 10), "paper": (1, 10, 40)}
"""A quarter of the pixels, a quarter of the reconstruction error: so about a quarter of the weights."""
FREE = {k: v for k, v in NETWORK.items() if k != "latent"}
"""For methods that choose their own latent."""


class DeVAEComparison(Comparison, kind="devae-comparison"):
    """MIG, FactorVAE score, DCI and reconstruction of DeVAE and the methods it is compared with."""

    paper = "Wu et al. 2023, Fig. 2, Tables 3, 6"
    scales = {
        "smoke": SMOKE_WORDS,
        "laptop": f"{LAPTOP_WORDS}; betas 1, 4, 10",
        "paper": "300,000 steps of 256 images at 64 px, 10 seeds; betas 1, 10, 40",
    }
    budgets = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Budget(steps=300_000, seeds=10, batch_size=256, lr=1e-4)}
    columns = (
        Column("mig", "MIG", {("DeVAE",): 0.35}),
        Column("mig@level 1", "MIG, layer 1", {("DeVAE",): 0.35}),
        Column("mig@level 2", "MIG, layer 2", {("DeVAE",): 0.35}),
        Column("factor_vae_score", "FactorVAE score"),
        Column("dci", "DCI"),
        Column("reconstruction", "reconstruction (nats)", {("DeVAE",): 52.0}, 2),
        Column("reconstruction@level 2", "reconstruction, layer 2", digits=2),
    )

    def variants(self, scale: Scale) -> list[Variant]:
        """DeVAE, beta-VAE at each of its betas, and the rest of the field."""
        betas = BETAS[scale]
        result = [Variant({"method": "DeVAE"}, "de_vae", {"betas": betas}, FREE)]
        result += [Variant({"method": f"beta-VAE {b}"}, "beta_vae", {"beta": b}, NETWORK) for b in betas[1:]]
        field: dict[str, tuple[str, dict[str, Any]]] = {
            "beta-VAE 6": ("beta_vae", {"beta": 6}),
            "beta-TCVAE": ("beta_tcvae", {"beta": 12}),
            "FactorVAE": ("factor_vae", {"gamma": 10, **critic(scale)}),
            "DynamicVAE": ("dynamic_vae", {}),
            "CascadeVAE": ("cascade_vae", {}),
        }
        return result + [
            Variant({"method": label}, m, s, FREE if m.startswith("cascade") else NETWORK)
            for label, (m, s) in field.items()
        ]

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Sections 4.2 and 4.3 of the paper, and Table 2."""
        own = where(rows, method="DeVAE")
        result = [
            near("DeVAE: MIG at layer 1 equals that at layer 0 (± 0.02).", own, own, "mig@level 1", "mig", 0.02),
            near("DeVAE: MIG at layer 2 equals that at layer 0 (± 0.02).", own, own, "mig@level 2", "mig", 0.02),
        ]
        strongest = {f"beta-VAE {betas[-1]}" for betas in BETAS.values()}
        for other in dict.fromkeys(str(r.labels["method"]) for r in rows if r.labels["method"] != "DeVAE"):
            them = where(rows, method=other)
            result.append(higher(f"DeVAE's MIG is above that of {other}.", own, them, "mig"))
            if other in strongest or other == "beta-TCVAE":
                result.append(lower(f"DeVAE reconstructs better at layer 0 than {other}.", own, them, "reconstruction"))
        return result
