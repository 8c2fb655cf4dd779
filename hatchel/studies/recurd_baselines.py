"""RecurD, Table 7: beside InfoGAN, ControlVAE and a deep hierarchical VAE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hatchel.data.cars3d import Cars3D
from hatchel.data.source import Source
from hatchel.study.budget import LAPTOP, LAPTOP_WORDS, NETWORK, SMOKE, SMOKE_WORDS, Budget, rooms, sprites
from hatchel.study.claims import every, higher, lower
from hatchel.study.comparison import Comparison, Variant
from hatchel.study.rows import groups, where
from hatchel.study.store import Row
from hatchel.study.study import Claim, Scale
from hatchel.study.table import Column

METHODS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "RecurD": ("recurd", {}, {"decoder": "deconv"}),
    "beta-VAE 4": ("beta_vae", {"beta": 4}, dict(NETWORK)),
    "ControlVAE": ("control_vae", {}, dict(NETWORK)),
    "InfoGAN": ("info_gan", {}, {}),
    "NVAE": ("nvae_lite", {}, {}),
}
PUBLISHED: dict[str, dict[str, tuple[float | None, float]]] = {
    # reconstruction, MIG; a GAN reconstructs nothing
    "dSprites": {
        "beta-VAE 4": (0.0066, 0.2617), "InfoGAN": (None, 0.1598), "ControlVAE": (0.0102, 0.2455),
        "NVAE": (0.0041, 0.0043), "RecurD": (0.0047, 0.2707),
    },
    "3DShapes": {
        "beta-VAE 4": (0.0216, 0.2519), "InfoGAN": (None, 0.1874), "ControlVAE": (0.0357, 0.2630),
        "NVAE": (0.0078, 0.0081), "RecurD": (0.0083, 0.3105),
    },
    "3DCars": {
        "beta-VAE 4": (0.0376, 0.1015), "InfoGAN": (None, 0.1083), "ControlVAE": (0.0257, 0.1583),
        "NVAE": (0.0118, 0.0034), "RecurD": (0.0132, 0.1762),
    },
}  # fmt: skip


def published(place: int) -> dict[tuple[Any, ...], float]:
    """One column of the paper's table, by data set and method."""
    lines = {(data, method): v[place] for data, part in PUBLISHED.items() for method, v in part.items()}
    return {line: value for line, value in lines.items() if value is not None}


class RecurDBaselines(Comparison, kind="recurd-baselines"):
    """Reconstruction and MIG of RecurD, beta-VAE, ControlVAE, InfoGAN and NVAE on dSprites, 3DShapes and 3DCars."""

    paper = "Chen et al. 2022, Table 7"
    scales = {
        "smoke": SMOKE_WORDS,
        "laptop": f"{LAPTOP_WORDS}; no 3DCars; InfoGAN and NVAE with networks of their own",
        "paper": "300,000 steps of 64 images at 64 px, 5 seeds; 3DCars from its own file",
    }
    budgets = {
        "smoke": SMOKE,
        "laptop": LAPTOP,
        "paper": Budget(300_000, 5),
    }
    columns = (
        Column("reconstruction.mse_per_pixel", "reconstruction (MSE)", published(0), 4),
        Column("mig", "MIG", published(1), 4),
    )
    trade = ("reconstruction.mse_per_pixel", "mig")

    def variants(self, scale: Scale) -> list[Variant]:
        """Each method with its own settings."""
        sources: dict[str, Source] = {"dSprites": sprites(scale)}
        sources |= {} if scale == "smoke" else {"3DShapes": rooms(scale)}
        sources |= {"3DCars": Cars3D()} if scale == "paper" else {}
        return [
            Variant({"data": data, "method": label}, method, symbols, fields, {"layers": method == "recurd"}, source)
            for data, source in sources.items()
            for label, (method, symbols, fields) in METHODS.items()
        ]

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Appendix F: RecurD has the highest MIG of all; NVAE reconstructs as well and has almost none."""
        result: list[Claim] = []
        for (data,), group in groups(rows, "data").items():
            own = where(group, method="RecurD")
            others = {method: where(group, method=method) for method in list(METHODS)[1:]}
            above = {method: higher("", own, them, "mig") for method, them in others.items()}
            result.append(every(f"{data}: RecurD's MIG is above that of all others.", above))
            text = f"{data}: NVAE reconstructs better than RecurD."
            result.append(lower(text, others["NVAE"], own, "reconstruction"))
        return result
