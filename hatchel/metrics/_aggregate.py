"""The aggregate posterior q(z) = 1/J sum_j q(z|x_j), the exact sum over a stated number, and two metrics of it."""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hatchel.core.estimate import Estimate
from hatchel.core.spec import Count
from hatchel.metrics._dependence import dimensions, learnable
from hatchel.metrics.information import blocks
from hatchel.metrics.inputs import Float, Labels
from hatchel.metrics.metric import Bootstrap, Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score

Real = NDArray[Any]

DRAWS, POSTERIORS = 2_000, 10_000
"""Monte Carlo draws of z ~ q(z), and posteriors in the mixture, unless a metric is told otherwise."""

ENOUGH = 0.1
"""Nats by which a mixture with and without a draw's own posterior may differ."""


@dataclass(frozen=True)
class Aggregate:
    """Log-densities at S draws z_s ~ q(z|x_j(s)), under J posteriors that include their own."""

    seed: int
    rows: NDArray[np.int64]  # (J,)    rows of the probe in the mixture
    own: NDArray[np.int64]  # (S,)    position in `rows` of the posterior each draw came from
    draws: Float  # (S, D)  z
    given_x: Float  # (D, S)  log q(z_d | x)
    joint_given_x: Float  # (S,)    log q(z | x); the sum of the above where the noise is independent
    marginals: Float  # (D, S)  log q(z_d)

    @classmethod
    def of(cls, probe: Probe, rng: np.random.Generator, draws: int = DRAWS, posteriors: int = POSTERIORS) -> Aggregate:
        """Computed once for a probe, a seed and the two numbers, whichever metric asks first."""
        seed = int(rng.integers(2**63))
        return probe.once(("aggregate", seed, draws, posteriors), lambda: _compute(probe, seed, draws, posteriors))

    @property
    def notes(self) -> tuple[str, ...]:
        """How much the mixture can tell apart."""
        limit = f"I(x;z) cannot exceed log {len(self.rows)} = {np.log(len(self.rows)):.2f} nats"
        return (f"{len(self.draws)} draws under {len(self.rows)} posteriors: {limit}",)

    def joint(self, probe: Probe) -> Float:
        """(S,): log q(z), for the metrics that read it: of many dimensions it takes as long as all the rest."""
        mean, std = probe.codes, probe.std
        assert std is not None
        key = ("aggregate joint", self.seed, len(self.draws), len(self.rows))
        return probe.once(key, lambda: log_joint(mean[self.rows], std[self.rows], self.draws, probe.noise))

    def information(self, probe: Probe) -> Float:
        """(D, K): I(z_d; v_k) = E[log q(z_d | v_k) - log q(z_d)], the first a mixture over the rows with that value."""
        classes = probe.classes[self.rows]
        key = ("aggregate information", self.seed, len(self.draws), len(self.rows))
        return probe.once(key, lambda: self._information(probe, classes))

    def _information(self, probe: Probe, classes: Labels) -> Float:
        assert probe.std is not None
        mean, std = probe.codes[self.rows], probe.std[self.rows]
        result = np.zeros((probe.dims, classes.shape[1]))
        for k in range(classes.shape[1]):
            drawn = classes[self.own, k]
            for value in np.unique(drawn):
                inside, picked = classes[:, k] == value, drawn == value
                given = log_marginals(mean[inside], std[inside], self.draws[picked])
                result[:, k] += (given - self.marginals[:, picked]).sum(axis=1)
        return np.clip(result / len(self.draws), 0.0, probe.entropies)  # the draws' noise may lead out of the range


TILE = 2**21
"""Elements of the largest intermediate."""


