"""RTC-VAE, Theorem 1 and Fig. 1: the total correlation of means has no bound, that of samples has one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hatchel.core.spec import Count, Positive
from hatchel.metrics import gaussian_tc
from hatchel.study.cell import Cell, Place, Record
from hatchel.study.rows import measured, where
from hatchel.study.store import Entry, Row
from hatchel.study.study import Claim, Scale, Study
from hatchel.study.table import Column, Table, table

EPSILONS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
NOISE = (0.01, 1.0)
"""Variances of z_1 and z_2 around their means: those of Fig. 1."""


class Cloud(Cell):
    """mu = (t, 0.1 (t + epsilon u)), t, u ~ N(0, 1), z = mu + noise: Fig. 1 as epsilon -> 0."""

    epsilon: Positive
    """How far mu_2 is from a function of mu_1."""
    n: Count = 20_000
    """Points."""

    def compute(self, place: Place) -> Record:
        """TC of both clouds, estimated and in closed form, and some points to draw."""
        rng = np.random.default_rng(self.seed)
        t, u = rng.standard_normal((2, self.n))
        mean = np.stack([t, 0.1 * (t + self.epsilon * u)], axis=1)
        z = mean + rng.standard_normal((self.n, 2)) * np.sqrt(NOISE)
        s = np.array([[1.0, 0.1], [0.1, 0.01 * (1 + self.epsilon**2)]])
        values = {
            "mean": float(gaussian_tc(mean)), "sample": float(gaussian_tc(z)),
            "mean truth": _tc(s), "sample truth": _tc(s + np.diag(NOISE)),
        }  # fmt: skip
        return Record(values, {"mean": mean[:400].round(4).tolist(), "z": z[:400].round(4).tolist()})


def _tc(covariance: Any) -> float:
    return 0.5 * float(np.log(np.diag(covariance)).sum() - np.log(np.linalg.det(covariance)))


class TCBound(Study, kind="tc-bound"):
    """TC of the means grows without bound as they become dependent; TC of the noisy samples does not."""

    paper = "Cheng et al. 2020, Thm. 1, Fig. 1"
    scales = {
        "smoke": "500 points",
        "laptop": "20,000 points, 3 seeds",
        "paper": "20,000 points, 10 seeds",
    }

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """Ever more dependent means."""
        count = seeds or {"smoke": 1, "laptop": 3, "paper": 10}[scale]
        n = 500 if scale == "smoke" else 20_000
        return [Entry({"epsilon": e}, Cloud(seed, e, n)) for e in EPSILONS for seed in range(count)]

    def tables(self, rows: Sequence[Row]) -> list[Table]:
        """Estimates and closed forms."""
        columns = (
            Column("mean", "TC of means"), Column("mean truth", "the same, exact"),
            Column("sample", "TC of samples", digits=4), Column("sample truth", "the same, exact", digits=4),
        )  # fmt: skip
        return [table("Total correlation in nats", rows, ("epsilon",), columns)]

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """Both clouds at the smallest epsilon, as in Fig. 1; both TCs over epsilon."""
        from hatchel.report.style import ACCENT
        from hatchel.study.figures import grid_of, lines

        last = next((r for r in rows if r.labels["epsilon"] == EPSILONS[-1]), None)
        result: dict[str, Any] = {}
        if last is not None:

            def points(axes: Any, cloud: list[list[float]]) -> None:
                xy = np.array(cloud)
                axes.plot(xy[:, 0], xy[:, 1], "o", markersize=2.5, alpha=0.6, color=ACCENT, markeredgewidth=0)
                axes.set_xlim(-4, 4)
                axes.set_ylim(-4, 4)

            names = {f"means: TC {last.values['mean']:.2f}": last.details["mean"],
                     f"samples: TC {last.values['sample']:.4f}": last.details["z"]}  # fmt: skip
            result["The two clouds of Fig. 1"] = grid_of(names, points, across=2, height=2.5)
        turned = [Row({"-log10 epsilon": -math.log10(float(r.labels["epsilon"]))}, r.seed, r.digest, r.values,
                      r.details, r.seconds) for r in rows]  # fmt: skip
        result["TC as the means become dependent"] = lines(
            turned, "-log10 epsilon", {"mean": "of means", "sample": "of samples"}, "", ("-log10 epsilon", "TC, nats")
        )
        return result

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Theorem 1."""
        first, last = (where(rows, epsilon=e) for e in (EPSILONS[1], EPSILONS[-1]))
        means = [measured(g, "mean") for g in (first, last)]
        samples = [m for e in EPSILONS if (m := measured(where(rows, epsilon=e), "sample"))]
        if not means[0] or not means[1] or not samples:
            return []
        ceiling = _tc(np.array([[1.0, 0.1], [0.1, 0.01]]) + np.diag(NOISE))
        grown = means[1].value - means[0].value
        expected = math.log(EPSILONS[1] / EPSILONS[-1])
        return [
            Claim("TC of the means grows like -log epsilon.", abs(grown - expected) < 0.1,
                  f"by {grown:.2f} nats from epsilon {EPSILONS[1]} to {EPSILONS[-1]}, expected {expected:.2f}"),
            Claim("TC of the samples stays below its bound.", max(m.value for m in samples) < ceiling + 0.005,
                  f"at most {max(m.value for m in samples):.4f} nats, bound {ceiling:.4f}"),
        ]  # fmt: skip
