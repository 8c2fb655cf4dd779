"""Trace: what one forward pass over a batch yields, and terms read.

The words for the parts of a latent, here and everywhere:

- *site*: one random variable of the latent, a real coordinate or a whole discrete variable. Sites are numbered.
- *column of z*: one number of a code z (B, D). A real coordinate has one column, a variable of K classes has K.
- *group*: sites that belong together and have a name; a latent without named groups has the one group `z`.
- *level*: one of several latent spaces that a hierarchy has over the same sites (DeVAE); a step works on one of them.
- *layer*: an inner feature of the encoder; also a group of a top-down latent, which is drawn given the groups above it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from hatchel.core.cached import cached
from hatchel.core.errors import HatchelError
from hatchel.core.streams import generator
from hatchel.latents.posterior import Posterior
from hatchel.latents.prior import Prior


@dataclass(frozen=True)
class Batch:
    """What a training step works on (this rank's rows of it). A part that no term needs is None."""

    x: Tensor  # (B, ...)
    n_data: int
    """N, the size of the training set: minibatch estimators of log q(z) need it."""
    step: int = 0
    seed: int = 0
    independent: Tensor | None = None  # (B, ...): items of a second batch
    labelled: tuple[Tensor, Tensor] | None = None  # (M, ...) items whose factors are known, and those, (M, K)


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
    """One forward pass over a batch (this rank's rows of it). What only some terms read is computed when it is read."""

    batch: Batch
    log_px: Tensor  # (B,)   log p(x|z)
    q: Posterior
    p: Prior
    z: Tensor  # (B, D)
    level: int = 0
    """The level of a hierarchy that this step works on."""
    features: Mapping[str, Tensor] = field(default_factory=dict[str, Tensor])
    """Inner layers of the encoder by name, for terms that read them."""
    encode: Callable[[Tensor], Posterior] | None = None
    """q(z|x) of other items, at this step and level."""
    generate: Callable[[], Generated] | None = None
    """Makes items from codes of the prior."""

    @cached
    def z_independent(self) -> Tensor:
        """(B, D): codes of an independent batch, without gradient."""
        with torch.no_grad():
            q = self._encoded(self.batch.independent, "an independent batch")
            return q.rsample(generator(self.batch.seed, "independent noise", self.batch.step))

    @cached
    def labelled(self) -> tuple[Tensor, Tensor]:
        """Posterior means (M, D), with gradient, of items whose factors are known, and the factors (M, K)."""
        if self.batch.labelled is None:
            raise HatchelError("a term needs labelled items: set labels=500 in the run")
        x, factors = self.batch.labelled
        return self._encoded(x, "labelled items").mean, factors

    @cached
    def generated(self) -> Generated:
        """Items of the generator."""
        if self.generate is None:
            raise HatchelError("a term needs generated items: set latent=code_noise")
        return self.generate()

    def _encoded(self, x: Tensor | None, what: str) -> Posterior:
        if x is None or self.encode is None:
            raise HatchelError(f"a term needs {what}, and the batch has none")
        return self.encode(x)
