"""The ELBO's KL taken apart."""

from __future__ import annotations

import numpy as np

from hatchel.core.spec import Count
from hatchel.metrics.aggregate import DRAWS, POSTERIORS, Aggregate
from hatchel.metrics.intervals import Bootstrap
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score


class ELBOTerms(Metric):
    """KL(q(z|x) || N(0, I)) = I(x;z) + TC(z) + sum_d KL(q(z_d) || p(z_d)) (Chen et al. 2018, Eq. 2).

    In nats, with log q by the exact sum over the given posteriors; the value is the KL, the parts its three terms
    (`mutual_information`, `total_correlation`, `dimension_kl`) and I(x; z_d) of every dimension.

    >>> import numpy as np
    >>> from hatchel.metrics import elbo_terms
    >>> terms = elbo_terms(np.array([[-9.0], [9.0]]), np.ones((2, 1)))  # two codes that can be told apart
    >>> round(terms.parts["mutual_information"], 4)
    0.6931
    """

    needs = ("std",)
    accepts = ("noise",)
    interval = Bootstrap(most=8)
    lower_is_better = True

    draws: Count = DRAWS
    "Monte Carlo draws z ~ q(z)."
    posteriors: Count = POSTERIORS
    "Posteriors in the mixture q(z); all rows where there are fewer."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        q = Aggregate.of(probe, rng, self.draws, self.posteriors)
        prior = -0.5 * (q.draws.T**2 + np.log(2 * np.pi))  # (D, S)
        per_dimension = (q.given_x - q.marginals).mean(axis=1)
        parts = {
            "mutual_information": float((q.joint_given_x - q.joint).mean()),
            "total_correlation": float((q.joint - q.marginals.sum(axis=0)).mean()),
            "dimension_kl": float((q.marginals - prior).sum(axis=0).mean()),
            "mutual_information_per_dimension": {f"z{d}": float(v) for d, v in enumerate(per_dimension)},
        }
        value = float((q.joint_given_x - prior.sum(axis=0)).mean())
        return self.result(probe, value, parts=parts, notes=q.notes)
