"""RTC-VAE, Figs. 5-9, 14-16: factors that several latents share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hatchel.study.budget import LAPTOP, LAPTOP_WORDS, NETWORK, SMOKE, SMOKE_WORDS, Budget, critic
from hatchel.study.cells.trained import metrics
from hatchel.study.comparison import Comparison, Variant
from hatchel.study.store import Row
from hatchel.study.study import Scale
from hatchel.study.table import Column

MEASURED = metrics("disintegration", "mig", "sap", "gaussian_tc")


class DisintegrationStudy(Comparison, kind="disintegration"):
    """R² and NMI matrices of FactorVAE and RTC-VAE, and how many latents carry each factor."""

    paper = "004 Figs. 5-9, 14-16"
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
        """The two methods at strength 10."""
        fields, symbols = dict(NETWORK), critic(scale)
        measure = {"metrics": MEASURED}
        return [
            Variant({"method": "FactorVAE"}, "factor_vae", {"gamma": 10, **symbols}, fields, measure),
            Variant({"method": "RTC-VAE"}, "rtc_vae", {"beta": 10, **symbols}, fields, measure),
        ]

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """The matrices of the first seed beside the boxes."""
        from hatchel.study.figures import heat

        result = dict(super().figures(rows))
        for row in rows:
            for name in ("disintegration", "mig") if row.seed == 0 else ():
                found = row.details["matrices"].get(name)
                if found:
                    labels = [f"z{d}" for d in range(len(found["rows"]))]
                    matrix = [[0.0 if v is None else v for v in line] for line in found["rows"]]
                    largest = max(max(line) for line in matrix) or 1.0
                    what = "information about each factor"
                    if name == "mig":  # in nats, which the colours do not cover
                        matrix = [[v / largest for v in line] for line in matrix]
                        what = f"information as a share of the largest ({largest:.2f} nats)"
                    result[f"{row.labels['method']}: {what}, seed 0"] = heat(matrix, labels, found["factors"])
        return result
