"""RecurD, Tables 2 and 6, Fig. 3: reconstruction and disentanglement against the baselines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hatchel.study.budget import LAPTOP, LAPTOP_WORDS, NETWORK, SMOKE, SMOKE_WORDS, Budget, critic, rooms, sprites
from hatchel.study.claims import every, higher, lower
from hatchel.study.comparison import Comparison, Variant
from hatchel.study.rows import groups, where
from hatchel.study.store import Row
from hatchel.study.study import Claim, Scale
from hatchel.study.table import Column

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "RecurD": ("recurd", {}),
    "beta-VAE 4": ("beta_vae", {"beta": 4}),
    "FactorVAE": ("factor_vae", {"gamma": 6.4}),
    "beta-VAE 16": ("beta_vae", {"beta": 16}),
    "beta-VAE 60": ("beta_vae", {"beta": 60}),
    "AnnealedVAE": ("annealed_vae", {"gamma": 1000}),
    "beta-TCVAE": ("beta_tcvae", {"beta": 4}),
    "DIP-VAE": ("dip_vae_i", {"od": 100, "d": 10}),
}
PUBLISHED = {
    # reconstruction, SAP, MIG, DCI-D (Table 2), DCI-C, DCI-I (Table 6)
    ("dSprites", "beta-VAE 4"): (0.0066, 0.0284, 0.2617, 0.1191, 0.1148, 0.2181),
    ("dSprites", "beta-VAE 16"): (0.0094, 0.0242, 0.2241, 0.1820, 0.1575, 0.2087),
    ("dSprites", "beta-VAE 60"): (0.0127, 0.0445, 0.1432, 0.1291, 0.1261, 0.1769),
    ("dSprites", "AnnealedVAE"): (0.0171, 0.0311, 0.1177, 0.1449, 0.1793, 0.1663),
    ("dSprites", "FactorVAE"): (0.0228, 0.0436, 0.2594, 0.1955, 0.1375, 0.1699),
    ("dSprites", "beta-TCVAE"): (0.0162, 0.0352, 0.1585, 0.1774, 0.1988, 0.1660),
    ("dSprites", "DIP-VAE"): (0.0213, 0.0261, 0.0731, 0.1038, 0.0968, 0.1496),
    ("dSprites", "RecurD"): (0.0047, 0.0502, 0.2707, 0.3841, 0.3835, 0.2222),
    ("3DShapes", "beta-VAE 4"): (0.0216, 0.1463, 0.2519, 0.4682, 0.4463, 0.1982),
    ("3DShapes", "beta-VAE 16"): (0.0544, 0.1488, 0.2629, 0.4528, 0.4691, 0.1828),
    ("3DShapes", "beta-VAE 60"): (0.0624, 0.1041, 0.2402, 0.4317, 0.4215, 0.1641),
    ("3DShapes", "AnnealedVAE"): (0.0811, 0.0730, 0.2217, 0.4279, 0.4419, 0.1682),
    ("3DShapes", "FactorVAE"): (0.0800, 0.1331, 0.2630, 0.4491, 0.4419, 0.1707),
    ("3DShapes", "beta-TCVAE"): (0.0312, 0.0364, 0.2070, 0.4487, 0.4516, 0.1774),
    ("3DShapes", "DIP-VAE"): (0.0213, 0.2013, 0.3108, 0.4853, 0.4621, 0.1961),
    ("3DShapes", "RecurD"): (0.0083, 0.1979, 0.3105, 0.5804, 0.5668, 0.2014),
}


def published(place: int) -> dict[tuple[Any, ...], float]:
    """One column of the paper's tables."""
    return {line: values[place] for line, values in PUBLISHED.items()}


class RecurDTable2(Comparison, kind="recurd-table2"):
    """Reconstruction, SAP, MIG and DCI of RecurD and seven baselines on dSprites and 3DShapes."""

    paper = "Chen et al. 2022, Tables 2, 6; Fig. 3"
    scales = {
        "smoke": SMOKE_WORDS,
        "laptop": f"{LAPTOP_WORDS} (RecurD-1: D = 8, its own encoder, the others' decoder); "
        "FactorVAE with gamma 10, the run of tc-disparity",
        "paper": "300,000 steps of 64 images at 64 px, 5 seeds",
    }
    budgets = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Budget(steps=300_000, seeds=5)}
    columns = (
        Column("reconstruction.mse_per_pixel", "reconstruction (MSE)", published(0), 4),
        Column("sap", "SAP", published(1), 4),
        Column("mig", "MIG", published(2), 4),
        Column("dci", "DCI-D", published(3), 4),
        Column("dci.completeness", "DCI-C", published(4), 4),
        Column("dci.error", "DCI-I (error)", published(5), 4),
    )
    trade = ("reconstruction.mse_per_pixel", "mig")

    def variants(self, scale: Scale) -> list[Variant]:
        """Each method with its weights, on both data sets; one of them is enough for smoke."""
        result: list[Variant] = []
        sources = {"dSprites": sprites(scale)} | ({} if scale == "smoke" else {"3DShapes": rooms(scale)})
        for data, source in sources.items():
            for label, (method, symbols) in METHODS.items():
                known = symbols
                if method == "factor_vae":
                    known = {**symbols, **critic(scale), **({} if scale == "paper" else {"gamma": 10})}
                recursive = method == "recurd"
                fields = {"decoder": "deconv"} if recursive else NETWORK
                labels = {"data": data, "method": label}
                result.append(Variant(labels, method, known, fields, {"layers": recursive}, source))
        return result

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Section 5.1.1 of the paper: better than all baselines, in reconstruction and in every score."""
        result: list[Claim] = []
        for (data,), group in groups(rows, "data").items():
            own = where(group, method="RecurD")
            others = {method: where(group, method=method) for method in METHODS if method != "RecurD"}
            better = {m: lower("", own, them, "reconstruction") for m, them in others.items()}
            result.append(every(f"{data}: RecurD reconstructs better than every baseline.", better))
            for name, called in (("sap", "SAP"), ("mig", "MIG"), ("dci", "DCI-D")):
                above = {m: higher("", own, them, name) for m, them in others.items()}
                result.append(every(f"{data}: RecurD's {called} is above every baseline's.", above))
        return result
