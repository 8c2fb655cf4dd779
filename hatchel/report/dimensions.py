"""Dimensions: what each variable of the code carries, follows and ranges over, and how well a line explains it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hatchel.data.factors import Factor, FactorSpace
from hatchel.latents.layout import Site, plain_layout
from hatchel.metrics import information as counting
from hatchel.metrics.information import Float, squared_correlations
from hatchel.metrics.metric import percentile_interval
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score

ACTIVE = 0.05
"""Nats: a dimension with less I(x; z_d) is drowned in its own noise, whatever its mean still knows."""
FOLLOWS = 0.1
"""The least share of a factor's entropy that a dimension must carry to be named after it."""
OWN_SHARE, OWN_R2, RIVAL = 0.5, 0.8, 0.5
"""A factor is in one dimension if that carries this share of its entropy, or explains this much of its variance, and
no other active one carries more than this part of what it does."""
FEW = 20
"""Rows below which a squared correlation is high by chance."""
RANGE = (0.02, 0.98)
"""Quantiles of the posterior means between which a dimension is traversed: beyond lie codes the decoder hardly saw."""


@dataclass(frozen=True)
class Dimensions:
    """The variables of a code, real coordinates and whole classes, with everything a page says about each."""

    information: Float  # (S,)  I(x; z_d) in nats
    low: Float  # (S,)  lower end of the traversal
    high: Float  # (S,)
    shares: Float | None = None  # (S, K)  I(z_d; v_k) / H(v_k); NaN for a factor that does not vary
    factors: tuple[str, ...] = ()
    variables: tuple[Site, ...] = ()
    """Left out: every number of the code is a coordinate."""

    @classmethod
    def of(cls, probe: Probe, information: Float, variables: Sequence[Site] = ()) -> Dimensions:
        """From codes and, where they are known, factors."""
        found = tuple(variables) or plain_layout(probe.dims).sites
        low, high = np.quantile(probe.codes, RANGE, axis=0)
        first = [s.columns[0] for s in found]
        # A class is not traversed along a line.
        whole = np.array([s.discrete for s in found])
        low, high = np.where(whole, 0.0, low[first]), np.where(whole, 1.0, high[first])
        if probe.values is None:
            return cls(information, low, high, variables=found)
        entropies = np.where(probe.entropies > 0, probe.entropies, np.nan)
        return cls(information, low, high, site_shares(probe, found) / entropies, probe.names, found)

    @property
    def sites(self) -> tuple[Site, ...]:
        """Where each lies in the code."""
        return self.variables or plain_layout(len(self.information)).sites

    @property
    def order(self) -> NDArray[np.int64]:
        """Numbers of the dimensions, the most informative first.

        >>> Dimensions(np.array([0.1, 2.0, 0.7]), np.zeros(3), np.ones(3)).order
        array([1, 2, 0])
        """
        return np.argsort(-self.information, kind="stable").astype(np.int64)

    @property
    def active(self) -> NDArray[np.int64]:
        """Those in the order that say anything about the input."""
        return self.order[self.information[self.order] >= ACTIVE]

    @property
    def real(self) -> NDArray[np.int64]:
        """Those in the order that are real coordinates."""
        return np.array([d for d in self.order.tolist() if not self.sites[d].discrete], dtype=np.int64)

    def column(self, d: int) -> int:
        """Where (or, of a class, from where on) a dimension lies in the code."""
        return self.sites[d].columns[0]

    def follows(self, d: int) -> str | None:
        """The factor of whose entropy an active dimension d carries the largest share, if that is worth a name.

        >>> shares = np.array([[0.02, 0.9], [0.04, 0.03]])
        >>> two = Dimensions(np.ones(2), np.zeros(2), np.ones(2), shares, ("x", "y"))
        >>> two.follows(0), two.follows(1)
        ('y', None)
        """
        if self.shares is None or d not in self.active or np.isnan(self.shares[d]).all():
            return None
        best = int(np.nanargmax(self.shares[d]))
        return self.factors[best] if self.shares[d, best] >= FOLLOWS else None

    def name(self, d: int) -> str:
        return self.sites[d].name

    def label(self, d: int) -> str:
        """`z3 · pos_x`, or `z3`."""
        factor = self.follows(d)
        return f"{self.name(d)} · {factor}" if factor else self.name(d)


