"""InfoMEC: modularity, explicitness and compactness in terms of information."""

from __future__ import annotations

from typing import Any

import numpy as np

from hatchel.core.spec import Count, Share, local
from hatchel.metrics.information import Float, entropies, standardised
from hatchel.metrics.inputs import Labels
from hatchel.metrics.metric import Metric, Subsampling
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score
from hatchel.metrics.solvers import Engine
from hatchel.metrics.solvers.logistic import logistic_regression
from hatchel.metrics.solvers.neighbours import neighbour_information


class InfoMEC(Metric, kind="infomec"):
    """InfoM, InfoE and InfoC of Hsu et al. (2023, Eqs. 6-8); the headline is InfoM.

    With N_kd = I(v_k; z_d) / H(v_k), by nearest neighbours, and the latents whose range is too small left out,
    InfoM = (mean_d max_k N_kd / sum_k N_kd - 1/K) / (1 - 1/K),
    InfoC = (mean_k max_d N_kd / sum_d N_kd - 1/D) / (1 - 1/D),
    InfoE = mean_k 1 - (surprise of v_k given z by logistic regression) / (surprise without z),
    on the training rows. A latent without any information is left out of InfoM, where the reference has 0/0 = NaN.

    >>> import numpy as np
    >>> from hatchel.metrics import infomec
    >>> factors = np.random.default_rng(0).integers(3, size=(3000, 2))
    >>> score = infomec(factors + 0.0, factors)
    >>> {k: round(score.parts[k], 1) for k in ("infom", "infoe", "infoc")}
    {'infom': 1.0, 'infoe': 1.0, 'infoc': 1.0}
    """

    least_factors = 2
    fits = True
    interval = Subsampling(most=8, rows=3000)

    neighbours: Count = 10
    "Nearest neighbours of the information estimate."
    pruning: Share = 0.05
    "A latent is left out if its range is at most this share of the largest one."
    engine: Engine = local(default="hatchel")
    "Of the nearest neighbours and the regression: our own, or scikit-learn's."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        used, codes = probe.varying, probe.codes[probe.train]
        labels = probe.classes[probe.train][:, used]
        ranges = np.ptp(codes, axis=0)
        active = ranges > self.pruning * ranges.max()
        nmi = np.zeros((probe.dims, len(used)))
        nmi[active] = self._information(codes[:, active], labels, rng)
        nmi /= np.maximum(entropies(labels), np.finfo(float).tiny)
        pruned = nmi[active]
        explicit = {probe.names[k]: _explicit(codes, labels[:, i], self.engine) for i, k in enumerate(used)}
        parts = {
            "infom": _concentrated(pruned[pruned.sum(axis=1) > 0]),
            "infoe": float(np.mean(list(explicit.values()))),
            "infoc": _concentrated(pruned.T),
        }
        matrix = np.full((probe.dims, len(probe.names)), np.nan)
        matrix[:, used] = nmi
        notes: list[str] = []
        if not active.all():
            notes.append(f"range too small, left out: {', '.join(f'z{d}' for d in np.flatnonzero(~active))}")
        empty = np.flatnonzero(active & (nmi.sum(axis=1) == 0))
        if len(empty):
            notes.append(f"no information, left out of InfoM: {', '.join(f'z{d}' for d in empty)}")
        return self.result(
            probe, parts["infom"], parts=parts | {"explicitness": explicit}, matrix=matrix, n=len(codes), notes=notes
        )

    def _information(self, codes: Float, labels: Labels, rng: np.random.Generator) -> Float:
        if self.engine == "hatchel":
            return neighbour_information(codes, labels, self.neighbours, rng)
        from sklearn.feature_selection import mutual_info_classif  # slow to import

        options: dict[str, Any] = {
            "discrete_features": False,
            "n_neighbors": self.neighbours,
            "random_state": int(rng.integers(2**31)),
        }
        result = np.zeros((codes.shape[1], labels.shape[1]))
        for k, column in enumerate(labels.T):
            if codes.shape[1] and np.bincount(column).max() > 1:  # else it refuses, and there is nothing to count
                result[:, k] = mutual_info_classif(codes, column, **options)
        return result


def _concentrated(nmi: Float) -> float:
    """Mean over rows of the largest entry's share, from 0 (all equal) to 1; a row of zeros counts 0."""
    columns = nmi.shape[1]
    if not nmi.size:
        return 0.0
    if columns == 1:
        return float((nmi > 0).mean())
    total = nmi.sum(axis=1)
    share = np.where(total > 0, nmi.max(axis=1) / np.where(total > 0, total, 1), 1 / columns)
    return float((share.mean() - 1 / columns) / (1 - 1 / columns))


def _explicit(codes: Float, labels: Labels, engine: Engine) -> float:
    """1 - mean surprise / log K: class weights make every class as likely, so log K is the surprise without z."""
    seen, numbers = np.unique(labels, return_inverse=True)
    if len(seen) < 2:
        return 0.0
    standard = standardised(codes)[:, codes.std(axis=0) > 0]
    model = logistic_regression(standard, numbers, np.inf, balanced=True, engine=engine)
    probabilities = model.predict_proba(standard)
    own = np.maximum(probabilities[np.arange(len(numbers)), numbers], np.finfo(np.float64).eps)
    return float(1 + np.log(own).mean() / np.log(len(seen)))
