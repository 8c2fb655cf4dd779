"""HFVAE, Fig. 9: thick sevens and narrow zeros that training never showed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hatchel.data.mnist import PrunedMNIST
from hatchel.studies.hfvae_discrete import DIGITS, SEEDS, run_of
from hatchel.study.cells.zero_shot import FEATURES, ZeroShot
from hatchel.study.claims import inside, near
from hatchel.study.rows import groups, where
from hatchel.study.store import Entry, Row
from hatchel.study.study import Claim, Scale, Study
from hatchel.study.table import Column, Table, table


class HFVAEZeroShot(Study, kind="hfvae-zero-shot"):
    """Train without the thick sevens and narrow zeros, then reconstruct them; beside a model that saw them."""

    paper = "Esmaeili et al. 2019, Fig. 9"
    scales = {
        "smoke": "2 steps of 16 images",
        "laptop": "2,000 steps of 256 images, the paper's MLPs, learning rate 1e-3, 25 % of 7s and 0s removed, 3 seeds",
        "paper": "2,400 steps of 512 images (20 epochs), the paper's MLPs, learning rate 1e-3, a quarter of 7s and 0s "
        "removed (the paper prints neither epochs nor share), 3 seeds",
    }

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """HFVAE and beta-VAE, trained on the pruned set and on all."""
        items = 50 if scale == "smoke" else 1_000
        return [
            Entry({"method": label, "trained on": shown}, ZeroShot(seed, run_of(label, source, scale), items))
            for shown, source in {"pruned": PrunedMNIST(size=28), "all": DIGITS["MNIST"]}.items()
            for label in ("HFVAE", "beta-VAE")
            for seed in range(seeds or SEEDS[scale])
        ]

    def tables(self, rows: Sequence[Row]) -> list[Table]:
        """The error on removed and on kept sevens and zeros, and whether the code tells them apart."""
        columns = (
            Column("removed", "thick 7s, narrow 0s (nats)", digits=1),
            Column("kept", "the other 7s and 0s (nats)", digits=1),
            Column("gap", "gap", digits=1),
            *(Column(f"told apart: {name}", f"{name}: told apart (AUC)") for name in FEATURES),
        )
        return [table("Reconstruction error, and the feature's values", rows, ("method", "trained on"), columns)]

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """Removed images with what each model makes of them; and histograms of the feature's values."""
        from hatchel.report.figures import LEGEND
        from hatchel.report.pictures import rows_figure
        from hatchel.report.style import ACCENT, OTHERS
        from hatchel.study.figures import grid_of

        first = {f"{r.labels['method']}, {r.labels['trained on']}": r for r in rows if r.seed == 0}
        if not first:
            return {}
        shown = next(iter(first.values())).details["removed"][0]
        pictures = [np.array(p, dtype=np.uint8) for p in (shown, *(r.details["removed"][1] for r in first.values()))]
        result = {"Removed digits, reconstructed": rows_figure(np.stack(pictures)[..., None], ["original", *first])}

        def histogram(axes: Any, found: Mapping[str, Any]) -> None:
            for part, colour in (("kept", OTHERS[0]), ("removed", ACCENT)):
                axes.stairs(found[part], found["edges"], fill=True, color=colour, alpha=0.55, label=part)
            axes.set_xlabel(f"z{found['coordinate']}")
            axes.set_yticks([])

        panels = {f"{name}: {f}": r.details["histograms"][f] for name, r in first.items() for f in FEATURES}
        figure = grid_of(panels, histogram, across=len(FEATURES), height=1.7, width=9.0)
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, **LEGEND)
        result["Values of the feature"] = figure
        return result

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Section 6.4: what was never shown is reconstructed, and its features are read, nearly as if it had been."""
        result: list[Claim] = []
        for (method,), group in groups(rows, "method").items():
            unseen, seen = (where(group, **{"trained on": t}) for t in ("pruned", "all"))
            errors = {r.seed: r.values["removed"] for r in seen}
            ratios = [r.values["removed"] / errors[r.seed] for r in unseen if r.seed in errors]
            text = f"{method}: the error on removed digits is within 15 % of that of a model that saw them (ratio)."
            result.append(inside(text, ratios, 0, 1.15))
            for name in FEATURES:
                value = f"told apart: {name}"
                text = (
                    f"{method}: the code tells removed from kept digits as one that saw them does ({name}, AUC ± 0.05)."
                )
                result.append(near(text, unseen, seen, value, value, 0.05))
        return result
