"""CascadeVAE: coordinates opened one after the other."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count, NonNegative, in_steps
from hatchel.latents.assigned import Assigned
from hatchel.latents.diagonal import Diagonal
from hatchel.methods.method import Method, Parts, Terms
from hatchel.objective.terms.elbo import KL, ClosedKL, Reconstruction


class CascadeVAE(Method):
    """rec + low sum_{d < j} KL_d + high sum_{d >= j} KL_d, j growing by stages; a class by alternating assignment."""

    paper = "Jeong & Song 2019"
    verified = "weights by stage; equals beta-VAE with all coordinates open or closed; assignments against brute force"

    low: NonNegative = 1.0
    """beta of the open coordinates."""
    high: NonNegative = 10.0
    """beta of the closed ones."""
    every: Count = in_steps(default=20_000)
    """Steps of a stage, after which one more coordinate opens."""
    first: Annotated[int, Ge(0)] = 1
    """Coordinates open from the start."""
    dim: Count = 10
    """Coordinates."""
    classes: Annotated[int, Ge(0)] = 0
    """Of the discrete variable (3 on dSprites, 10 on MNIST); 0: coordinates alone."""
    balance: NonNegative = 0.001
    """Price of every two items of a batch in one class."""
    warmup: Annotated[int, Ge(0)] = in_steps(default=20_000)
    """Steps before classes are assigned."""

    def check(self) -> None:
        if self.high < self.low:
            raise HatchelError(f"high: must be at least low, got {self.high:g} and {self.low:g}")
        if self.classes == 1:
            raise HatchelError("classes: must be 0 (no discrete variable) or at least 2, got 1")

    def terms(self) -> Terms:
        closed = ClosedKL(self.every, self.first)
        return {"rec": Reconstruction(), "kl": self.low * KL(), "closed": (self.high - self.low) * closed}

    def parts(self) -> Parts:
        over = Diagonal(self.dim)
        return {"latent": Assigned(over, self.classes, self.balance, self.warmup) if self.classes else over}
