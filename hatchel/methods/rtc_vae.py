"""RTC-VAE: total correlation of the means brought down with that of the samples."""

from __future__ import annotations

from hatchel.core.spec import NonNegative
from hatchel.methods.method import Method, Parts, Terms
from hatchel.nets.conv import Rtc, RtcDecoder
from hatchel.objective.estimators.discriminator import DensityRatio
from hatchel.objective.estimators.estimator import Estimator
from hatchel.objective.terms.decomposition import TotalCorrelation
from hatchel.objective.terms.elbo import KL, Reconstruction
from hatchel.objective.terms.moments import Disintegration, PosteriorVariance


class RTCVAE(Method, kind="rtc_vae"):
    """rec + KL + beta TC(z) + eta sum_k E[sigma_k^2], TC by a discriminator.

    Its Eq. 6 prints E[D/(1-D)], where the log is missing. With max(10, beta), the paper's eta, the gap between the TC
    of the means and of the samples may stay open in a short training: compare eta = 30 and 100.
    """

    paper = "Cheng et al. 2020"
    verified = "Theorem 1 numerically; equals FactorVAE plus its penalty; the penalty's gradient"

    beta: NonNegative = 10.0
    """Weight of the total correlation: 2, 6, 10, 20 and 50 in the paper."""
    eta: NonNegative | None = None
    """Weight of the posterior variance; left out: max(10, beta)."""
    disintegration: NonNegative = 0.0
    """Weight of the semi-supervised term of its section 6.3; above 0, set `labels` too."""
    by: Estimator = DensityRatio()
    """How the total correlation is estimated."""

    def terms(self) -> Terms:
        """Eq. 4 of the paper."""
        eta = max(10.0, self.beta) if self.eta is None else self.eta
        return {
            "rec": Reconstruction(),
            "kl": KL(),
            "tc": self.beta * TotalCorrelation(self.by),
            "var": eta * PosteriorVariance(),
            **({"split": self.disintegration * Disintegration()} if self.disintegration else {}),
        }

    def parts(self) -> Parts:
        """Its Table 2; batches of 500."""
        return {"encoder": Rtc(), "decoder": RtcDecoder(), "batch_size": 500}
