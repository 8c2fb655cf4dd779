"""RTC-VAE, Figs. 3, 4, 10, 11: the dependence of means and of samples, by method and strength."""

from __future__ import annotations

from hatchel.data.dsprites import DSprites
from hatchel.studies.budget import Budget
from hatchel.study.store import Entry
from hatchel.study.study import Scale, Study

BUDGETS = {
    "smoke": Budget(steps=4, seeds=1, items=300, batch_size=16),
    "laptop": Budget(steps=3_000, seeds=3, batch_size=64, lr=1e-3),
    "paper": Budget(steps=300_000, seeds=10, batch_size=500),
}
STRENGTHS = {"smoke": (10,), "laptop": (10,), "paper": (2, 6, 10, 20, 50)}
METHODS = {"smoke": 4, "laptop": 2, "paper": 4}


class TCDisparity(Study, kind="tc-disparity"):
    """TC of the means against TC of the samples for FactorVAE, RTC-VAE, DIP-VAE-I and DIP-VAE-II."""

    paper = "004 Figs. 3, 4, 10, 11"
    scales = {
        "smoke": "4 steps, 32 px, 1 seed",
        "laptop": "3,000 steps of 64 images at 32 px, learning rate 1e-3, strength 10, FactorVAE and RTC-VAE, 3 seeds",
        "paper": "300,000 steps of 500 images at 64 px, strengths 2 to 50, 10 seeds",
    }

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """Each method at each strength, on one network."""
        budget, data = BUDGETS[scale], DSprites(size=64 if scale == "paper" else 32)
        net = {"encoder": "conv", "decoder": "deconv", "latent": {"kind": "diagonal", "dim": 10}}
        result: list[Entry] = []
        for beta in STRENGTHS[scale]:
            methods = {
                "FactorVAE": ("factor_vae", {"gamma": beta}),
                "RTC-VAE": ("rtc_vae", {"beta": beta}),
                "DIP-VAE-I": ("dip_vae_i", {"od": beta, "d": 10 * beta}),
                "DIP-VAE-II": ("dip_vae_ii", {"od": beta, "d": beta}),
            }
            for label, (method, symbols) in list(methods.items())[: METHODS[scale]]:
                cells = budget.cells(method, data, seeds, symbols=symbols, fields=net)
                result += [Entry({"method": label, "strength": beta}, cell) for cell in cells]
        return result
