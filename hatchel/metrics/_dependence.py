"""Dependence between dimensions: total correlation as if codes were Gaussian and of any codes, information in pairs."""

from __future__ import annotations

import dataclasses

import numpy as np

from hatchel.core.errors import HatchelError, unknown
from hatchel.core.estimate import Estimate
from hatchel.core.spec import Count
from hatchel.metrics import information
from hatchel.metrics.inputs import Float
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score

FLOOR = 1e-12
"""Smallest eigenvalue of a correlation matrix that is told from 0."""
SIGNAL = 4.0
"""A dimension is active where its means' variance is as many times its noise."""
MOST = 32
"""Dimensions of which a density is learned."""
ROWS_PER_DIMENSION = 10
"""Fewer say nothing about a density."""


class GaussianTC(Metric):
    """TC = 1/2 (log det diag S - log det S), S the covariance (Locatello et al. 2019; Cheng et al. 2020, Prop. 1).

    The value is TC_mean, of the posterior means. `sample` in the parts is TC_sample, of the given samples, or else
    with S + diag E[std^2], which is their covariance. Where the deviations are known, `active_mean` and `active_sample`
    are the same over the `active` dimensions alone, those with Var[mu] > 4 E[std^2] (ours): a weak dimension's small
    means count in full in TC_mean. Also the Gaussian Wasserstein correlation of the means. Lower is better; dead
    dimensions are left out. In nats.

    >>> import numpy as np
    >>> from hatchel.metrics import gaussian_tc
    >>> x = np.array([-1.0, 1.0, -1.0, 1.0]); y = np.array([-1.0, -1.0, 1.0, 1.0])
    >>> round(float(gaussian_tc(np.stack([x, x + y], axis=1))), 6)  # correlation sqrt(1/2): -1/2 log(1 - 1/2)
    0.346574
    """

    needs = ()
    accepts = ("samples", "std")
    lower_is_better = True

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        covariance = information.covariance(probe.codes)
        value, singular = gaussian_total_correlation(covariance)
        wasserstein = wasserstein_correlation(covariance)
        scale = float(np.trace(covariance))
        parts = {
            "mean": value,
            "wasserstein": wasserstein,
            "wasserstein_normalised": wasserstein / scale if scale > 0 else 0.0,
        }
        noise = None if probe.std is None else information.mean_squares(probe.std)
        sampled = None if noise is None else covariance + np.diag(noise)
        if probe.samples is not None:
            sampled = information.covariance(probe.samples)
        if sampled is not None:
            parts["sample"] = gaussian_total_correlation(sampled)[0]
        if noise is not None and sampled is not None:
            active = np.flatnonzero(np.diag(covariance) > SIGNAL * noise)
            of_active = np.ix_(active, active)
            parts["active"] = float(len(active))
            parts["active_mean"] = gaussian_total_correlation(covariance[of_active])[0]
            parts["active_sample"] = gaussian_total_correlation(sampled[of_active])[0]
        notes = ["dimensions determine each other: the true value is infinite"] if singular else []
        return self.result(probe, value, parts=parts, notes=notes)


