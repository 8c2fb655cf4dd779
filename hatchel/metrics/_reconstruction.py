"""Reconstruction error, in three named units."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score

TILE = 256
"""Images at a time."""


class Reconstruction(Metric):
    """-E log p(x|z) under a Bernoulli likelihood, in nats per image; MSE and BCE per pixel in the parts.

    BCE = -(x log p + (1 - x) log(1 - p)); logarithms are cut at -100, as torch's is. Lower is better.

    >>> import numpy as np
    >>> from hatchel.metrics import reconstruction
    >>> score = reconstruction(np.ones((3, 1, 2, 2)), np.full((3, 1, 2, 2), 0.5))
    >>> {k: round(v, 6) for k, v in score.parts.items()}
    {'bernoulli_nats_per_image': 2.772589, 'mse_per_pixel': 0.25, 'bce_per_pixel': 0.693147}
    """

    needs = ("images",)
    reads_codes = False
    lower_is_better = True

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        assert probe.images is not None
        images, rebuilt = probe.images
        if images.shape != rebuilt.shape:
            raise HatchelError(f"reconstruction: shapes differ: {images.shape} and {rebuilt.shape}")
        count, pixels = len(images), int(np.prod(images.shape[1:]))
        parts = [_sums(images[i : i + TILE], rebuilt[i : i + TILE]) for i in range(0, count, TILE)]
        entropy, squares = np.sum(parts, axis=0)
        named = {
            "bernoulli_nats_per_image": float(entropy / count),
            "mse_per_pixel": float(squares / count / pixels),
            "bce_per_pixel": float(entropy / count / pixels),
        }
        return self.result(probe, named["bernoulli_nats_per_image"], parts=named, n=count)


def _sums(images: NDArray[Any], rebuilt: NDArray[Any]) -> tuple[float, float]:
    x, p = images.astype(np.float64), rebuilt.astype(np.float64)
    for name, values in (("images", x), ("reconstructions", p)):
        if not ((values >= 0) & (values <= 1)).all():
            raise HatchelError(f"reconstruction: {name} must lie between 0 and 1 (probabilities, not logits)")
    with np.errstate(divide="ignore"):
        on, off = np.maximum(np.log(p), -100), np.maximum(np.log1p(-p), -100)
    return float(-(x * on + (1 - x) * off).sum()), float(((x - p) ** 2).sum())
