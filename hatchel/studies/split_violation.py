"""Split Encoder, Fig. 2: what becomes of disentanglement when noise or parameters are shared."""

from __future__ import annotations

from hatchel.studies.budget import LAPTOP, LAPTOP_WORDS, NETWORK, SMOKE, SMOKE_WORDS, Budget, critic, sprites
from hatchel.study.store import Entry
from hatchel.study.study import Scale, Study

BUDGETS = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Budget(steps=300_000, seeds=10)}
METHODS = {"VAE": ("vae", {}), "FactorVAE": ("factor_vae", {"gamma": 10})}
VIOLATIONS = {
    "none": NETWORK,
    "correlated noise": {**NETWORK, "latent": {"kind": "correlated", "dim": 10, "correlation": 0.9}},
    "shared parameters": {**NETWORK, "encoder": "sharing", "latent": {"kind": "diagonal", "dim": 16}},
}
"""The sharing encoder's coordinates are the places of a grid, so there are 16 of them."""


class SplitViolation(Study, kind="split-violation"):
    """VAE and FactorVAE with independent noise, with correlated noise, and with one filter for all coordinates."""

    paper = "002 Fig. 2"
    scales = {
        "smoke": SMOKE_WORDS,
        "laptop": LAPTOP_WORDS,
        "paper": "300,000 steps of 64 images at 64 px, 10 seeds",
    }

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """Two methods, plain and with each violation."""
        result: list[Entry] = []
        for label, (method, symbols) in METHODS.items():
            for violation, fields in VIOLATIONS.items():
                symbols = {**symbols, **critic(scale)} if method == "factor_vae" else symbols
                cells = BUDGETS[scale].cells(method, sprites(scale), seeds, symbols=symbols, fields=fields)
                result += [Entry({"method": label, "violation": violation}, cell) for cell in cells]
        return result
