"""Split Encoder, Figs. 3, 4, 6, 7, 9-11: a branch for each coordinate against the plain encoder."""

from __future__ import annotations

from hatchel.studies.budget import LAPTOP, LAPTOP_WORDS, NETWORK, SMOKE, SMOKE_WORDS, Budget, critic, sprites
from hatchel.study.store import Entry
from hatchel.study.study import Scale, Study

BUDGETS = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Budget(steps=300_000, seeds=10)}
METHODS = {"VAE": ("vae", {}), "beta-VAE": ("beta_vae", {"beta": 4}), "FactorVAE": ("factor_vae", {"gamma": 10})}


class SplitEncoder(Study, kind="split-encoder"):
    """Plain against split encoder for VAE, beta-VAE and FactorVAE: MIG, FactorVAE score, KL and reconstruction."""

    paper = "002 Figs. 3, 4, 6, 7, 9-11"
    scales = {
        "smoke": SMOKE_WORDS,
        "laptop": LAPTOP_WORDS,
        "paper": "300,000 steps of 64 images at 64 px, 10 seeds",
    }

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """Three methods on two encoders."""
        result: list[Entry] = []
        for label, (method, symbols) in METHODS.items():
            for encoder, kind in {"plain": "conv", "split": "split"}.items():
                fields = {**NETWORK, "encoder": kind}
                symbols = {**symbols, **critic(scale)} if method == "factor_vae" else symbols
                cells = BUDGETS[scale].cells(method, sprites(scale), seeds, symbols=symbols, fields=fields)
                result += [Entry({"method": label, "encoder": encoder}, cell) for cell in cells]
        return result
