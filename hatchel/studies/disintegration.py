"""RTC-VAE, Figs. 5-9, 14-16: factors that several latents share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hatchel.study.budget import LAPTOP, LAPTOP_WORDS, NETWORK, SMOKE, SMOKE_WORDS, Budget, critic
from hatchel.study.cells.paired import Paired
from hatchel.study.cells.trained import Trained, metrics
from hatchel.study.claims import inside
from hatchel.study.comparison import Comparison, Variant
from hatchel.study.rows import where
from hatchel.study.store import Entry, Row
from hatchel.study.study import Claim, Scale
from hatchel.study.table import Column, Table, table

MEASURED = metrics("disintegration", {"kind": "disintegration", "by": "r2"}, "mig", "sap", "gaussian_tc")
SCORES = "scores"
LEARNED = 0.1
"""Of a factor's entropy, the share that its best latent must tell before it counts as learned."""
MATRICES = {"disintegration": "information about each factor", "disintegration(by=r2)": "R² with each factor"}


class DisintegrationStudy(Comparison, kind="disintegration"):
    """R² and NMI matrices and pair plots of three methods, and how many latents carry each factor."""

    paper = "Cheng et al. 2020, Figs. 5-9, 14-16"
    scales = {
        "smoke": SMOKE_WORDS,
        "laptop": f"{LAPTOP_WORDS}; the runs of tc-disparity",
        "paper": "300,000 steps of 500 images at 64 px, 10 seeds",
    }
    budgets = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Budget(steps=300_000, seeds=10, batch_size=500)}
    columns = (
        Column("disintegration", "latents a factor"),
        Column("gaussian_tc", "TC of means"),
        Column("mig", "MIG"),
        Column("sap", "SAP"),
    )
    trade = ("gaussian_tc", "disintegration")

    def variants(self, scale: Scale) -> list[Variant]:
        """Three methods of tc-disparity at strength 10."""
        methods: dict[str, tuple[str, dict[str, Any]]] = {
            "FactorVAE": ("factor_vae", {"gamma": 10, **critic(scale)}),
            "RTC-VAE": ("rtc_vae", {"beta": 10, **critic(scale)}),
            "DIP-VAE-I": ("dip_vae_i", {"od": 10, "d": 100}),
        }
        return [
            Variant({"method": label, "what": SCORES}, method, symbols, NETWORK, {"metrics": MEASURED})
            for label, (method, symbols) in methods.items()
        ]

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """The scores of every run, and the codes of the same runs for the pair plots."""
        scored = super().entries(scale, seeds)
        size = 100 if scale == "smoke" else 600
        return scored + [
            Entry({**e.labels, "what": "pairs"}, Paired(e.cell.seed, e.cell.run, size))
            for e in scored
            if isinstance(e.cell, Trained)
        ]

    def tables(self, rows: Sequence[Row]) -> list[Table]:
        """Of the scores."""
        scored = where(rows, what=SCORES)
        return [table(self.title(), scored, ("method",), self.columns)] if scored else []

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """The matrices and pairs of the first seed beside the boxes."""
        from hatchel.report.panels.pairs import drawn_pairs
        from hatchel.study.figures import heat

        scored = [replace(r, labels={"method": r.labels["method"]}) for r in where(rows, what=SCORES)]
        result = dict(super().figures(scored)) if scored else {}
        for row in scored:
            for name, what in MATRICES.items() if row.seed == 0 else ():
                found = row.details["matrices"].get(name)
                if found:
                    labels = [f"z{d}" for d in range(len(found["rows"]))]
                    matrix = [[0.0 if v is None else v for v in line] for line in found["rows"]]
                    result[f"{row.labels['method']}: {what}, seed 0"] = heat(matrix, labels, found["factors"])
        for row in where(rows, what="pairs"):
            if row.seed == 0:
                found = row.details
                names = [f"z{d}" for d in found["coordinates"]]
                means, samples = (np.array(found[part]) for part in ("means", "samples"))
                name = f"{row.labels['method']}: means below, samples above, coloured by {found['factor']}, seed 0"
                result[name] = drawn_pairs(means, samples, names, np.array(found["values"]))
        return result

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Section 6.3: a factor is carried by several latents, however independent these are."""
        result: list[Claim] = []
        for method in ("RTC-VAE", "DIP-VAE-I"):
            text = f"{method}: learned factors disintegrate: more than one and a half latents carry each (mean number)."
            found = [carriers(row) for row in where(rows, method=method, what=SCORES)]
            result.append(inside(text, [number for number in found if number is not None], 1.5, float("inf")))
        return result


def carriers(row: Row) -> float | None:
    """Latents a factor, over the factors that some latent tells a tenth of; None where there is none.

    A factor that was not learned has tiny shares, all alike, and would count as spread over every latent.
    """
    found = row.details.get("matrices", {}).get("disintegration", {"rows": [], "factors": []})
    shares = np.array([[0.0 if v is None else v for v in line] for line in found["rows"]])
    learned = [name for k, name in enumerate(found["factors"]) if shares[:, k].max() >= LEARNED]
    numbers = [row.values[f"disintegration.{name}.effective_number"] for name in learned]
    return float(np.mean(numbers)) if numbers else None
