"""RecurD, Tables 2 and 6, Fig. 3: reconstruction and disentanglement against the baselines."""

from __future__ import annotations

from typing import Any

from hatchel.studies.budget import LAPTOP, LAPTOP_WORDS, NETWORK, SMOKE, SMOKE_WORDS, Budget, critic, sprites
from hatchel.study.store import Entry
from hatchel.study.study import Scale, Study

BUDGETS = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Budget(steps=300_000, seeds=5)}
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "RecurD": ("recurd", {}),
    "beta-VAE 4": ("beta_vae", {"beta": 4}),
    "FactorVAE": ("factor_vae", {"gamma": 10}),
    "beta-VAE 16": ("beta_vae", {"beta": 16}),
    "beta-VAE 60": ("beta_vae", {"beta": 60}),
    "AnnealedVAE": ("annealed_vae", {"gamma": 1000}),
    "beta-TCVAE": ("beta_tcvae", {"beta": 4}),
    "DIP-VAE": ("dip_vae_i", {"od": 100, "d": 10}),
}
COUNT = {"smoke": 8, "laptop": 3, "paper": 8}
"""How many of the methods, from the first."""


class RecurDTable2(Study, kind="recurd-table2"):
    """Reconstruction, SAP, MIG and DCI of RecurD and seven baselines on dSprites."""

    paper = "000 Tables 2, 6; Fig. 3"
    scales = {
        "smoke": SMOKE_WORDS,
        "laptop": f"{LAPTOP_WORDS} (RecurD-1: D = 8, its own encoder, the others' decoder); three methods",
        "paper": "300,000 steps of 64 images at 64 px, 5 seeds",
    }

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """Each method with its weights."""
        result: list[Entry] = []
        for label, (method, symbols) in list(METHODS.items())[: COUNT[scale]]:
            fields = {"decoder": "deconv"} if method == "recurd" else NETWORK
            symbols = {**symbols, **critic(scale)} if method == "factor_vae" else symbols
            measure = {"layers": method == "recurd"}
            cells = BUDGETS[scale].cells(method, sprites(scale), seeds, symbols=symbols, fields=fields, measure=measure)
            result += [Entry({"method": label}, cell) for cell in cells]
        return result
