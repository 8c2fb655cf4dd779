"""DynamicVAE: the KL led through small set points by a controller that starts at a large beta."""

from __future__ import annotations

from hatchel.methods.method import Method, Parts, Terms
from hatchel.objective.terms.elbo import KL, Reconstruction
from hatchel.objective.weights import IncrementalPI
from hatchel.training.spec import Adam

SAME = ("target", "start", "increment", "period", "ramp", "window", "kp", "ki")


class DynamicVAE(Method):
    """rec + beta(t) KL, beta from large to small by an incremental PI controller on a moving average of the KL."""

    paper = "Shao et al. 2022 (baseline of Wu et al. 2023)"
    verified = "set points and betas by hand; the KL follows a growing set point; resume keeps the controller"
    shorthands = {name: (f"weight.{name}",) for name in SAME} | {"beta": ("weight.initial", "weight.high")}

    weight: IncrementalPI = IncrementalPI()
    """The controller, with Wu et al. 2023's gains (the authors' code has ki 0.005); target 20 is for dSprites."""

    def terms(self) -> Terms:
        """The paper's incremental PI algorithm."""
        return {"rec": Reconstruction(), "kl": self.weight * KL()}

    def parts(self) -> Parts:
        """As the method's own experiments and Wu et al. 2023 have it: Adam 1e-4."""
        return {"optimizer": Adam(lr=1e-4)}
