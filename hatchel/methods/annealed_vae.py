"""AnnealedVAE: the KL held at a capacity that grows."""

from __future__ import annotations

from hatchel.core.spec import Count, NonNegative, in_steps
from hatchel.methods.method import Method, Terms
from hatchel.objective.terms.elbo import KL, Reconstruction
from hatchel.objective.weights import Capacity


class AnnealedVAE(Method):
    """rec + gamma |KL - C(t)|, C linear from `start` to `end` nats."""

    paper = "Burgess et al. 2018"
    verified = "the weight is gamma |KL - C(t)| at every step"

    gamma: NonNegative = 1000.0
    """How hard the KL is held at C."""
    start: NonNegative = 0.5
    """C at step 0."""
    end: NonNegative = 25.0
    """C after the climb."""
    climb: Count = in_steps(default=100_000)
    """Steps of the climb."""

    def terms(self) -> Terms:
        """Eq. 8 of the paper."""
        return {"rec": Reconstruction(), "kl": Capacity(self.gamma, self.start, self.end, self.climb) * KL()}
