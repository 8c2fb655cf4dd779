"""Reconstruction error, in three named units."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from hatchel.errors import HatchelError
from hatchel.metrics.inputs import Seed
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score


class Reconstruction(Metric):
    """-E log p(x|z) under a Bernoulli likelihood, in nats per image; MSE and BCE per pixel in the parts.

    BCE = -(x log p + (1 - x) log(1 - p)); logarithms are cut at -100, as torch's is. Lower is better.
    """

    needs: ClassVar[tuple[str, ...]] = ("images",)
    lower_is_better: ClassVar[bool] = True

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        """See the class."""
        assert probe.images is not None
        images, rebuilt = (a.reshape(len(a), -1).astype(np.float64) for a in probe.images)
        if images.shape != rebuilt.shape:
            raise HatchelError(f"reconstruction: shapes differ: {probe.images[0].shape} and {probe.images[1].shape}")
        for name, values in (("images", images), ("reconstructions", rebuilt)):
            if not ((values >= 0) & (values <= 1)).all():
                raise HatchelError(f"reconstruction: {name} must lie between 0 and 1 (probabilities, not logits)")
        with np.errstate(divide="ignore"):
            on, off = np.maximum(np.log(rebuilt), -100), np.maximum(np.log1p(-rebuilt), -100)
        entropy = -(images * on + (1 - images) * off)
        parts = {
            "bernoulli_nats_per_image": float(entropy.sum(axis=1).mean()),
            "mse_per_pixel": float(((images - rebuilt) ** 2).mean()),
            "bce_per_pixel": float(entropy.mean()),
        }
        return self.result(probe, parts["bernoulli_nats_per_image"], parts=parts)


def reconstruction(images: Any, rebuilt: Any, *, seed: Seed = 0, bootstrap: int = 0) -> Score:
    """Error between images and their reconstructions, both (n, ...) in [0, 1]; see Reconstruction.

    >>> score = reconstruction(np.ones((3, 1, 2, 2)), np.full((3, 1, 2, 2), 0.5))
    >>> {k: round(v, 6) for k, v in score.parts.items()}
    {'bernoulli_nats_per_image': 2.772589, 'mse_per_pixel': 0.25, 'bce_per_pixel': 0.693147}
    """
    return Reconstruction().score(Probe(np.zeros((len(images), 1)), images=(images, rebuilt)), seed, bootstrap)