def log_marginals(mean: Float, std: Float, z: Float) -> Float:
    """(D, S): log 1/J sum_j N(z_d; mean_jd, std_jd^2) of every dimension by itself, for draws z (S, D).

    Without logarithms inside the sum, since the draw's own posterior keeps it from vanishing, and in single precision
    where that is enough: within 1e-5 of `objective.estimators.mixture` at a tenth of the time, without torch.
    """
    tile = max(1, TILE // len(mean))
    kind = _precision(mean, std)
    result = np.empty((mean.shape[1], len(z)))
    for d in range(mean.shape[1]):
        weight = (1 / std[:, d]).astype(kind)  # (J,)
        for top in range(0, len(z), tile):
            term = _squares(z[top : top + tile, d], mean[:, d], std[:, d], kind)
            term *= -0.5
            np.exp(term, out=term)
            result[d, top : top + tile] = term @ weight
    return np.log(result / len(mean)) - 0.5 * np.log(2 * np.pi)


def log_joint(mean: Float, std: Float, z: Float, noise: Float | None = None) -> Float:
    """(S,): log 1/J sum_j N(z; mean_j, diag(std_j) R diag(std_j)) for draws z (S, D); R = `noise`, or the identity."""
    dims = mean.shape[1]
    tile = max(1, TILE // (len(mean) * (1 if noise is None else dims)))
    scale = np.log(std).sum(axis=1)  # (J,)
    result = np.empty(len(z))
    for top in range(0, len(z), tile):
        total = _distances(mean, std, z[top : top + tile], noise)
        total *= -0.5
        total -= scale.astype(total.dtype)
        largest = total.max(axis=1, keepdims=True)
        total -= largest
        np.exp(total, out=total)
        result[top : top + tile] = largest[:, 0] + np.log(total.sum(axis=1, dtype=np.float64))
    return result - np.log(len(mean)) - 0.5 * dims * np.log(2 * np.pi) - _half_log_det(noise)


def log_given(mean: Float, std: Float, z: Float, noise: Float | None = None) -> Float:
    """(S,): log N(z_s; mean_s, diag(std_s) R diag(std_s)), each draw under its own posterior."""
    scaled = (z - mean) / std
    if noise is not None:
        scaled = np.linalg.solve(np.linalg.cholesky(noise), scaled.T).T
    return (-0.5 * scaled**2 - np.log(std) - 0.5 * np.log(2 * np.pi)).sum(axis=1) - _half_log_det(noise)


def _distances(mean: Float, std: Float, z: Float, noise: Float | None) -> Real:
    """(S, J): squared Mahalanobis distance of every draw from every posterior."""
    kind = _precision(mean, std)
    if noise is not None:
        root = np.linalg.inv(np.linalg.cholesky(noise)).astype(kind)
        scaled = ((z[:, None, :] - mean) / std).astype(kind) @ root.T  # (S, J, D)
        return np.einsum("sjd,sjd->sj", scaled, scaled)
    total: Real = np.zeros((len(z), len(mean)), dtype=kind)
    for d in range(mean.shape[1]):
        total += _squares(z[:, d], mean[:, d], std[:, d], kind)
    return total


def _squares(values: Float, mean: Float, std: Float, kind: Any) -> Real:
    """(S, J): ((z - mean) / std)^2."""
    if kind is np.float64:  # means so far out that only the difference itself is exact
        return (np.subtract.outer(values, mean) / std) ** 2
    scaled = np.multiply.outer(values.astype(kind), (1 / std).astype(kind))
    scaled -= (mean / std).astype(kind)
    scaled *= scaled
    return scaled


def _precision(mean: Float, std: Float) -> Any:
    """Single precision, unless means lie so many deviations from 0 that their differences would drown in rounding."""
    return np.float32 if np.abs(mean / std).max() < 1e3 else np.float64


def _half_log_det(noise: Float | None) -> float:
    return 0.0 if noise is None else 0.5 * float(np.linalg.slogdet(noise)[1])


def _compute(probe: Probe, seed: int, draws: int, posteriors: int) -> Aggregate:
    rng = np.random.default_rng(seed)
    rows = np.arange(probe.n) if probe.n <= posteriors else rng.choice(probe.n, posteriors, replace=False)
    assert probe.std is not None
    mean, std = probe.codes[rows], probe.std[rows]
    own = rng.permutation(len(rows))[:draws] if draws <= len(rows) else rng.integers(len(rows), size=draws)
    z, noise = _drawn(probe, rows[own], rng)
    given_x = np.ascontiguousarray((-0.5 * noise**2 - np.log(std[own]) - 0.5 * np.log(2 * np.pi)).T)
    joint_given_x = log_given(mean[own], std[own], z, probe.noise)
    return Aggregate(seed, rows, own, z, given_x, joint_given_x, log_marginals(mean, std, z))


def _drawn(probe: Probe, rows: NDArray[np.int64], rng: np.random.Generator) -> tuple[Float, Float]:
    """(S, D): z ~ q(z|x) of the given rows, and the noise in them in deviations."""
    assert probe.std is not None
    noise = rng.standard_normal((len(rows), probe.dims))
    if probe.noise is not None:
        noise = noise @ np.linalg.cholesky(probe.noise).T
    drawn = probe.std[rows]
    drawn *= noise
    drawn += probe.codes[rows]
    return drawn, noise


def _drawn_of_all(probe: Probe, subset: list[int], rng: np.random.Generator) -> Float:
    """One draw of every row, the dimensions of `subset`; of many rows those that a density reads.

    Which they are is known once all are drawn, so the draws are made twice and not kept: (n, D) numbers of a million
    rows would be another copy of the codes.
    """
    from hatchel.metrics.solvers.density import some_rows  # imports torch, slow

    again = copy.deepcopy(rng)
    for rows in blocks(probe.n, probe.dims):
        rng.standard_normal((min(rows.stop, probe.n) - rows.start, probe.dims))
    chosen = some_rows(probe.n, rng)
    result = np.empty((len(chosen), len(subset)))
    for rows in blocks(probe.n, probe.dims):
        drawn = _drawn(probe, np.arange(rows.start, min(rows.stop, probe.n)), again)[0]
        here = (chosen >= rows.start) & (chosen < rows.stop)
        result[here] = drawn[chosen[here] - rows.start][:, subset]
    return result


class ELBOTerms(Metric):
    """KL(q(z|x) || N(0, I)) = I(x;z) + TC(z) + sum_d KL(q(z_d) || p(z_d)) (Chen et al. 2018, Eq. 2).

    In nats, with log q by the exact sum over the given posteriors; the value is the KL, the parts its three terms
    (`mutual_information`, `total_correlation`, `dimension_kl`) and I(x; z_d) of every dimension.

    >>> import numpy as np
    >>> from hatchel.metrics import elbo_terms
    >>> terms = elbo_terms(np.array([[-9.0], [9.0]]), np.ones((2, 1)))  # two codes that can be told apart
    >>> round(terms.parts["mutual_information"], 4)
    0.6931
    """

    needs = ("std",)
    accepts = ("noise",)
    interval = Bootstrap(most=8)
    lower_is_better = True

    draws: Count = DRAWS
    "Monte Carlo draws z ~ q(z)."
    posteriors: Count = POSTERIORS
    "Posteriors in the mixture q(z); all rows where there are fewer."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        q = Aggregate.of(probe, rng, self.draws, self.posteriors)
        joint = q.joint(probe)
        prior = -0.5 * (q.draws.T**2 + np.log(2 * np.pi))  # (D, S)
        per_dimension = (q.given_x - q.marginals).mean(axis=1)
        parts = {
            "mutual_information": float((q.joint_given_x - joint).mean()),
            "total_correlation": float((joint - q.marginals.sum(axis=0)).mean()),
            "dimension_kl": float((q.marginals - prior).sum(axis=0).mean()),
            "mutual_information_per_dimension": {f"z{d}": float(v) for d, v in enumerate(per_dimension)},
        }
        value = float((q.joint_given_x - prior.sum(axis=0)).mean())
        return self.result(probe, value, parts=parts, notes=q.notes)


class InformationIsolation(Metric):
    """I(z_S; x) - sum_{i in S} I(z_i; x): 0 where the dimensions of S inform about different things.

    Split Encoder 2019, Eq. 6. Computed as E_x KL(q(z_S|x) || prod q(z_i|x)) - KL(q(z_S) || prod q(z_i)): `conditional`
    and `marginal` in the parts. The first is 0 for independent noise and -1/2 log det R_S for noise with the
    correlation matrix R. The second comes from the exact sum over the given posteriors where these are enough: with a
    draw's own posterior in the sum it is too high, without it too low, and the two are to be within 0.1 nats (ours).
    Else, since that sum cannot see more than log N nats, it is `total_correlation` of one draw per row, unless that is
    below even the sum without own posteriors. `by` chooses one of them; the interval is that of the one chosen.
    `singly` are I(z_i; x), by the sum; `together` follows.

    >>> import numpy as np
    >>> from hatchel.metrics import information_isolation
    >>> same = np.repeat([[-9.0], [9.0]], 2, axis=1)  # two dimensions that carry the same bit
    >>> round(float(information_isolation(same, np.ones((2, 2)), by="mixture")), 3)  # log 2 - 2 log 2
    -0.693
    """

    needs = ("std",)
    accepts = ("noise",)
    interval = None

    subset: tuple[int, ...] | None = None
    "The dimensions S; all by default."
    by: Literal["either", "mixture", "density"] = "either"
    "What TC(z_S) comes from: the mixture of the given posteriors, a learned density, or the first where it is enough."
    draws: Count = DRAWS
    "Monte Carlo draws z ~ q(z) for the mixture."
    posteriors: Count = POSTERIORS
    "Posteriors in the mixture q(z); all rows where there are fewer."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        subset = dimensions(self.kind, probe, self.subset)
        q = Aggregate.of(probe, rng, self.draws, self.posteriors)
        (marginal, (low, high), own), notes = self._mixture(probe, q, subset), list(q.notes)
        if self.by == "density" or (self.by == "either" and own > ENOUGH):
            from hatchel.metrics.solvers.density import total_correlation  # imports torch, slow

            subset, more = learnable(self.kind, probe, subset)
            found = total_correlation(_drawn_of_all(probe, subset, rng), rng)
            if self.by == "density" or found.value > marginal - own:  # two lower bounds: the larger is nearer
                marginal, (low, high), notes = found.value, found.ends, more
        within = None if probe.noise is None else probe.noise[np.ix_(subset, subset)]
        conditional = 0.0 - _half_log_det(within)
        single = (q.given_x[subset] - q.marginals[subset]).mean(axis=1)
        value = conditional - marginal
        parts = {
            "together": value + float(single.sum()),
            "singly": {f"z{d}": float(v) for d, v in zip(subset, single, strict=True)},
            "conditional": conditional,
            "marginal": marginal,
        }
        score = self.result(probe, value, parts=parts, notes=notes)
        return dataclasses.replace(
            score, interval=Estimate(score.value, conditional - high, conditional - low, score.n)
        )

    def _mixture(self, probe: Probe, q: Aggregate, subset: list[int]) -> tuple[float, tuple[float, float], float]:
        """TC(z_S) by the sum over posteriors, its 95 % interval, and how much a draw's own posterior adds to it."""
        assert probe.std is not None
        if len(subset) == probe.dims:
            joint, given = q.joint(probe), q.joint_given_x
        else:
            within = None if probe.noise is None else probe.noise[np.ix_(subset, subset)]
            mean, std, z = probe.codes[q.rows][:, subset], probe.std[q.rows][:, subset], q.draws[:, subset]
            joint, given = log_joint(mean, std, z, within), log_given(mean[q.own], std[q.own], z, within)
        count = len(q.rows)
        share = np.exp(given - joint) / count  # of the sum that is the draw's own posterior
        alone = share > 1 - 1e-5  # the rest drowns in rounding
        own = np.inf
        if alone.mean() < 0.01:
            own = float(-np.log1p(-np.minimum(share, 1 - 1e-5)).mean() - np.log(count / (count - 1)))
        ratio = joint - q.marginals[subset].sum(axis=0)
        value, reach = float(ratio.mean()), 1.96 * float(ratio.std() / np.sqrt(len(ratio)))
        return value, (max(0.0, value - reach - max(0.0, own)), value + reach), own
