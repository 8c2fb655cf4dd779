"""Gaps of mutual information: MIG, MIG-sup, DCIMIG, RMIG and JEMMIG."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from hatchel.core.errors import HatchelError, unknown
from hatchel.core.spec import Count
from hatchel.metrics._aggregate import DRAWS, POSTERIORS, Aggregate
from hatchel.metrics.information import entropies, gap
from hatchel.metrics.metric import Bootstrap, Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score


class MIG(Metric):
    """Mean over factors of the gap between the two most informative dimensions (Chen et al. 2018, Eq. 6).

    MIG = 1/K sum_k (I(z_j; v_k) - max_{d != j} I(z_d; v_k)) / H(v_k),  j = argmax_d I(z_d; v_k)

    >>> import numpy as np
    >>> from hatchel.metrics import mig
    >>> factors = np.random.default_rng(0).integers(3, size=(3000, 2))
    >>> round(float(mig(factors + 0.0, factors)), 2)
    1.0
    """

    also_needs = {("estimator", "aggregate"): "std"}  # noqa: RUF012
    argument_names = {"factors": "subset"}  # noqa: RUF012

    bins: Count = 20
    "Equal-width bins per dimension."
    factors: tuple[str, ...] | None = None
    "Names of the factors to average over; all that vary by default. Chen et al. leave out shape."
    estimator: Literal["bins", "aggregate"] = "bins"
    "I from binned codes, or by Monte Carlo over the exact aggregate posterior (Chen et al. 2018)."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        if self.estimator == "bins":
            information = probe.mutual_information(self.bins)
        else:
            information = Aggregate.of(probe, rng).information(probe)
        for name in self.factors or ():
            if name not in probe.names:
                raise unknown("factor", name, probe.names, where="mig")
        used = [k for k in probe.varying if self.factors is None or probe.names[k] in self.factors]
        if not used:
            raise HatchelError(f"mig: none of {', '.join(self.factors or ())} takes more than one value")
        gaps = gap(information)[used] / probe.entropies[used]
        parts = {probe.names[k]: float(g) for k, g in zip(used, gaps, strict=True)}
        return self.result(probe, gaps.mean(), parts=parts, matrix=information)


class MIGSup(Metric):
    """Mean over dimensions of the gap between the two factors it informs about most (Li et al. 2020).

    MIG-sup = 1/D sum_d (I_n(z_d; v_j) - max_{k != j} I_n(z_d; v_k)),  I_n = I / H(v_k),  j = argmax_k I_n(z_d; v_k)

    >>> import numpy as np
    >>> from hatchel.metrics import mig_sup
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 9)
    >>> round(float(mig_sup(factors + 0.0, factors)), 6)
    1.0
    """

    least_factors = 2

    bins: Count = 20
    "Equal-width bins per dimension."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        information = probe.mutual_information(self.bins)
        normalised = information[:, probe.varying] / probe.entropies[probe.varying]
        gaps = gap(normalised.T)
        parts = {f"z{d}": float(g) for d, g in enumerate(gaps)}
        return self.result(probe, gaps.mean(), parts=parts, matrix=information)


class DCIMIG(Metric):
    """The largest gap among the dimensions that each factor leads, over all entropy (Sepliarskaia et al. 2019).

    g_d = I(z_d; v_j) - max_{k != j} I(z_d; v_k),  j = argmax_k;  S_k = max g_d over the d that v_k leads (or 0);
    DCIMIG = sum_k S_k / sum_k H(v_k).

    >>> import numpy as np
    >>> from hatchel.metrics import dcimig
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 9)
    >>> round(float(dcimig(factors + 0.0, factors)), 6)
    1.0
    """

    least_factors = 2

    bins: Count = 20
    "Equal-width bins per dimension."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        information = probe.mutual_information(self.bins)
        used = information[:, probe.varying]
        best = np.zeros(len(probe.varying))
        np.maximum.at(best, used.argmax(axis=1), gap(used.T))
        parts = probe.by_factor(best)
        return self.result(probe, best.sum() / probe.entropies[probe.varying].sum(), parts=parts, matrix=information)


class RMIG(Metric):
    """The gap between the two most informative dimensions, with I(z_d; v_k) from q(z|x) itself (Do & Tran 2020).

    RMIG_k = I(z_i; v_k) - I(z_j; v_k) in nats (the parts); the value is the mean of RMIG_k / H(v_k).

    >>> import numpy as np
    >>> from hatchel.metrics import rmig
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 9)
    >>> score = rmig(9.0 * factors, factors, std=np.ones((36, 2)))  # values that can be told apart
    >>> 0.95 < score.value < 1
    True
    """

    needs = ("factors", "std")
    interval = Bootstrap(most=8)

    draws: Count = DRAWS
    "Monte Carlo draws z ~ q(z)."
    posteriors: Count = POSTERIORS
    "Posteriors in the mixture q(z); all rows where there are fewer."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        q = Aggregate.of(probe, rng, self.draws, self.posteriors)
        matrix = q.information(probe)
        gaps = gap(matrix)[probe.varying]
        parts = probe.by_factor(gaps)
        value = (gaps / probe.entropies[probe.varying]).mean()
        return self.result(probe, value, parts=parts, matrix=matrix, notes=q.notes)


class JEMMIG(Metric):
    """JEMMIG_k = H(z_i, v_k) - I(z_i; v_k) + I(z_j; v_k), i and j the two most informative (Do & Tran 2020).

    Mean over factors, in nats; lower is better. `normalised` is 1 - JEMMIG_k / (H(v_k) + log bins), from 0 to 1, higher
    is better; parts hold both.

    >>> import numpy as np
    >>> from hatchel.metrics import jemmig
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 9)
    >>> round(float(jemmig(factors + 0.0, factors)), 6)  # the two are one and the same: H - H
    0.0
    """

    also_needs = {("estimator", "aggregate"): "std"}  # noqa: RUF012
    lower_is_better = True

    bins: Count = 20
    "Equal-width bins per dimension."
    estimator: Literal["bins", "aggregate"] = "bins"
    "Entropies of binned codes, or differential entropies by Monte Carlo over q(z|x), which cannot be normalised."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        used = probe.varying
        if self.estimator == "bins":
            matrix = probe.mutual_information(self.bins)
            codes = entropies(probe.binned(self.bins))
        else:
            q = Aggregate.of(probe, rng)
            matrix, codes = q.information(probe), -q.marginals.mean(axis=1)
        best = matrix.argmax(axis=0)
        joint = codes[best] + probe.entropies - matrix.max(axis=0)
        values = (joint - gap(matrix))[used]
        parts: dict[str, Any] = probe.by_factor(values)
        if self.estimator == "bins":
            parts["normalised"] = float((1 - values / (probe.entropies[used] + np.log(self.bins))).mean())
        return self.result(probe, values.mean(), parts=parts, matrix=matrix)
