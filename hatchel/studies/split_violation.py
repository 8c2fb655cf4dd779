"""Split Encoder, Fig. 2: what becomes of disentanglement when noise or parameters are shared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hatchel.study.budget import LAPTOP, LAPTOP_WORDS, NETWORK, SMOKE, SMOKE_WORDS, Budget, critic
from hatchel.study.claims import lower
from hatchel.study.comparison import Comparison, Variant
from hatchel.study.rows import where
from hatchel.study.store import Row
from hatchel.study.study import Claim, Scale
from hatchel.study.table import Column

METHODS: dict[str, tuple[str, dict[str, Any]]] = {"VAE": ("vae", {}), "FactorVAE": ("factor_vae", {"gamma": 10})}
VIOLATIONS: dict[str, Mapping[str, Any]] = {
    "none": NETWORK,
    "correlated noise": {**NETWORK, "latent": {"kind": "correlated", "dim": 10, "correlation": 0.9}},
    "shared parameters": {**NETWORK, "encoder": "sharing", "latent": {"kind": "diagonal", "dim": 16}},
}
"""The sharing encoder's coordinates are the places of a grid, so there are 16 of them."""


class SplitViolation(Comparison, kind="split-violation"):
    """VAE and FactorVAE with independent noise, with correlated noise, and with one filter for all coordinates."""

    paper = "Split Encoder 2019, Fig. 2"
    scales = {"smoke": SMOKE_WORDS, "laptop": LAPTOP_WORDS, "paper": "300,000 steps of 64 images at 64 px, 10 seeds"}
    budgets = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Budget(steps=300_000, seeds=10)}
    columns = (
        Column("mig", "MIG"),
        Column("factor_vae_score", "FactorVAE score"),
        Column("reconstruction", "reconstruction (nats)", digits=2),
    )
    contrast = "violation"

    def variants(self, scale: Scale) -> list[Variant]:
        """Two methods, plain and with each violation."""
        result: list[Variant] = []
        for label, (method, symbols) in METHODS.items():
            known = {**symbols, **critic(scale)} if method == "factor_vae" else symbols
            for violation, fields in VIOLATIONS.items():
                result.append(Variant({"method": label, "violation": violation}, method, known, fields))
        return result

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Section 5.2: both violations lower MIG."""
        result: list[Claim] = []
        for method in METHODS:
            plain = where(rows, method=method, violation="none")
            for violation in list(VIOLATIONS)[1:]:
                text = (
                    f"{method}: {violation} lower MIG."
                    if violation.endswith("s")
                    else f"{method}: {violation} lowers MIG."
                )
                result.append(lower(text, where(rows, method=method, violation=violation), plain, "mig"))
        return result
