"""DynamicVAE: the KL led through small set points by a controller that starts at a large beta."""

from __future__ import annotations

from hatchel.core.spec import Count, NonNegative, Positive
from hatchel.methods.method import Method, Parts, Terms
from hatchel.objective.terms.elbo import KL, Reconstruction
from hatchel.objective.weights import IncrementalPI
from hatchel.training.spec import Adam


class DynamicVAE(Method):
    """rec + beta(t) KL, beta from large to small by an incremental PI controller on a moving average of the KL."""

    paper = "Shao et al. 2022 (baseline of Wu et al. 2023)"
    verified = "set points and betas by hand; the KL follows a growing set point; resume keeps the controller"

    target: Positive = 20.0
    """The last set point in nats: 20 on dSprites."""
    start: NonNegative = 0.5
    """The first set point."""
    increment: Positive = 0.15
    """How much the set point grows a period."""
    period: Count = 6000
    """Steps between two increments; for short runs make this smaller in proportion."""
    ramp: Count = 1000
    """Steps over which an increment is spread."""
    window: Count = 5
    """Values in the moving average."""
    kp: NonNegative = 0.01
    """Proportional gain, Wu et al. 2023's."""
    ki: NonNegative = 0.001
    """Integral gain, Wu et al. 2023's; the method's own code has 0.005."""
    beta: Positive = 150.0
    """beta(0), also the largest."""

    def terms(self) -> Terms:
        """The paper's incremental PI algorithm."""
        weight = IncrementalPI(
            target=self.target,
            start=self.start,
            increment=self.increment,
            period=self.period,
            ramp=self.ramp,
            window=self.window,
            kp=self.kp,
            ki=self.ki,
            initial=self.beta,
            high=self.beta,
        )
        return {"rec": Reconstruction(), "kl": weight * KL()}

    def parts(self) -> Parts:
        """As the method's own experiments and Wu et al. 2023 have it: Adam 1e-4."""
        return {"optimizer": Adam(lr=1e-4)}
