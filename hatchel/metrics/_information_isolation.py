"""Information isolation: whether dimensions carry different information about the data."""

from __future__ import annotations

import numpy as np

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count
from hatchel.metrics.aggregate import DRAWS, POSTERIORS, Aggregate, log_given, log_joint
from hatchel.metrics.intervals import Bootstrap
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score


class InformationIsolation(Metric):
    """I(z_S; x) - sum_{i in S} I(z_i; x): 0 where the dimensions of S inform about different things.

    Split Encoder 2019, Eq. 6. Equal to E_x KL(q(z_S|x) || prod q(z_i|x)) - KL(q(z_S) || prod q(z_i)): `conditional`
    and `marginal` in the parts. The first is 0 for independent noise and -1/2 log det R_S for noise with the
    correlation matrix R.

    >>> import numpy as np
    >>> from hatchel.metrics import information_isolation
    >>> same = np.repeat([[-9.0], [9.0]], 2, axis=1)  # two dimensions that carry the same bit
    >>> round(float(information_isolation(same, np.ones((2, 2)))), 3)  # log 2 - 2 log 2
    -0.693
    """

    needs = ("std",)
    accepts = ("noise",)
    interval = Bootstrap(most=8)

    subset: tuple[int, ...] | None = None
    "The dimensions S; all by default."
    draws: Count = DRAWS
    "Monte Carlo draws z ~ q(z)."
    posteriors: Count = POSTERIORS
    "Posteriors in the mixture q(z); all rows where there are fewer."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        q = Aggregate.of(probe, rng, self.draws, self.posteriors)
        subset = tuple(range(probe.dims)) if self.subset is None else self.subset
        if not subset or len(set(subset)) < len(subset) or not all(0 <= d < probe.dims for d in subset):
            raise HatchelError(
                f"information_isolation: subset {subset}: expected dimensions 0 to {probe.dims - 1}, each once"
            )
        index = list(subset)
        within = None if probe.noise is None else probe.noise[np.ix_(index, index)]
        joint, given = q.joint, q.joint_given_x
        if len(subset) < probe.dims:
            assert probe.std is not None
            mean, std = probe.codes[q.rows][:, index], probe.std[q.rows][:, index]
            joint = log_joint(mean, std, q.draws[:, index], within)
            given = log_given(mean[q.own], std[q.own], q.draws[:, index], within)
        together = float((given - joint).mean())
        single = (q.given_x[index] - q.marginals[index]).mean(axis=1)
        parts = {
            "together": together,
            "singly": {f"z{d}": float(v) for d, v in zip(subset, single, strict=True)},
            "conditional": 0.0 if within is None else float(-0.5 * np.linalg.slogdet(within)[1]),
            "marginal": float((joint - q.marginals[index].sum(axis=0)).mean()),
        }
        return self.result(probe, together - single.sum(), parts=parts, notes=q.notes)
