"""Sites: the variables that a code is made of, and how much each says about the input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from hatchel.metrics.information import Float
from hatchel.training.run import TrainedRun


@dataclass(frozen=True)
class Site:
    """One real coordinate, or one whole discrete variable."""

    name: str
    """`z3`; in a latent of named groups `z12 style`, or `z0-9 class` for the ten numbers of a class."""
    columns: tuple[int, ...]
    """Its numbers in the code."""
    group: str = "z"

    @property
    def discrete(self) -> bool:
        """A class takes one number for each of its values."""
        return len(self.columns) > 1


def plain_sites(count: int) -> tuple[Site, ...]:
    """Of a code whose every number is a coordinate.

    >>> [site.name for site in plain_sites(2)]
    ['z0', 'z1']
    """
    return tuple(Site(f"z{d}", (d,)) for d in range(count))


def sites(run: TrainedRun) -> tuple[Site, ...]:
    """Of a run's code, in its order."""
    with torch.inference_mode():
        device = next(run.model.parameters()).device
        q = run.model.encode(torch.zeros(1, *run.shape, device=device), run.steps)[0]
    numbers = torch.arange(run.spec.latent.width)[None]
    found: list[Site] = []
    for group, name in zip(q.groups, q.names, strict=True):
        for site in group:
            columns = tuple(int(c) for c in q.columns(numbers, (site,))[0])
            place = f"z{columns[0]}" if len(columns) == 1 else f"z{columns[0]}-{columns[-1]}"
            found.append(Site(place if len(q.names) == 1 and name == "z" else f"{place} {name}", columns, name))
    return tuple(sorted(found, key=lambda s: s.columns))


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
