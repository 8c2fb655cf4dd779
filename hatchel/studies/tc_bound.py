"""TC of means and of samples as the means become dependent: Theorem 1 and Fig. 1 of RTC-VAE."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hatchel.core.spec import Count, Positive
from hatchel.metrics import gaussian_tc
from hatchel.studies.common import RTC
from hatchel.study.claims import inside, of_each
from hatchel.study.frame import Frame, select, tasks, values
from hatchel.study.grid import Grid, Scale
from hatchel.study.study import Study, register
from hatchel.study.table import Column
from hatchel.study.task import Case, Result, Task, Workspace

EPSILONS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
NOISE = (0.01, 1.0)
"""Variances of z_1 and z_2 around their means: those of Fig. 1."""


class Cloud(Task):
    """mu = (t, 0.1 (t + epsilon u)), t, u ~ N(0, 1), z = mu + noise: Fig. 1 as epsilon -> 0."""

    epsilon: Positive
    """How far mu_2 is from a function of mu_1."""
    n: Count = 20_000
    """Points."""

    def compute(self, workspace: Workspace) -> Result:
        rng = np.random.default_rng(self.seed)
        t, u = rng.standard_normal((2, self.n))
        mean = np.stack([t, 0.1 * (t + self.epsilon * u)], axis=1)
        z = mean + rng.standard_normal((self.n, 2)) * np.sqrt(NOISE)
        s = np.array([[1.0, 0.1], [0.1, 0.01 * (1 + self.epsilon**2)]])
        found = {
            "mean": float(gaussian_tc(mean)), "sample": float(gaussian_tc(z)),
            "mean truth": _tc(s), "sample truth": _tc(s + np.diag(NOISE)),
        }  # fmt: skip
        return Result(found, {"mean": mean[:400].round(4).tolist(), "z": z[:400].round(4).tolist()})


def _tc(covariance: Any) -> float:
    return 0.5 * float(np.log(np.diag(covariance)).sum() - np.log(np.linalg.det(covariance)))


def bound_grid(scale: Scale) -> Grid:
    """Ever more dependent means."""
    n = 500 if scale == "smoke" else 20_000
    cases = tuple(Case({"epsilon": e}, Cloud(0, e, n)) for e in EPSILONS)
    return Grid(cases, {"smoke": 1, "laptop": 5, "paper": 10}[scale], f"{n:,} points")


def bound_figures(frame: Frame) -> dict[str, Any]:
    """Both clouds at the smallest epsilon, as in Fig. 1; both TCs over epsilon."""
    from hatchel.report.style import ACCENT
    from hatchel.study.figures import grid_of, lines

    def points(axes: Any, cloud: list[list[float]]) -> None:
        xy = np.array(cloud)
        axes.plot(xy[:, 0], xy[:, 1], "o", markersize=2.5, alpha=0.6, color=ACCENT, markeredgewidth=0)
        axes.set(xlim=(-4, 4), ylim=(-4, 4))

    result: dict[str, Any] = {}
    last = select(frame, epsilon=EPSILONS[-1])
    if len(last):
        run = last[last["task"] == last["task"].iloc[0]]
        details = tasks(run)["details"].iloc[0]
        names = {f"means: TC {values(run, 'mean')[0]:.2f}": details["mean"],
                 f"samples: TC {values(run, 'sample')[0]:.4f}": details["z"]}  # fmt: skip
        result["The two clouds of Fig. 1"] = grid_of(names, points, across=2, height=2.5)
    turned = frame.assign(**{"-log10 epsilon": [-math.log10(float(e)) for e in frame["epsilon"]]})
    result["TC as the means become dependent"] = lines(
        turned, "-log10 epsilon", {"mean": "of means", "sample": "of samples"}, "", ("-log10 epsilon", "TC, nats")
    )
    return result


CEILING = _tc(np.array([[1.0, 0.1], [0.1, 0.01]]) + np.diag(NOISE))


def rate(rows: Frame) -> float | None:
    """By how much TC of the means grows from the second to the last epsilon, to -log of their ratio."""
    first, last = (values(select(rows, epsilon=e), "mean") for e in (EPSILONS[1], EPSILONS[-1]))
    return (last[0] - first[0]) / math.log(EPSILONS[1] / EPSILONS[-1]) if first and last else None


def largest(rows: Frame) -> float | None:
    """Of the TCs of samples."""
    return max(values(rows, "sample"), default=None)


BOUND = (
    RTC("T1.means", "Theorem 1, Fig. 1", "TC of the means grows like -log epsilon (their ratio within 2 %, ours).",
        inside(of_each(rate), {}, 0.98, 1.02)),
    RTC("T1.samples", "Theorem 1, Fig. 1", f"TC of the samples stays below its bound of {CEILING:.4f} nats (and 0.005 "
        "of 20,000 points).", inside(of_each(largest), {}, high=CEILING + 0.005)),
)  # fmt: skip


register(Study(
    name="tc-bound",
    about="TC of the means grows without bound as they become dependent; TC of the noisy samples does not.",
    paper="Cheng et al. 2020, Thm. 1, Fig. 1",
    grid=bound_grid,
    title="Total correlation in nats",
    columns=(
        Column("mean", "TC of means"),
        Column("mean truth", "the same, exact"),
        Column("sample", "TC of samples", digits=4),
        Column("sample truth", "the same, exact", digits=4),
    ),
    figures=bound_figures,
    claims=BOUND,
))  # fmt: skip
