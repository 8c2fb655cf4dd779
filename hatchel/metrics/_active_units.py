"""Active units: how many dimensions are used."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hatchel.core.spec import NonNegative
from hatchel.metrics.information import mean_squares, variances
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score


class ActiveUnits(Metric):
    """The number of dimensions with Var_x(mu_d(x)) > 0.01 (Burda et al. 2016).

    >>> import numpy as np
    >>> from hatchel.metrics import active_units
    >>> float(active_units(np.array([[0.0, 1.0], [0.0, -1.0]])))
    1.0
    """

    needs = ()
    accepts = ("std",)

    threshold: NonNegative = 0.01
    "Variance of the posterior mean over the data."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        found = variances(probe.codes)
        parts = {"variance": {f"z{d}": float(v) for d, v in enumerate(found)}}
        notes = [note] if (note := collapse(probe.codes, probe.std)) else []
        return self.result(probe, float((found > self.threshold).sum()), parts=parts, notes=notes)


def collapse(mean: NDArray[Any], std: NDArray[Any] | None = None) -> str | None:
    """What to say of a model whose code (n, D) says nothing; None where it may say something.

    No dimension is active, nor, where the deviations are known, has means that stand out from the noise.

    >>> collapse(np.zeros((9, 10)))
    '0 of 10 dimensions active: train longer or lower beta'
    """
    found = variances(mean)
    heard = found > 0.1 * mean_squares(std) if std is not None else False
    if ((found > ActiveUnits.threshold) | heard).any():
        return None
    return f"0 of {mean.shape[1]} dimensions active: train longer or lower beta"