def site_shares(probe: Probe, variables: Sequence[Site]) -> Float:
    """(S, K): I(z_d; v_k) in nats; a class is counted by its most probable value."""
    columns = probe.mutual_information()
    rows = [
        counting.mutual_information(probe.codes[:, list(s.columns)].argmax(axis=1)[:, None], probe.classes)[0]
        if s.discrete
        else columns[s.columns[0]]
        for s in variables
    ]
    return np.stack(rows)


def class_information(probabilities: NDArray[np.floating]) -> float:
    """I(x; c) = H(E_x p(c|x)) - E_x H(p(c|x)) of class probabilities (n, K), in nats.

    >>> round(class_information(np.eye(4)), 4), class_information(np.full((5, 4), 0.25))
    (1.3863, 0.0)
    """
    p = np.asarray(probabilities, dtype=np.float64)
    return max(0.0, float(_entropy(p.mean(axis=0)) - _entropy(p).mean()))


def site_information(found: Sequence[Site], codes: NDArray[np.floating], real: Sequence[float]) -> Float:
    """(S,): of the real coordinates the given numbers, in their order; of a class by its probabilities in `codes`."""
    numbers = iter(real)
    return np.array([class_information(codes[:, list(s.columns)]) if s.discrete else next(numbers) for s in found])


def _entropy(p: Float) -> Float:
    return -(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=-1)


@dataclass(frozen=True)
class Curve:
    """A dimension at each value of a factor that occurs."""

    at: Float  # (m,)
    mean: Float  # (m,)
    spread: Float  # (m,)


def curve(code: Float, factor: Float) -> Curve:
    """Mean and standard deviation of a dimension (n,) at each value of a factor (n,)."""
    present = np.unique(factor)
    groups = [code[factor == value] for value in present]
    mean, spread = (np.array([f(g) for g in groups], dtype=np.float64) for f in (np.mean, np.std))
    return Curve(present.astype(np.float64), mean, spread)


@dataclass(frozen=True)
class Fit:
    """One factor, and how well a line explains it by the active dimension that knows most of it."""

    factor: str
    dimension: int
    name: str
    """Of the dimension."""
    score: Score
    """R² of the factor given the dimension: their squared correlation."""
    curve: Curve
    """The dimension at each value of the factor."""
    explained: float = 0.0
    """Share of the dimension's variance between the values of the factor: 1 on any curve, bent back or not."""
    turned_by: str = ""
    """The other factor on whose value it depends most how the dimension follows this one."""
    within: float = 0.0
    """R² at one value of that factor, the mean over its values."""

    @property
    def note(self) -> str:
        """Why R² is low although the dimension follows the factor, if it does."""
        if self.score.value >= OWN_R2:
            return ""
        if self.within >= OWN_R2:
            how = f"in a direction that depends on {self.turned_by}: R² {self.within:.2f} at each value of that,"
            return f"{self.name} follows {self.factor} {how} {self.score.value:.2f} over all."
        if self.explained >= OWN_R2:
            how = f"explains {self.explained:.0%} of the dimension's variance, R² is {self.score.value:.2f}."
            return f"{self.name} follows {self.factor} on a curve that is not straight: its value {how}"
        return ""


def factor_grid(factor: Factor) -> Float:
    """What the indices of a factor stand for: its values, or for words and classes the indices themselves."""
    return np.arange(factor.size, dtype=np.float64) if factor.kind == "discrete" else factor.numbers


def factor_values(probe: Probe, space: FactorSpace, k: int) -> Float:
    """(n,): the value of factor k in every row."""
    return factor_grid(space.factors[k])[np.asarray(probe.values)[:, k].astype(np.int64)]


def r2_matrix(probe: Probe, space: FactorSpace, variables: Sequence[Site]) -> Float:
    """(S, K): R² of every factor and real coordinate (Cheng et al. 2020, Fig. 8); NaN for a class or a still factor."""
    result = np.full((len(variables), len(space.factors)), np.nan)
    real = [s for s, site in enumerate(variables) if not site.discrete]
    columns = [variables[s].columns[0] for s in real]
    for k in probe.varying if real else ():
        result[real, k] = squared_correlations(probe.codes[:, columns], factor_values(probe, space, int(k)))
    return result