class TotalCorrelation(Metric):
    """TC = KL(p(z) || prod_d p(z_d)) of any codes, linear dependence or not, in nats. Ours; lower is better.

    The sum of two parts: `copula`, the Gaussian TC of the codes with every dimension made normal by its ranks, and
    `residual`, what a density learned on two thirds of the rows sees beyond it on the others. The second is a lower
    bound, so the interval (from the `standard_error`, and upwards also from the `bias` that a fit to half of the rows
    shows) reaches further up. `gaussian` is the TC of the codes as they are, as in `gaussian_tc`: low with a high
    residual where dimensions are uncorrelated and dependent (Cheng et al. 2020, Sec. 6.2). Of more than 32 dimensions
    the active ones are meant, where deviations tell which they are.

    >>> import numpy as np
    >>> from hatchel.metrics import total_correlation
    >>> turn = np.random.default_rng(0).uniform(0, 7, 2000)
    >>> ring = total_correlation(np.stack([np.cos(turn), np.sin(turn)], axis=1))
    >>> ring.parts["gaussian"] < 0.02, ring.value > 1
    (True, True)
    """

    needs = ()
    accepts = ("std",)
    interval = None
    lower_is_better = True

    subset: tuple[int, ...] | None = None
    "The dimensions; all by default."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        from hatchel.metrics.solvers.density import total_correlation  # imports torch, slow

        index, notes = learnable(self.kind, probe, dimensions(self.kind, probe, self.subset))
        codes = probe.codes if index == list(range(probe.dims)) else probe.codes[:, index]
        found = total_correlation(codes, rng)
        gaussian, singular = gaussian_total_correlation(information.covariance(codes))
        parts = {
            "copula": found.copula, "residual": found.residual, "gaussian": gaussian,
            "standard_error": found.standard_error, "bias": found.bias,
        }  # fmt: skip
        notes += ["dimensions determine each other: the true value is infinite"] if singular else []
        score = self.result(probe, found.value, parts=parts, notes=notes)
        return dataclasses.replace(score, interval=Estimate(score.value, *found.ends, score.n))


def dimensions(kind: str, probe: Probe, subset: tuple[int, ...] | None) -> list[int]:
    """The named dimensions, or all."""
    chosen = list(range(probe.dims) if subset is None else subset)
    if not chosen or len(set(chosen)) < len(chosen) or not all(0 <= d < probe.dims for d in chosen):
        raise HatchelError(f"{kind}: subset {subset}: expected dimensions 0 to {probe.dims - 1}, each once")
    return chosen


def learnable(kind: str, probe: Probe, chosen: list[int]) -> tuple[list[int], list[str]]:
    """The dimensions, of those chosen, of which a density can be learned, and what a reader must know of that."""
    notes: list[str] = []
    if len(chosen) > MOST and probe.std is not None:
        spread = information.variances(probe.codes) * probe.n / max(1, probe.n - 1)
        active = spread > SIGNAL * information.mean_squares(probe.std)
        notes = [f"over the {active[chosen].sum()} active dimensions of {len(chosen)} alone"]
        chosen = [d for d in chosen if active[d]]
    if len(chosen) > MOST:
        kept = "" if probe.std is None else "active "
        raise HatchelError(f"{kind}: {len(chosen)} {kept}dimensions, at most {MOST} can be read; set subset to fewer")
    if probe.n < ROWS_PER_DIMENSION * len(chosen):
        enough = ROWS_PER_DIMENSION * len(chosen)
        raise HatchelError(f"{kind}: {probe.n} rows of {len(chosen)} dimensions; give at least {enough} rows")
    return chosen, notes


def gaussian_total_correlation(covariance: Float) -> tuple[float, bool]:
    """-1/2 log det of the correlation matrix, and whether that is singular (then the log is of FLOOR)."""
    deviation = np.sqrt(np.diag(covariance))
    alive = deviation > 0
    if not alive.any():
        return 0.0, False
    correlation = covariance[np.ix_(alive, alive)] / np.outer(deviation[alive], deviation[alive])
    eigenvalues = np.linalg.eigvalsh(correlation)
    singular = bool(eigenvalues[0] < FLOOR)
    return max(0.0, float(-0.5 * np.log(np.maximum(eigenvalues, FLOOR)).sum())), singular


def wasserstein_correlation(covariance: Float) -> float:
    """W2² between N(0, S) and N(0, T), T = diag S: 2 tr S - 2 tr (T^1/2 S T^1/2)^1/2."""
    root = np.sqrt(np.diag(covariance))
    eigenvalues = np.linalg.eigvalsh(covariance * np.outer(root, root))
    return float(2 * np.trace(covariance) - 2 * np.sqrt(np.maximum(eigenvalues, 0.0)).sum())


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
