"""Clustering: a discrete latent against labels."""

from __future__ import annotations

import numpy as np

from hatchel.core.errors import unknown
from hatchel.metrics import information
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score


class Clustering(Metric):
    """Accuracy of the best one-to-one map from clusters to classes (Hungarian method), and NMI = 2 I / (H + H).

    >>> from hatchel.metrics import clustering
    >>> float(clustering([2, 2, 0, 0, 1, 1], [0, 0, 1, 1, 2, 2]))
    1.0
    """

    needs = ("clusters", "factors")
    reads_codes = False

    factor: str | None = None
    "The factor that holds the labels; the first that varies by default."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        from scipy.optimize import linear_sum_assignment

        name = self.factor or probe.names[probe.varying[0]]
        if name not in probe.names:
            raise unknown("factor", name, probe.names, where="clustering")
        assert probe.clusters is not None
        labels = probe.classes[:, probe.names.index(name)]
        clusters, _ = information.relabel(probe.clusters[:, 0])
        counts = information.contingency(clusters[:, None], labels)[0]  # (clusters, classes)
        rows, columns = linear_sum_assignment(counts, maximize=True)
        shared = float(information.mutual_information(clusters[:, None], labels[:, None])[0, 0])
        spread = float(information.entropy(counts.sum(axis=1)) + information.entropy(counts.sum(axis=0)))
        parts = {"accuracy": counts[rows, columns].sum() / probe.n, "nmi": 2 * shared / spread if spread > 0 else 0.0}
        return self.result(probe, parts["accuracy"], parts=parts)