def own_dimensions(dimensions: Dimensions, fitted: Sequence[Fit]) -> dict[str, int | None]:
    """The one active dimension in which each factor that varies is, or None; it must know no other factor better.

    >>> shares = np.array([[0.9, 0.1, 0.0], [0.1, 0.6, 0.4], [0.0, 0.5, 0.1]])
    >>> own_dimensions(Dimensions(np.ones(3), np.zeros(3), np.ones(3), shares, ("x", "y", "size")), ())
    {'x': 0, 'y': None, 'size': None}
    """
    if dimensions.shares is None:
        return {}
    known = np.zeros_like(dimensions.shares)
    known[dimensions.active] = dimensions.shares[dimensions.active]
    explained = {(fit.factor, fit.dimension): fit.score.value for fit in fitted}
    found: dict[str, int | None] = {}
    for k, factor in enumerate(dimensions.factors):
        if np.isnan(dimensions.shares[:, k]).all():
            continue
        best = int(known[:, k].argmax())
        rival = np.delete(known[:, k], best).max(initial=0.0)
        enough = known[best, k] >= OWN_SHARE or explained.get((factor, best), 0.0) >= OWN_R2
        own = enough and rival <= RIVAL * known[best, k] and int(np.nanargmax(known[best])) == k
        found[factor] = best if own else None
    return found


def fits(probe: Probe, space: FactorSpace | None, dimensions: Dimensions, seed: int, bootstrap: int) -> tuple[Fit, ...]:
    """One for every continuous factor that varies; the interval is for the dimension chosen on all rows.

    Chosen among the active dimensions: the mean of a collapsed one often still follows a factor by a trace, on which
    the decoder cannot act. Where none is active, as in an untrained network, among all.
    """
    if space is None or dimensions.shares is None or not len(dimensions.real):
        return ()
    found: list[Fit] = []
    active = np.intersect1d(dimensions.active, dimensions.real)
    eligible = active if len(active) else dimensions.real
    r2s = r2_matrix(probe, space, dimensions.sites)
    rng = np.random.default_rng(seed)
    for k, factor in enumerate(space.factors):
        if factor.kind != "continuous" or k not in probe.varying:
            continue
        values, r2 = factor_values(probe, space, k), r2s[:, k]
        # The one that the pictures name after it: a line may fit another one better, and yet hardly at all.
        best = int(eligible[dimensions.shares[eligible, k].argmax()])
        column = probe.codes[:, [dimensions.column(best)]]
        interval = None
        if bootstrap:
            rows = (rng.integers(probe.n, size=probe.n) for _ in range(bootstrap))
            draws = [squared_correlations(column[r], values[r])[0] for r in rows]
            interval = percentile_interval(float(r2[best]), np.array(draws), probe.n)
        score = Score(
            f"r2_{factor.name}", float(r2[best]), n=probe.n, seed=seed, interval=interval, replicates=bootstrap
        )
        shape = curve(column[:, 0], values)
        rest = ((column[:, 0] - shape.mean[np.searchsorted(shape.at, values)]) ** 2).mean()
        explained = 1 - float(rest / column.var()) if column.any() else 0.0
        other, within = _turned_by(probe, column, values, k)
        found.append(Fit(factor.name, best, dimensions.name(best), score, shape, explained, other, within))
    return tuple(found)


def _turned_by(probe: Probe, column: Float, values: Float, k: int) -> tuple[str, float]:
    """The other factor at whose single values a line fits best, with R² there; those with few rows a value are left."""
    found: dict[str, float] = {}
    codes = np.asarray(probe.values)
    for j in probe.varying:
        present, count = np.unique(codes[:, j], return_counts=True)
        if j != k and count.min() >= FEW:
            groups = (codes[:, j] == value for value in present)
            found[probe.names[j]] = float(np.mean([squared_correlations(column[g], values[g])[0] for g in groups]))
    return max(found.items(), key=lambda pair: pair[1], default=("", 0.0))
