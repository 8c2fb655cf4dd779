"""Sites: the variables that a code is made of, and how much each says about the input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hatchel.latents.layout import Site, plain_layout
from hatchel.metrics.information import Float
from hatchel.training.run import TrainedRun


def plain_sites(count: int) -> tuple[Site, ...]:
    """Of a code whose every number is a coordinate.

    >>> [site.name for site in plain_sites(2)]
    ['z0', 'z1']
    """
    return plain_layout(count).sites


def sites(run: TrainedRun) -> tuple[Site, ...]:
    """Of a run's code, in its order."""
    return run.spec.latent.layout.sites


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
