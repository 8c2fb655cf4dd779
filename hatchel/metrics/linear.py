"""Logistic regression, by scikit-learn with every option stated: its defaults change between versions."""

from __future__ import annotations

import warnings
from typing import Any

from hatchel.metrics.information import Float
from hatchel.metrics.inputs import Labels

ITERATIONS = 300
"""At most: without a penalty, separable classes have their optimum at infinity. With one, 200 are enough."""


def logistic_regression(
    codes: Float, labels: Labels, c: float = 1.0, *, balanced: bool = False, tolerance: float = 3e-5
) -> Any:
    """A fitted scikit-learn classifier of class numbers (n,) from codes (n, D); the bias is not penalised.

    min_W  C sum_n a_n -log p(y_n | z_n) + 1/2 |W|²,  a_n = 1 or, if `balanced`, n / (K n_k) in class k; `c` may be
    infinite. `tolerance` is the largest entry of the mean loss's gradient at the end. One class, or no
    dimension: the classes' shares.

    >>> import numpy as np
    >>> z = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> logistic_regression(z, np.array([0, 0, 1, 1])).predict_proba(z).round(2)[:, 1].tolist()
    [0.12, 0.27, 0.73, 0.88]
    """
    from sklearn.dummy import DummyClassifier  # slow to import
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    model: Any = DummyClassifier(strategy="uniform" if balanced else "prior")
    if (labels != labels[0]).any() and codes.shape[1]:
        weights = "balanced" if balanced else None
        model = LogisticRegression(C=c, class_weight=weights, solver="lbfgs", tol=tolerance, max_iter=ITERATIONS)
    # The products are too small to share: waiting threads would slow them down.
    with threadpool_limits(1, "blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(codes, labels)
