"""RTC-VAE, Figs. 3, 4, 10, 11: the dependence of means and of samples, by method and strength."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hatchel.study.budget import LAPTOP, LAPTOP_WORDS, NETWORK, SMOKE, SMOKE_WORDS, Budget, critic
from hatchel.study.claims import higher, lower
from hatchel.study.comparison import Comparison, Variant
from hatchel.study.rows import where
from hatchel.study.store import Row
from hatchel.study.study import Claim, Scale
from hatchel.study.table import Column

STRENGTHS = {"smoke": (10,), "laptop": (10, 50), "paper": (2, 6, 10, 20, 50)}


class TCDisparity(Comparison, kind="tc-disparity"):
    """TC of the means against TC of the samples for FactorVAE, RTC-VAE, DIP-VAE-I and DIP-VAE-II."""

    paper = "Cheng et al. 2020, Figs. 3, 4, 10, 11"
    scales = {
        "smoke": SMOKE_WORDS,
        "laptop": f"{LAPTOP_WORDS}, strengths 10 and 50",
        "paper": "300,000 steps of 500 images at 64 px, strengths 2 to 50, 10 seeds",
    }
    budgets = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Budget(steps=300_000, seeds=10, batch_size=500)}
    columns = (
        Column("gaussian_tc", "TC of means"),
        Column("gaussian_tc@sample", "TC of samples"),
        Column("sap", "SAP"),
        Column("mig", "MIG"),
        Column("reconstruction", "reconstruction (nats)", digits=2),
    )
    trade = ("reconstruction", "sap")

    def variants(self, scale: Scale) -> list[Variant]:
        """Each method at each strength, on one network."""
        result: list[Variant] = []
        for beta in STRENGTHS[scale]:
            methods: dict[str, tuple[str, dict[str, Any]]] = {
                "FactorVAE": ("factor_vae", {"gamma": beta, **critic(scale)}),
                "RTC-VAE": ("rtc_vae", {"beta": beta, **critic(scale)}),
                "DIP-VAE-I": ("dip_vae_i", {"od": beta, "d": 10 * beta}),
                "DIP-VAE-II": ("dip_vae_ii", {"od": beta, "d": beta}),
            }
            for label, (method, symbols) in methods.items():
                result.append(Variant({"method": label, "strength": beta}, method, symbols, NETWORK))
        return result

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """Beside the boxes: both TCs against the strength, where there are several."""
        from hatchel.study.figures import lines

        result = dict(super().figures(rows))
        if len({r.labels["strength"] for r in rows}) > 1:
            both = {"gaussian_tc": "of means", "gaussian_tc@sample": "of samples"}
            result["TC by strength"] = lines(rows, "strength", both, "method", ("strength", "TC, nats"), log=True)
        return result

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Section 5 of the paper, at each strength."""
        result: list[Claim] = []
        for strength in sorted({int(r.labels["strength"]) for r in rows}):
            factor, rtc = (where(rows, method=m, strength=strength) for m in ("FactorVAE", "RTC-VAE"))
            doubled = [_with(r, "limit", 2 * r.values["gaussian_tc@sample"]) for r in factor]
            fifth = [_with(r, "limit", 1.2 * r.values["gaussian_tc@sample"]) for r in rtc]
            at = f"At strength {strength},"
            result += [
                higher(f"{at} FactorVAE's TC of the means is at least twice that of its samples (the limit).", factor,
                       doubled, "gaussian_tc", "limit"),
                lower(f"{at} RTC-VAE's TC of the means is at most 1.2 times that of its samples (the limit).", rtc,
                      fifth, "gaussian_tc", "limit"),
            ]  # fmt: skip
        return result


def _with(row: Row, name: str, value: float) -> Row:
    return Row(row.labels, row.seed, row.digest, {**row.values, name: value}, row.details, row.seconds)
