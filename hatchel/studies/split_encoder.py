"""Split Encoder, Figs. 3, 4, 6, 7, 9-11: a branch for each coordinate against the plain encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hatchel.study.budget import LAPTOP, LAPTOP_WORDS, NETWORK, SMOKE, SMOKE_WORDS, Budget, critic
from hatchel.study.claims import higher, lower
from hatchel.study.comparison import Comparison, Variant
from hatchel.study.rows import where
from hatchel.study.store import Row
from hatchel.study.study import Claim, Scale
from hatchel.study.table import Column

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "VAE": ("vae", {}), "beta-VAE": ("beta_vae", {"beta": 4}), "FactorVAE": ("factor_vae", {"gamma": 10}),
}  # fmt: skip


class SplitEncoder(Comparison, kind="split-encoder"):
    """Plain against split encoder for VAE, beta-VAE and FactorVAE: MIG, FactorVAE score, KL and reconstruction."""

    paper = "Split Encoder 2019, Figs. 3, 4, 6, 7, 9-11"
    scales = {"smoke": SMOKE_WORDS, "laptop": LAPTOP_WORDS, "paper": "300,000 steps of 64 images at 64 px, 10 seeds"}
    budgets = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Budget(steps=300_000, seeds=10)}
    columns = (
        Column("mig", "MIG"),
        Column("factor_vae_score", "FactorVAE score"),
        Column("elbo_terms", "KL (nats)", digits=2),
        Column("reconstruction", "reconstruction (nats)", digits=2),
    )
    contrast = "encoder"

    def variants(self, scale: Scale) -> list[Variant]:
        """Three methods on two encoders."""
        result: list[Variant] = []
        for label, (method, symbols) in METHODS.items():
            known = {**symbols, **critic(scale)} if method == "factor_vae" else symbols
            for encoder, kind in {"plain": "conv", "split": "split"}.items():
                result.append(
                    Variant({"method": label, "encoder": encoder}, method, known, {**NETWORK, "encoder": kind})
                )
        return result

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Section 5.3: MIG up, reconstruction error down, for each method."""
        result: list[Claim] = []
        for method in METHODS:
            split, plain = (where(rows, method=method, encoder=e) for e in ("split", "plain"))
            result.append(higher(f"{method}: the split encoder has the higher MIG.", split, plain, "mig"))
            text = f"{method}: the split encoder reconstructs better."
            result.append(lower(text, split, plain, "reconstruction"))
        return result
