"""ControlVAE: the KL held at a set point by a controller."""

from __future__ import annotations

from hatchel.core.spec import Count, NonNegative, Positive
from hatchel.methods.method import Method, Terms
from hatchel.objective.terms.elbo import KL, Reconstruction
from hatchel.objective.weights import PI


class ControlVAE(Method):
    """rec + beta(t) KL, beta by a non-linear PI controller that holds the KL at a set point."""

    paper = "Shao et al. 2020"
    verified = "the controller reaches its set point; its state is in the checkpoint"

    target: Positive = 18.0
    """The set point in nats."""
    climb: Count = 100_000
    """Steps in which the set point grows to the target."""
    kp: NonNegative = 0.01
    """Proportional gain."""
    ki: NonNegative = 0.001
    """Integral gain."""

    def terms(self) -> Terms:
        """Eqs. 7-8 of the paper."""
        return {"rec": Reconstruction(), "kl": PI(target=self.target, steps=self.climb, kp=self.kp, ki=self.ki) * KL()}
