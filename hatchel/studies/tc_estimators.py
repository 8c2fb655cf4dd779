"""RTC-VAE, Fig. 2: minibatch estimators of total correlation against the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hatchel.core.spec import from_dict
from hatchel.objective.estimators.estimator import Density
from hatchel.study.cells.estimated import Estimated, correlation_of
from hatchel.study.rows import groups, measured
from hatchel.study.store import Entry, Row
from hatchel.study.study import Claim, Scale, Study
from hatchel.study.table import Column, Table, table

ESTIMATORS = ("mws", "mss0", "mss", "stratified", "gaussian")
DETERMINANTS = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
DIMENSIONS = {"smoke": (2, 10), "laptop": (2, 4, 10, 20), "paper": (2, 4, 10, 20)}


class TCEstimators(Study, kind="tc-estimators"):
    """MWS, MSS_0, MSS_1, stratified and Gaussian estimates of TC(z) over det(corr) from 0 to 1, for several D."""

    paper = "Cheng et al. 2020, Fig. 2"
    scales = {
        "smoke": "2 batches of 64",
        "laptop": "10 batches of 256 out of N = 50,000, sigma = 0.1, 3 seeds",
        "paper": "10 batches of 256 out of N = 50,000 (the paper prints neither), sigma = 0.1, 10 seeds",
    }

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """Every estimator, determinant and dimension."""
        count = seeds or {"smoke": 1, "laptop": 3, "paper": 10}[scale]
        size = {"batch": 64, "repeats": 2} if scale == "smoke" else {}
        return [
            Entry(
                {"D": dim, "estimator": name, "det": det},
                Estimated(seed, from_dict(Density, name), dim, correlation_of(det, dim), dim, sigma=0.1, **size),
            )
            for dim in DIMENSIONS[scale]
            for name in ESTIMATORS
            for det in DETERMINANTS
            for seed in range(count)
        ]

    def tables(self, rows: Sequence[Row]) -> list[Table]:
        """The error of each estimator where the truth is almost 0 and where it is large."""
        some = [r for r in rows if r.labels["det"] in (0.1, 1.0)]
        columns = (Column("tc", "estimated TC"), Column("truth", "true TC"))
        return [table("Total correlation in nats", some, ("D", "estimator", "det"), columns)]

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """One panel a dimension, as in the paper."""
        from hatchel.report.figures import LEGEND
        from hatchel.report.style import INK, SMALL
        from hatchel.study.figures import COLOURS, grid_of

        def panel(axes: Any, group: list[Row]) -> None:
            truth = sorted({(float(r.labels["det"]), r.values["truth"]) for r in group})
            axes.plot([t[0] for t in truth], [t[1] for t in truth], color=INK, linewidth=3, alpha=0.3, label="truth")
            for colour, ((name,), own) in zip(COLOURS, groups(group, "estimator").items(), strict=False):
                points = sorted(
                    (float(k), m.value) for (k,), g in groups(own, "det").items() if (m := measured(g, "tc"))
                )
                axes.plot([p[0] for p in points], [p[1] for p in points], "o-", markersize=3, color=colour, label=name)
            near = [r.values[v] for r in group for v in ("tc", "truth") if r.labels["estimator"] != "mws"]
            far = [r.values["tc"] for r in group if r.labels["estimator"] == "mws"]
            if near and far and max(far) > max(near):
                # MWS is off by (D - 1) log N: with it in the picture nothing else could be told apart.
                margin = 0.08 * (max(near) - min(near) or 1.0)
                axes.set_ylim(min(near) - margin, max(near) + margin)
                axes.text(1, 1, f"mws: {min(far):.0f} to {max(far):.0f}, above", transform=axes.transAxes, ha="right",
                          va="bottom", color=INK, fontsize=SMALL)  # fmt: skip
            axes.set_xlabel("determinant of the correlation")
            axes.set_ylabel("TC, nats")

        panels = {f"D = {dim}": group for (dim,), group in groups(rows, "D").items()}
        figure = grid_of(panels, panel, across=2, height=2.3)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, **LEGEND)
        return {"TC by estimator": figure}

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Section 5 of the paper: observations 1 to 4."""
        error = {
            key: found.value
            for key, group in groups(rows, "D", "estimator", "det").items()
            if (found := measured(group, "error"))
        }
        top = max((int(d) for d, _, _ in error if isinstance(d, int)), default=0)
        if not all((d, n, 1.0) in error for d in (2, top) for n in ("mss", "mss0")):
            return []
        low = {n: [v for (d, e, _), v in error.items() if d == 2 and e == n] for n in ("mss", "mss0")}
        high = {n: [abs(v) for (d, e, _), v in error.items() if d == top and e == n] for n in ("mss", "mss0")}
        free = {n: error[top, n, 1.0] for n in ("mss", "mss0")}
        worst = max(abs(v) for values in low.values() for v in values)
        better = sum(high["mss"]) <= sum(high["mss0"])
        mws = [v for (_, e, _), v in error.items() if e == "mws"] or [0.0]
        found = {n: sum(v) / len(v) for n, v in high.items()}
        return [
            Claim("MWS underestimates TC.", all(v < 0 for v in mws),
                  f"errors from {min(mws):.2f} to {max(mws):.2f} nats: by definition each log-density "
                  "is low by log N, which adds (D - 1) log N to TC"),
            Claim("In 2 dimensions MSS_0 and MSS_1 are accurate (within 0.25 nats).", worst <= 0.25,
                  f"largest error {worst:.2f} nats"),
            Claim(f"In {top} dimensions both overestimate where TC is 0.", all(v > 0.25 for v in free.values()),
                  f"MSS_1 {free['mss']:+.2f}, MSS_0 {free['mss0']:+.2f} nats"),
            Claim("MSS_1 is closer to the truth than MSS_0.", better,
                  f"mean absolute error in {top} dimensions {found['mss']:.2f} against {found['mss0']:.2f} nats"),
        ]  # fmt: skip
