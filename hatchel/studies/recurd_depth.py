"""RecurD, Fig. 4: the three terms over training for 0, 1 and 2 routers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hatchel.study.budget import LAPTOP, LAPTOP_WORDS, SMOKE, SMOKE_WORDS, Budget
from hatchel.study.claims import higher, lower
from hatchel.study.comparison import Comparison, Variant
from hatchel.study.rows import groups, where
from hatchel.study.store import Row
from hatchel.study.study import Claim, Scale
from hatchel.study.table import Column


class RecurDDepth(Comparison, kind="recurd-depth"):
    """Reconstruction, sufficiency and disentanglement terms of RecurD-0, -1 and -2 over training."""

    paper = "Chen et al. 2022, Fig. 4"
    scales = {
        "smoke": SMOKE_WORDS,
        "laptop": f"{LAPTOP_WORDS}; RecurD's own encoders, D = 8, 8 and 16",
        "paper": "300,000 steps of 64 images at 64 px, 5 seeds",
    }
    budgets = {
        "smoke": SMOKE,
        "laptop": LAPTOP,
        "paper": Budget(300_000, 5),
    }
    columns = (
        Column("mig", "MIG"),
        Column("dci", "DCI-D"),
        Column("elbo_terms", "KL (nats)", digits=2),
        Column("reconstruction", "reconstruction (nats)", digits=2),
    )

    def variants(self, scale: Scale) -> list[Variant]:
        """By the number of routers."""
        return [
            Variant({"method": f"RecurD-{d}"}, "recurd", {"depth": d} if d != 1 else {}, {"decoder": "deconv"},
                    {"layers": d == 1})
            for d in (0, 1, 2)
        ]  # fmt: skip

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """A panel a term."""
        from hatchel.report.figures import LEGEND
        from hatchel.study.figures import COLOURS, grid_of

        drawn = [r for r in rows if r.details.get("training")]
        names = [n for n in ("rec", "kl", "between", "within") if any(n in r.details["training"] for r in drawn)]

        def panel(axes: Any, name: str) -> None:
            for colour, ((method,), group) in zip(COLOURS, groups(drawn, "method").items(), strict=False):
                curves = [np.array(r.details["training"][name]) for r in group if name in r.details["training"]]
                if curves:
                    axes.plot(
                        curves[0][:, 0], np.mean([c[:, 1] for c in curves], axis=0), ".-", color=colour, label=method
                    )
            axes.set_xlabel("steps")

        result = dict(super().figures(rows))
        if names:
            figure = grid_of({n: n for n in names}, panel, across=2, height=2.2)
            handles, labels = figure.axes[0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncols=3, **LEGEND)
            result["Terms over training"] = figure
        return result

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Section 5.1.1: modules with a router optimise minimal sufficiency and disentanglement much better."""
        plain, result = where(rows, method="RecurD-0"), list[Claim]()
        for depth in (1, 2):
            own = where(rows, method=f"RecurD-{depth}")
            result += [
                lower(f"RecurD-{depth}'s KL is below RecurD-0's.", own, plain, "elbo_terms"),
                higher(f"RecurD-{depth}'s DCI-D is above RecurD-0's.", own, plain, "dci"),
            ]
        return result
