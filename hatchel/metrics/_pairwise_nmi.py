"""Normalised mutual information between dimensions."""

from __future__ import annotations

import numpy as np

from hatchel.core.errors import HatchelError, unknown
from hatchel.core.spec import Count
from hatchel.metrics import information
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score


class PairwiseNMI(Metric):
    """Mean over pairs of I(z_i; z_j) / sqrt(H(z_i) H(z_j)), of latents or of a layer's features (RecurD 2022, Fig. 1).

    The matrix holds all pairs. `mutual_information` in the parts is the mean of I(z_i; z_j) itself, in nats, the
    reference library's score. Lower is better: 0 where dimensions are independent in pairs.

    >>> import numpy as np
    >>> from hatchel.metrics import pairwise_nmi
    >>> x = np.array([0.0, 0.0, 1.0, 1.0]); y = np.array([0.0, 1.0, 0.0, 1.0])
    >>> pairwise_nmi(np.stack([x, y, 2 * x], axis=1)).matrix.round(6)
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """

    needs = ()
    accepts = ("features",)
    lower_is_better = True

    bins: Count = 20
    "Equal-width bins per dimension."
    layer: str | None = None
    "Name of the layer whose features are meant; the codes by default."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        labels = probe.binned(self.bins)
        if self.layer is not None:
            features = probe.features or {}
            if self.layer not in features:
                raise unknown("layer", self.layer, features, where="pairwise_nmi")
            labels = information.discretise(features[self.layer], self.bins)
        if labels.shape[1] < 2:
            raise HatchelError("pairwise_nmi: needs at least two dimensions")
        matrix, shared = information.normalised_information(labels)
        off = ~np.eye(len(matrix), dtype=np.bool_)
        return self.result(probe, matrix[off].mean(), parts={"mutual_information": shared[off].mean()}, matrix=matrix)
