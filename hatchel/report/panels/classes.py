"""The values of a discrete latent against a factor."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from hatchel.metrics import information
from hatchel.metrics._clustering import Clustering
from hatchel.metrics.information import Float
from hatchel.metrics.probe import Probe
from hatchel.report import figures
from hatchel.report.findings import Findings
from hatchel.report.panels.panel import Drawing, Panel


class Classes(Panel):
    """Which value of a discrete variable stands for which value of a factor."""

    title = "Classes and factors"
    place = 55

    def draw(self, found: Findings) -> Drawing | None:
        """Where the code has a class and factors are known."""
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
            drawn[f"classes_{number}" if len(sites) > 1 else "classes"] = figures.heat_map(shares, rows, labels)
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
