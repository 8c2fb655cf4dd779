"""Reconstruction error, at samples of q(z|x) and at its mean."""

from __future__ import annotations

import numpy as np

from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score


class Reconstruction(Metric):
    """-E_q log p(x|z) in nats per item; lower is better.

    Of a run: under its own likelihood, at one z ~ q(z|x) for every item (`at_samples`, the value) and at the mean of
    q(z|x) (`at_mean`); of images also the mean squared error per pixel of E[x|z], at both. Of images and
    reconstructions: under a Bernoulli likelihood, BCE = -(x log p + (1 - x) log(1 - p)) summed over pixels, with
    logarithms cut at -100, as torch's are. `floor`: the Bernoulli entropy of the images themselves, which grey values
    have and no reconstruction can undercut; `above_floor`: the value less that.

    >>> import numpy as np
    >>> from hatchel.metrics import reconstruction
    >>> score = reconstruction(np.ones((3, 1, 2, 2)), np.full((3, 1, 2, 2), 0.5))
    >>> {k: round(v, 4) for k, v in score.parts.items() if "floor" not in k}
    {'bernoulli_nats_per_image': 2.7726, 'mse_per_pixel': 0.25, 'bce_per_pixel': 0.6931}
    """

    needs = ("errors",)
    reads_codes = False
    lower_is_better = True

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        assert probe.errors is not None
        parts = {name: float(values.mean()) for name, values in probe.errors.items()}
        value = next(iter(parts.values()))
        if "floor" in parts:
            parts["above_floor"] = value - parts["floor"]
        return self.result(probe, value, parts=parts, n=len(next(iter(probe.errors.values()))))
