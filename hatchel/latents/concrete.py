"""The Concrete distribution: a class relaxed to a point of the simplex (Maddison et al. 2017; Jang et al. 2017).

A draw z of K classes is always relaxed; its density has three forms, of which every term uses the same:

- `relaxed`: the Concrete density of z itself. KL(q||p) is a bound, but K^2 / (K + 1) times the categorical one near
  equal probabilities (9.1 for ten classes) and unbounded for certain ones, so that the classes stay unused.
- `pmf`: log p_k at the largest z_k, as in the authors' library of HFVAE. The largest is an exact draw of the class, so
  means are those of the categorical distribution; but no gradient passes through the choice, and that of a term in the
  class alone is 0 in the mean.
- `soft`: sum_k z_k log p_k, which equals `pmf` where z is one-hot and is differentiable. It trains best and is no
  bound: a value to report comes from `pmf` or from the exact sum over classes.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any, Literal, Self

import torch
from torch import Tensor
from torch.nn import functional as F

from hatchel.core.spec import Count, Positive, Spec, in_steps
from hatchel.core.streams import scheduled
from hatchel.latents.posterior import unrounded

Form = Literal["relaxed", "soft", "pmf"]
"""Of the density of a relaxed class."""
DEPTH = 80.0
"""log z_k is cut at -DEPTH / max(1, temperature): e^-80 is the last power with room to spare in float32.

So log-probabilities that lie more than DEPTH * temperature nats apart look alike to the densities: 53 at 0.66, but 8 at
0.1, where one should anneal no further.
"""


class Temperature(Spec):
    """lambda(t): constant, or falling by a constant factor a step from `start` to `end`. A number is a constant.

    >>> [round(Temperature(1.0, 0.25, 100).at(t), 3) for t in (0, 50, 100, 500)]
    [1.0, 0.5, 0.25, 0.25]
    """

    start: Positive = 0.66
    """At step 0: 0.66 in Esmaeili et al. 2019."""
    end: Positive | None = None
    """After `steps`; left out: as at the start."""
    steps: Count = in_steps(default=10_000)
    """Length of the way."""

    @classmethod
    def coerce(cls, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return super().coerce(value)
        return cls(value)

    def shortened(self, steps: int, of: int, keep: Collection[str] = (), path: str = "") -> Self:
        return self if self.end is None else super().shortened(steps, of, keep, path)

    def at(self, step: int | None) -> float:
        """lambda at a step; None is where the schedule ends."""
        end = self.start if self.end is None else self.end
        share = 1.0 if step is None else min(1.0, step / self.steps)
        return self.start ** (1 - share) * end**share

    def now(self, step: int | None) -> float | Tensor:
        """The same; while torch compiles a training step, a tensor () if it changes."""
        if self.end is None:
            return self.start if torch.compiler.is_compiling() else self.at(step)
        return scheduled(self.at, step)


def floor(temperature: float | Tensor) -> float | Tensor:
    """The smallest log z_k that is told apart: below it exp(-lambda log z) would leave float32."""
    return -DEPTH / (temperature.clamp_min(1.0) if isinstance(temperature, Tensor) else max(1.0, temperature))


def log_simplex(z: Tensor, temperature: float | Tensor) -> Tensor:
    """log z, with the coordinates that underflowed at the floor."""
    least = floor(temperature)
    return z.clamp_min(least.exp() if isinstance(least, Tensor) else math.exp(least)).log()


def draw(logits: Tensor, temperature: float | Tensor, exponentials: Tensor) -> Tensor:
    """z = softmax((log alpha + g) / lambda), g = -log E Gumbel for E ~ Exp(1) (Maddison et al., Sec. 3.1)."""
    gumbels = -exponentials.clamp_min(torch.finfo(exponentials.dtype).tiny).log()
    log_z = ((logits + gumbels) / temperature).log_softmax(-1)
    return log_z.clamp_min(floor(temperature)).exp()


def log_prob(z: Tensor, logits: Tensor, temperature: float | Tensor, form: Form) -> Tensor:
    """log p(z) for log-probabilities over the last axis of K classes, row by row."""
    if form == "relaxed":
        return log_density(log_simplex(z, temperature), logits, temperature)
    return (_chosen(z, form) * logits).sum(-1)


def cross_log_prob(z: Tensor, logits: Tensor, temperature: float | Tensor, form: Form) -> Tensor:
    """The same of every point (R, K) under all log-probabilities (B, K): (R, B)."""
    if form == "relaxed":
        return cross_log_density(log_simplex(z, temperature), logits, temperature)
    with unrounded(z):
        return _chosen(z, form) @ logits.T


def _chosen(z: Tensor, form: Form) -> Tensor:
    return F.one_hot(z.argmax(-1), z.shape[-1]).to(z) if form == "pmf" else z


def log_density(log_z: Tensor, logits: Tensor, temperature: float | Tensor) -> Tensor:
    """log p(z) on the simplex (Maddison et al., Eq. 10), for the last axes of K classes, row by row.

    log Gamma(K) + (K - 1) log lambda + sum_k (log alpha_k - (lambda + 1) log z_k)
    - K log sum_k alpha_k z_k^-lambda.
    """
    classes = logits.shape[-1]
    total = (logits - (temperature + 1) * log_z).sum(-1)
    return _constant(classes, temperature) + total - classes * (logits - temperature * log_z).logsumexp(-1)


def cross_log_density(log_z: Tensor, logits: Tensor, temperature: float | Tensor) -> Tensor:
    """The same of every point (R, K) under every alpha (B, K): (R, B).

    The sum over classes is one matrix product: with log z >= -DEPTH / max(1, lambda) its largest summand is at least
    e^-DEPTH of the product of the row's and the column's largest factor, so nothing that counts is lost.
    """
    classes = logits.shape[1]
    rows, columns = -temperature * log_z, logits
    top, left = rows.amax(1, keepdim=True).detach(), columns.amax(1, keepdim=True).detach()
    with unrounded(log_z):
        log_sum = ((rows - top).exp() @ (columns - left).exp().T).log() + top + left.T
    own = _constant(classes, temperature) - (temperature + 1) * log_z.sum(1)
    return own[:, None] + logits.sum(1)[None, :] - classes * log_sum


def _constant(classes: int, temperature: float | Tensor) -> float | Tensor:
    log = temperature.log() if isinstance(temperature, Tensor) else math.log(temperature)
    return math.lgamma(classes) + (classes - 1) * log
