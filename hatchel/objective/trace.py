"""Trace: what one forward pass over a batch yields, and terms read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import Tensor

from hatchel.latents.posterior import Posterior


@dataclass(frozen=True)
class Labelled:
    """Items whose factors are known, a small batch of its own (this rank's rows of it)."""

    mean: Tensor  # (M, D), with gradient
    factors: Tensor  # (M, K), as numbers


@dataclass(frozen=True)
class Generated:
    """Items made from codes of the prior, as many as the batch has, and what the encoder reads off them."""

    x: Tensor  # (B, ...), with gradient
    q: Posterior
    """Of these items."""
    code: Tensor  # (B, D)
    entropy: float
    """Of the prior of the code, in nats."""


@dataclass(frozen=True)
class Trace:
    """One forward pass over a batch (this rank's rows of it)."""

    x: Tensor  # (B, ...)
    log_px: Tensor  # (B,)   log p(x|z)
    q: Posterior
    z: Tensor  # (B, D)
    n_data: int
    """N, the size of the training set: minibatch estimators of log q(z) need it."""
    step: int = 0
    seed: int = 0
    z_independent: Tensor | None = None  # (B, D)
    """Codes of an independent batch, drawn only where an estimator asks for one; without gradient."""
    features: Mapping[str, Tensor] = field(default_factory=dict[str, Tensor])
    """Inner layers of the encoder, for terms that look at them."""
    labelled: Labelled | None = None
    """Encoded only where a term asks for labels."""
    generated: Generated | None = None
    """Made only where a term asks for it."""
