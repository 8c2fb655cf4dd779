"""Fitting scikit-learn models without its warnings; what they would have said becomes a note of the score."""

from __future__ import annotations

import warnings
from typing import Any

from hatchel.metrics.information import Float


def fit(model: Any, inputs: Float, targets: Any) -> list[str]:
    """Fit in place; a note if the solver stopped at its limit of iterations."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(inputs, targets)
    early = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    return [f"{type(model).__name__} stopped after {model.max_iter} iterations, before it converged"] if early else []
