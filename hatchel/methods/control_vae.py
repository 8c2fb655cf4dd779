"""ControlVAE: the KL held at a set point by a controller."""

from __future__ import annotations

from hatchel.methods.method import Method, Terms
from hatchel.objective.terms.elbo import KL, Reconstruction
from hatchel.objective.weights import PI


class ControlVAE(Method):
    """rec + beta(t) KL, beta by a non-linear PI controller that holds the KL at a set point."""

    paper = "Shao et al. 2020"
    verified = "the controller reaches its set point; its state is in the checkpoint"
    shorthands = {
        "target": ("weight.target",),
        "climb": ("weight.steps",),
        "kp": ("weight.kp",),
        "ki": ("weight.ki",),
    }

    weight: PI = PI(target=18.0)
    """The controller."""

    def terms(self) -> Terms:
        return {"rec": Reconstruction(), "kl": self.weight * KL()}
