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
    verified = "set points and betas by hand; a KL that answers beta late is led to 18 nats in 3,000 to 300,000 steps"
    shorthands = {name: (f"weight.{name}",) for name in SAME} | {"beta": ("weight.initial", "weight.high")}

    weight: IncrementalPI = IncrementalPI()
    """The controller, with Wu et al. 2023's gains (the authors' code has ki 0.005) and the authors' set points."""

    def terms(self) -> Terms:
        return {"rec": Reconstruction(), "kl": self.weight * KL()}

    def parts(self) -> Parts:
        return {"optimizer": Adam(lr=1e-4)}
