"""Matrices: dimensions against factors as heat maps, and the values of a class against those of a factor."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from hatchel.metrics import information
from hatchel.metrics._clustering import Clustering
from hatchel.metrics.heat_map import draw_heat_map
from hatchel.metrics.information import Float
from hatchel.metrics.probe import Probe
from hatchel.report.dimensions import ACTIVE, FOLLOWS, Dimensions, r2_matrix
from hatchel.report.findings import Findings
from hatchel.report.panels.panel import Drawing, panel
from hatchel.report.panels.scores import LINES
from hatchel.report.style import NORMAL, SMALL, boxless, new_figure


@panel("Mutual information", place=20)
def mutual_information(found: Findings) -> Drawing | None:
    """Which dimension knows how much of which factor."""
    if found.dimensions.shares is None:
        return None
    caption = (
        "I(z_d; v_k) / H(v_k), the matrix behind MIG. Rows by information; a row is named after the factor of "
        f"which it carries most, if that is {FOLLOWS:.0%} or more and the dimension is active at all "
        f"(I(x; z_d) ≥ {ACTIVE}). The mean of an inactive dimension may still follow a factor, by far less than "
        "its noise; these scores count it."
    )
    return Drawing({"mutual_information": by_factor(found.dimensions, found.dimensions.shares)}, caption)


@panel("R²", place=21)
def r2(found: Findings) -> Drawing | None:
    """Which dimension explains how much of which factor on a straight line (Cheng et al. 2020, Fig. 8, left)."""
    space = found.run.data.space
    if space is None or found.dimensions.shares is None:
        return None
    caption = (
        "Squared correlation of each factor with each dimension: what a straight line explains. Of a factor "
        "without an order (a shape) the number of the value is taken, of a cyclic one its angle, so that low "
        "values there say little. Little here and much mutual information: a relation that is not a line."
    )
    matrix = r2_matrix(found.probe, space, found.dimensions.sites)
    return Drawing({"r2": by_factor(found.dimensions, matrix)}, caption)


@panel("Importance", place=22)
def importance(found: Findings) -> Drawing | None:
    """Which dimension a predictor of each factor relies on."""
    score = found.scores.get("dci")
    if score is None or score.matrix is None:
        return None
    caption = (
        "How much a predictor of the factor (gradient-boosted trees, DCI) relies on each dimension; each column "
        f"sums to 1. Disentanglement {score.parts['disentanglement']:.3f}, completeness "
        f"{score.parts['completeness']:.3f}, informativeness {score.parts['informativeness']:.3f}."
    )
    matrix = site_importance(score.matrix, [s.columns for s in found.dimensions.sites])
    return Drawing({"importance": by_factor(found.dimensions, matrix)}, caption)


def site_importance(matrix: Float, columns: list[tuple[int, ...]]) -> Float:
    """(D, K) -> (S, K): shares of one whole add up over the numbers of a class.

    >>> site_importance(np.array([[0.2], [0.3], [0.5]]), [(0, 1), (2,)]).tolist()
    [[0.5], [0.5]]
    """
    return np.stack([matrix[list(c)].sum(axis=0) for c in columns])


def heat_map(matrix: Float, rows: Sequence[str], columns: Sequence[str]) -> Figure:
    """Shares from 0 to 1, or correlations (D, K), a number in every cell; NaN stays empty."""
    figure = new_figure(0.27 * len(rows) + 0.5)
    axes = boxless(figure.subplots())
    draw_heat_map(axes, matrix, rows, columns, NORMAL if len(columns) <= 8 else SMALL - 2)
    return figure


def by_factor(dimensions: Dimensions, matrix: Float) -> Figure:
    """A matrix (S, K) of shares, rows by information and named after the factor they follow."""
    order = dimensions.order[:LINES]
    return heat_map(matrix[order], [dimensions.label(d) for d in order.tolist()], list(dimensions.factors))


@panel("Classes and factors", place=55)
def classes(found: Findings) -> Drawing | None:
    """Which value of a discrete variable stands for which value of a factor."""
    sites = [s for s in found.dimensions.sites if s.discrete]
    if not sites or found.dimensions.shares is None or not len(found.probe.varying):
        return None
    drawn: dict[str, Figure] = {}
    caption = "Share of each factor value's items that fall on each value of the class. "
    for number, site in enumerate(sites):
        probabilities = found.probe.codes[:, list(site.columns)]
        k = int(np.nanargmax(found.dimensions.shares[found.dimensions.sites.index(site)]))
        name, clusters = found.dimensions.factors[k], probabilities.argmax(axis=1)
        score = Clustering(name).score(
            Probe(found.probe.codes[:, :1], found.probe.values, names=found.probe.names, continuous=False,
                  clusters=clusters, seed=found.probe.seed)
        )  # fmt: skip
        caption += (
            f"{site.name} and {name}: clustering accuracy {score.value:.3f} (best one-to-one map), NMI "
            f"{score.parts['nmi']:.3f}; the top class has on average a probability of "
            f"{probabilities.max(axis=1).mean():.2f} (1 / {len(site.columns)} would be undecided). "
        )
        shares = class_shares(clusters, found.probe.classes[:, k], len(site.columns))
        labels = _values(found, k, shares.shape[1])
        rows = [f"class {i}" for i in range(len(shares))]
        drawn[f"classes_{number}" if len(sites) > 1 else "classes"] = heat_map(shares, rows, labels)
    return Drawing(drawn, caption.strip())


def class_shares(clusters: information.Labels, labels: information.Labels, count: int) -> Float:
    """(classes, values): columns sum to 1.

    >>> class_shares(np.array([0, 1, 1]), np.array([0, 0, 1]), 2).tolist()
    [[0.5, 0.0], [0.5, 1.0]]
    """
    table = np.zeros((count, int(labels.max()) + 1))
    np.add.at(table, (clusters, labels), 1)
    return table / np.maximum(table.sum(axis=0), 1)


def _values(found: Findings, k: int, count: int) -> list[str]:
    space = found.run.data.space
    assert space is not None
    present = np.unique(np.asarray(found.probe.values)[:, k].astype(np.int64))
    return [str(space.factors[k].values[i]) for i in present[:count]]
