"""DeVAE, Fig. 2 and Table 6: disentanglement and reconstruction against the field."""

from __future__ import annotations

from hatchel.studies.budget import LAPTOP, LAPTOP_WORDS, NETWORK, SMOKE, SMOKE_WORDS, Budget, sprites
from hatchel.study.store import Entry
from hatchel.study.study import Scale, Study

BUDGETS = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Budget(steps=300_000, seeds=10, batch_size=256, lr=1e-4)}
BETAS = {"smoke": (1, 4, 10), "laptop": (1, 4, 10), "paper": (1, 10, 40)}
"""A quarter of the pixels, a quarter of the reconstruction error: so about a quarter of the weights."""


class DeVAEComparison(Study, kind="devae-comparison"):
    """MIG, FactorVAE score, DCI and reconstruction of DeVAE and the methods it is compared with."""

    paper = "001 Fig. 2, Table 6"
    scales = {
        "smoke": SMOKE_WORDS,
        "laptop": f"{LAPTOP_WORDS}; betas 1, 4, 10",
        "paper": "300,000 steps of 256 images at 64 px, 10 seeds; betas 1, 10, 40",
    }

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """DeVAE, and beta-VAE at each of its betas."""
        betas, data = BETAS[scale], sprites(scale)
        net = {k: v for k, v in NETWORK.items() if k != "latent"}
        methods = {"DeVAE": ("de_vae", {"betas": betas}, net)}
        methods |= {f"beta-VAE {b}": ("beta_vae", {"beta": b}, dict(NETWORK)) for b in betas[1:]}
        result: list[Entry] = []
        for label, (method, symbols, fields) in methods.items():
            cells = BUDGETS[scale].cells(method, data, seeds, symbols=symbols, fields=fields)
            result += [Entry({"method": label}, cell) for cell in cells]
        return result
