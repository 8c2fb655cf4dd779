"""DeVAE, Figs. 4, 11: the information that the code holds of each factor, over training and over layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hatchel.studies.devae_comparison import BETAS, FREE
from hatchel.study.budget import LAPTOP, LAPTOP_WORDS, NETWORK, QUICK, SMOKE, SMOKE_WORDS, Budget
from hatchel.study.claims import inside
from hatchel.study.comparison import Comparison, Variant
from hatchel.study.rows import groups, where
from hatchel.study.store import Row
from hatchel.study.study import Claim, Scale
from hatchel.study.table import Column

SNAPSHOTS = {"smoke": 2, "laptop": 6, "paper": 20}


class DeVAEDiffusion(Comparison, kind="devae-diffusion"):
    """max_d I(z_d; factor) of every factor, measured again and again during training, and at each layer."""

    paper = "Wu et al. 2023, Figs. 4, 11"
    scales = {
        "smoke": SMOKE_WORDS,
        "laptop": f"{LAPTOP_WORDS}; betas 1, 4, 10; measured 6 times",
        "paper": "300,000 steps of 256 images at 64 px, 10 seeds; betas 1, 10, 40; measured 20 times",
    }
    budgets = {
        "smoke": SMOKE,
        "laptop": Budget(LAPTOP.steps, LAPTOP.seeds, 5_000, LAPTOP.batch_size, LAPTOP.lr, QUICK),
        "paper": Budget(300_000, 10, 10_000, 256, 1e-4, QUICK),
    }
    columns = (
        Column("mig", "MIG"),
        Column("mig@level 1", "MIG, layer 1"),
        Column("mig@level 2", "MIG, layer 2"),
        Column("reconstruction", "reconstruction (nats)", digits=2),
    )

    def variants(self, scale: Scale) -> list[Variant]:
        """DeVAE, and beta-VAE at its first and last beta."""
        betas, measure = BETAS[scale], {"snapshots": SNAPSHOTS[scale]}
        own = Variant({"method": "DeVAE"}, "de_vae", {"betas": betas}, FREE, measure)
        ends = (betas[0], betas[-1])
        return [own, *(Variant({"method": f"beta-VAE {b}"}, "beta_vae", {"beta": b}, NETWORK, measure) for b in ends)]

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """Curves of the information over training, a panel a method, a line a factor."""
        from hatchel.report.figures import LEGEND
        from hatchel.study.figures import COLOURS, grid_of

        def panel(axes: Any, group: list[Row]) -> None:
            steps, stack, factors = _history(group, "mig")
            for colour, factor, line in zip(COLOURS * 3, factors, stack.mean(axis=0).T, strict=False):
                axes.plot(steps, line, "o-", markersize=2.5, color=colour, label=factor)
            axes.set_xlabel("steps")
            if axes.get_subplotspec().is_first_col():
                axes.set_ylabel("max I(z_d; factor), nats")

        panels = {str(m): group for (m,), group in groups(rows, "method").items() if "history" in group[0].details}
        result = dict(super().figures(rows))
        if panels:
            figure = grid_of(panels, panel, across=len(panels), height=2.6, width=9.0)
            top = max(axes.get_ylim()[1] for axes in figure.axes)
            for axes in figure.axes:
                axes.set_ylim(0, top)  # to be compared
            handles, labels = figure.axes[0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncols=6, **LEGEND)
            result["Information about each factor over training"] = figure
        return result

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Section 4.3: what is learned is not lost again."""
        group = [r for r in where(rows, method="DeVAE") if "history" in r.details]
        if not group:
            return []
        _, stack, _ = _history(group, "mig")
        lost = (np.maximum.accumulate(stack, axis=1) - stack).max(axis=1)  # (seeds, factors)
        worst = (lost / np.maximum(stack.max(axis=1), 0.1)).max(axis=1)
        text = "DeVAE: information about a factor never falls by more than a quarter of its peak (the largest fall)."
        return [inside(text, worst.tolist(), 0, 0.25)]


def _history(rows: Sequence[Row], metric: str) -> tuple[Any, Any, list[str]]:
    """Steps (T,), information (rows, T, factors), names."""
    steps = np.array([step for step, _ in rows[0].details["history"]])
    factors = list(rows[0].details["history"][0][1][metric]["factors"])
    stack = np.array(
        [
            [np.nan_to_num(np.array(m[metric]["rows"], dtype=float)).max(axis=0) for _, m in r.details["history"]]
            for r in rows
        ]
    )
    return steps, stack, factors
