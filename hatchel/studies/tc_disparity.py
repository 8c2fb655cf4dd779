"""RTC-VAE, Figs. 3, 4, 10, 11: the dependence of means and of samples, by method and strength."""

from __future__ import annotations

from hatchel.studies.budget import LAPTOP, LAPTOP_WORDS, NETWORK, SMOKE, SMOKE_WORDS, Budget, critic, sprites
from hatchel.study.store import Entry
from hatchel.study.study import Scale, Study

BUDGETS = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Budget(steps=300_000, seeds=10, batch_size=500)}
STRENGTHS = {"smoke": (10,), "laptop": (10,), "paper": (2, 6, 10, 20, 50)}
METHODS = {"smoke": 4, "laptop": 2, "paper": 4}
"""How many of the methods, from the first: FactorVAE and RTC-VAE decide the claim."""


class TCDisparity(Study, kind="tc-disparity"):
    """TC of the means against TC of the samples for FactorVAE, RTC-VAE, DIP-VAE-I and DIP-VAE-II."""

    paper = "004 Figs. 3, 4, 10, 11"
    scales = {
        "smoke": SMOKE_WORDS,
        "laptop": f"{LAPTOP_WORDS}, strength 10, FactorVAE and RTC-VAE alone",
        "paper": "300,000 steps of 500 images at 64 px, strengths 2 to 50, 10 seeds",
    }

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """Each method at each strength, on one network."""
        result: list[Entry] = []
        for beta in STRENGTHS[scale]:
            methods = {
                "FactorVAE": ("factor_vae", {"gamma": beta, **critic(scale)}),
                "RTC-VAE": ("rtc_vae", {"beta": beta, **critic(scale)}),
                "DIP-VAE-I": ("dip_vae_i", {"od": beta, "d": 10 * beta}),
                "DIP-VAE-II": ("dip_vae_ii", {"od": beta, "d": beta}),
            }
            for label, (method, symbols) in list(methods.items())[: METHODS[scale]]:
                cells = BUDGETS[scale].cells(method, sprites(scale), seeds, symbols=symbols, fields=NETWORK)
                result += [Entry({"method": label, "strength": beta}, cell) for cell in cells]
        return result
