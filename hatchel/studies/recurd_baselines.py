"""RecurD, Table 7: beside InfoGAN, ControlVAE and a deep hierarchical VAE."""

from __future__ import annotations

from typing import Any

from hatchel.study.budget import NETWORK, ONE_SEED, ONE_SEED_WORDS, SMOKE, SMOKE_WORDS, Budget
from hatchel.study.comparison import Comparison, Variant
from hatchel.study.study import Scale
from hatchel.study.table import Column

MIG = {"beta-VAE 4": 0.2617, "InfoGAN": 0.1598, "ControlVAE": 0.2455, "NVAE": 0.0043, "RecurD": 0.2707}
ERROR = {"beta-VAE 4": 0.0066, "ControlVAE": 0.0102, "NVAE": 0.0041, "RecurD": 0.0047}
METHODS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "RecurD": ("recurd", {}, {"decoder": "deconv"}),
    "beta-VAE 4": ("beta_vae", {"beta": 4}, dict(NETWORK)),
    "ControlVAE": ("control_vae", {}, dict(NETWORK)),
    "InfoGAN": ("info_gan", {}, {}),
    "NVAE": ("nvae_lite", {}, {}),
}


class RecurDBaselines(Comparison, kind="recurd-baselines"):
    """Reconstruction and MIG of RecurD, beta-VAE, ControlVAE, InfoGAN and NVAE on dSprites."""

    paper = "000 Table 7"
    scales = {
        "smoke": SMOKE_WORDS,
        "laptop": f"{ONE_SEED_WORDS}; InfoGAN and NVAE with networks of their own",
        "paper": "300,000 steps of 64 images at 64 px, 5 seeds",
    }
    budgets = {
        "smoke": SMOKE,
        "laptop": ONE_SEED,
        "paper": Budget(300_000, 5),
    }
    columns = (
        Column("reconstruction.mse_per_pixel", "reconstruction (MSE)", {(k,): v for k, v in ERROR.items()}, 4),
        Column("mig", "MIG", {(k,): v for k, v in MIG.items()}, 4),
    )
    trade = ("reconstruction.mse_per_pixel", "mig")

    def variants(self, scale: Scale) -> list[Variant]:
        """Each method with its own settings."""
        return [
            Variant({"method": label}, method, symbols, fields, {"layers": method == "recurd"})
            for label, (method, symbols, fields) in METHODS.items()
        ]
