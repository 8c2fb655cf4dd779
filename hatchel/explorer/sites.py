"""Sites: what the page offers a slider (a real coordinate) or a row of buttons (a discrete variable) for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.latents.layout import Layout
from hatchel.metrics import information
from hatchel.metrics._elbo_terms import ELBOTerms
from hatchel.metrics.probe import Probe
from hatchel.report.dimensions import ACTIVE, FOLLOWS, Dimensions

Codes = NDArray[np.float32]

REACH = 100.0
"""How many widths of its range beyond the middle a real coordinate may be sent: further out are typing mistakes."""

DENSITIES = 400_000_000
"""Log-densities of one coordinate that are evaluated at most for I(x; z_d), some seconds' worth."""


@dataclass(frozen=True)
class Site:
    """One latent site: its columns of the code, the range the data take there, what it says and about what."""

    name: str
    columns: tuple[int, ...]
    """One for a real coordinate, one a class for a discrete variable."""
    low: float
    high: float
    information: float
    """I(x; site) in nats."""
    follows: str | None = None
    """The factor it carries most of, if any is worth a name."""

    @property
    def real(self) -> bool:
        """A coordinate, not a choice of classes."""
        return len(self.columns) == 1

    @property
    def bounds(self) -> tuple[float, float]:
        """What a request may ask for.

        >>> Site("z0", (0,), -1, 1, 0.5).bounds
        (-200.0, 200.0)
        """
        if not self.real:
            return 0.0, 1.0
        middle, width = (self.low + self.high) / 2, max(self.high - self.low, 1.0)
        return middle - REACH * width, middle + REACH * width

    def to_dict(self) -> dict[str, Any]:
        """For the page."""
        return {
            "name": self.name,
            "columns": list(self.columns),
            "low": self.low,
            "high": self.high,
            "information": self.information,
            "follows": self.follows,
            "active": self.information >= ACTIVE,
        }


def sites(
    layout: Layout, mean: Codes, std: Codes, factors: NDArray[Any] | None, names: Sequence[str] | None, seed: int = 0
) -> tuple[Site, ...]:
    """Every site of a latent, the most informative first.

    `mean` and `std` (n, D) are those of n items.
    """
    columns = [site.columns for site in layout.sites]
    labels = _labels(layout)
    real = [c[0] for c in columns if len(c) == 1]
    found: dict[tuple[int, ...], Site] = {}
    if real:
        probe = _probe(mean[:, real], std[:, real], factors, names, seed)
        parts = _terms(probe).score(probe, seed).parts["mutual_information_per_dimension"]
        dimensions = Dimensions.of(probe, np.array(list(parts.values())))
        for d, column in enumerate(real):
            low, high = float(dimensions.low[d]), float(dimensions.high[d])
            if high - low < 1e-3:  # a dead coordinate still needs a slider that can be moved
                low, high = low - 0.5, high + 0.5
            found[(column,)] = Site(
                labels[(column,)], (column,), low, high, float(dimensions.information[d]), dimensions.follows(d)
            )
    for c in columns:
        if len(c) > 1:
            known = class_information(mean[:, list(c)])
            followed = _followed(mean[:, list(c)], factors, names) if known >= ACTIVE else None
            found[c] = Site(labels[c], c, 0.0, 1.0, known, followed)
    return tuple(sorted(found.values(), key=lambda site: -site.information))


def class_information(probabilities: Codes) -> float:
    """I(x; c) = H(E_x p(c|x)) - E_x H(p(c|x)) in nats, from p(c|x) of n items: (n, K).

    >>> round(class_information(np.eye(4, dtype=np.float32)), 4)  # four items, each its own class: log 4
    1.3863
    """
    p = probabilities.astype(np.float64)

    def entropy(q: NDArray[np.float64]) -> NDArray[np.float64]:
        return -(q * np.log(np.maximum(q, 1e-300))).sum(axis=-1)

    return float(max(0.0, entropy(p.mean(axis=0)) - entropy(p).mean()))


def _terms(probe: Probe) -> ELBOTerms:
    """The report's estimate; of a thousand dimensions with fewer draws and posteriors, or the page would open late."""
    usual = ELBOTerms()
    pairs = DENSITIES // probe.dims
    if usual.draws * min(usual.posteriors, probe.n) <= pairs:
        return usual
    draws = min(usual.draws, math.isqrt(pairs))
    return ELBOTerms(draws, pairs // draws)


def _probe(mean: Codes, std: Codes, factors: NDArray[Any] | None, names: Sequence[str] | None, seed: int) -> Probe:
    try:
        return Probe(mean, factors, names=names, continuous=None if factors is None else False, std=std, seed=seed)
    except HatchelError:  # too few items to count their factors: the sliders then go without their names
        return Probe(mean, std=std, seed=seed)


def _followed(probabilities: Codes, factors: NDArray[Any] | None, names: Sequence[str] | None) -> str | None:
    """The factor of whose entropy the most probable class carries the largest share."""
    if factors is None or names is None:
        return None
    labels = np.stack([information.relabel(column)[0] for column in factors.T], axis=1)
    classes = probabilities.argmax(axis=1)[:, None]
    entropies = information.entropies(labels)
    shares = np.where(
        entropies > 0, information.mutual_information(classes, labels)[0] / np.maximum(entropies, 1e-12), 0
    )
    best = int(shares.argmax())
    return names[best] if shares[best] >= FOLLOWS else None


def _labels(layout: Layout) -> dict[tuple[int, ...], str]:
    """`z3` alone, `style z3` in a named group, `class` (or `class 2`) for a discrete variable."""
    named = len(layout.groups) > 1
    result: dict[tuple[int, ...], str] = {}
    for site in layout.sites:
        if site.discrete:
            choices = [s.columns for s in layout.sites if s.group == site.group and s.discrete]
            result[site.columns] = (
                site.group if len(choices) == 1 else f"{site.group} {choices.index(site.columns) + 1}"
            )
        else:
            result[site.columns] = f"{site.group} z{site.columns[0]}" if named else site.name
    return result
