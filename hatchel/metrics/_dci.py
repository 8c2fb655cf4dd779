"""DCI: disentanglement, completeness, informativeness; MED, the same of shares of mutual information."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hatchel.core.plugins import extra
from hatchel.core.spec import Count, local
from hatchel.metrics.information import Float, concentration, standardised, weighted_concentration
from hatchel.metrics.metric import Metric, Subsampling
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score
from hatchel.metrics.solvers import Engine
from hatchel.metrics.solvers.boosting import boost

Regressor = Literal["gbt", "forest", "forest_regression", "lasso", "mi", "lightgbm"]


class DCI(Metric):
    """Disentanglement, completeness, informativeness of a predictor's importances (Eastwood & Williams 2018, Sec. 2).

    With R_dk >= 0 the importance of z_d for v_k, P_d = R_d / sum_k R_dk and rho_d = sum_k R_dk / sum R,
    D = sum_d rho_d (1 - H_K(P_d));  C likewise factor by factor with H_D;  I = the mean test accuracy.
    The headline is D. The error part is the share of wrong answers; for a continuous factor (and every factor of the
    lasso, every ordered one of `forest_regression`) the root mean squared error over the root of the mean square of
    the centred test values.

    >>> import numpy as np
    >>> from hatchel.metrics import dci
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 25)
    >>> score = dci(factors + 0.0, factors)
    >>> round(float(score), 6), score.parts["informativeness"]
    (1.0, 1.0)
    """

    least_factors = 2
    fits = True
    accepts = ("ordered",)
    interval = Subsampling(most=8, rows=1500)

    regressor: Regressor = "gbt"
    """`gbt`: gradient-boosted trees (reference protocol); `forest`: random forests that classify; `forest_regression`:
    that predict the values of ordered factors, as Eastwood & Williams; `lasso`; `mi`: shares of mutual information,
    which makes D the MED; `lightgbm`: fast, gain importances, D differs by 0.05."""
    alpha: float = 0.02
    "The lasso's penalty, on standardised codes and factors."
    engine: Engine = local(default="hatchel")
    "Of the gradient-boosted trees: our own, or scikit-learn's."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        parts: dict[str, Any] = {}
        if self.regressor == "mi":
            importance = information_shares(probe, 20)
        else:
            fits = self._fits(probe, rng)
            importance = np.full((probe.dims, len(probe.names)), np.nan)
            for k, fit in fits.items():
                importance[:, k] = fit.importance
            means = map(float, np.mean([fit[1:] for fit in fits.values()], axis=0))
            parts = dict(zip(("train informativeness", "informativeness", "error"), means, strict=True))
            parts["informativeness of"] = {probe.names[k]: fit.test for k, fit in fits.items()}
        used = importance[:, probe.varying]
        value = weighted_concentration(used)
        parts = {
            "disentanglement": value,
            "completeness": weighted_concentration(used.T),
            **parts,
            "disentanglement of": {f"z{d}": float(v) for d, v in enumerate(concentration(used))},
            "completeness of": probe.by_factor(concentration(used.T)),
        }
        return self.result(probe, value, parts=parts, matrix=importance)

    def _fits(self, probe: Probe, rng: np.random.Generator) -> dict[int, Fit]:
        classified = probe.unordered if self.regressor == "forest_regression" else ~probe.continuous
        discrete = [int(k) for k in probe.varying if classified[k] and self.regressor != "lasso"]
        found: dict[int, Fit] = {}
        if self.regressor == "gbt" and self.engine == "hatchel" and discrete:
            train, test = ([probe.classes[rows, k] for k in discrete] for rows in (probe.train, probe.test))
            forests, fresh = boost(probe.codes[probe.train], train, rng), probe.codes[probe.test]
            for k, forest, known, asked in zip(discrete, forests, train, test, strict=True):
                right = float((forest.predict(fresh) == asked).mean())
                fitted = float((forest.fitted == known).mean())
                found[k] = Fit(forest.importances, fitted, right, 1 - right)
        for k in map(int, probe.varying):
            if k not in found:
                fit = _classified if k in discrete else _regressed
                found[k] = fit(probe, k, self._model(k not in discrete, rng))
        return found

    def _model(self, continuous: bool, rng: np.random.Generator) -> Any:
        seed = int(rng.integers(2**31))
        if self.regressor == "lasso":
            from sklearn.linear_model import Lasso

            return Lasso(alpha=self.alpha, max_iter=10_000)
        if self.regressor == "lightgbm":
            lightgbm = extra("lightgbm", "fast", 'dci: regressor="lightgbm"')
            build: Callable[..., Any] = lightgbm.LGBMRegressor if continuous else lightgbm.LGBMClassifier
            # Depth, rounds and step of the reference; seeded and single-threaded, so that it repeats.
            options = {
                "n_estimators": 100, "learning_rate": 0.1, "max_depth": 3, "num_leaves": 8, "min_child_samples": 1,
            }  # fmt: skip
            return build(**options, importance_type="gain", random_state=seed, n_jobs=1, deterministic=True, verbose=-1)
        from sklearn import ensemble

        if self.regressor == "gbt":
            trees = ensemble.GradientBoostingRegressor if continuous else ensemble.GradientBoostingClassifier
            return trees(random_state=seed)
        forest: Callable[..., Any] = ensemble.RandomForestRegressor if continuous else ensemble.RandomForestClassifier
        return forest(n_estimators=10, max_depth=None if continuous else 12, random_state=seed)


class Fit(NamedTuple):
    """What one factor's predictor gives."""

    importance: Float  # (D,), sum 1 unless all are 0
    train: float
    test: float
    error: float


def _classified(probe: Probe, k: int, model: Any) -> Fit:
    labels = probe.classes[:, k]
    if np.ptp(labels[probe.train]) == 0:  # one class in the training rows, which not every model takes
        right = float((labels[probe.test] == labels[probe.train][0]).mean())
        return Fit(np.zeros(probe.dims), 1.0, right, 1 - right)
    model.fit(probe.codes[probe.train], labels[probe.train])
    train, test = (float((model.predict(probe.codes[r]) == labels[r]).mean()) for r in (probe.train, probe.test))
    return Fit(_shares(model.feature_importances_), train, test, 1 - test)


def _regressed(probe: Probe, k: int, model: Any) -> Fit:
    assert probe.ordered is not None
    values = probe.ordered[:, k]
    values = probe.classes[:, k].astype(np.float64) if np.isnan(values).any() else values
    codes = standardised(probe.codes, probe.codes[probe.train])
    scale = values[probe.train].std() or 1.0
    values = (values - values[probe.train].mean()) / scale
    model.fit(codes[probe.train], values[probe.train])
    errors: list[float] = []
    for rows in (probe.train, probe.test):
        spread = np.sqrt(np.mean((values[rows] - values[rows].mean()) ** 2)) or 1.0
        errors.append(float(np.sqrt(np.mean((model.predict(codes[rows]) - values[rows]) ** 2)) / spread))
    weights = np.abs(model.coef_) if hasattr(model, "coef_") else model.feature_importances_
    train, test = (max(0.0, 1 - e * e) for e in errors)
    return Fit(_shares(weights), train, test, errors[1])


def _shares(importance: NDArray[Any]) -> Float:
    total = float(np.sum(importance))
    return np.asarray(importance, dtype=np.float64) / (total if total > 0 else 1.0)


class MED(Metric):
    """DCI's disentanglement with shares of mutual information as importance (Cao et al. 2022; DeVAE 2023, App. A.7).

    R_dk = I(z_d; v_k) / sum_d' I(z_d'; v_k),  MED = sum_d rho_d (1 - H_K(P_d)) with P_d = R_d / sum_k R_dk.

    >>> import numpy as np
    >>> from hatchel.metrics import med
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 9)
    >>> float(med(factors + 0.0, factors))
    1.0
    """

    least_factors = 2

    bins: Count = 20
    "Equal-width bins per dimension."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        importance = information_shares(probe, self.bins)
        used = importance[:, probe.varying]
        parts = {"completeness": weighted_concentration(used.T)}
        return self.result(probe, weighted_concentration(used), parts=parts, matrix=importance)


def information_shares(probe: Probe, bins: int) -> Float:
    """(D, K): each dimension's share of all dimensions' information about a factor; NaN for a constant factor."""
    information = probe.mutual_information(bins)
    total = information.sum(axis=0)
    shares = information / np.where(total > 0, total, 1.0)
    shares[:, np.setdiff1d(np.arange(len(probe.names)), probe.varying)] = np.nan
    return shares


def most_disentangled(importance: Float, k: int) -> Float:
    """The rows of the k dimensions with the largest 1 - H(P_d) among those that are about each factor most."""
    order = np.argsort(-concentration(importance), kind="stable")
    factor = importance.argmax(axis=1)[order]
    chosen = [order[factor == f][:k] for f in range(importance.shape[1])]
    return importance[np.sort(np.concatenate(chosen))]


class MEDTopk(Metric):
    """MED over at most k dimensions per factor: the most disentangled of those it leads (Cao et al. 2022).

    The importances are MED's over all dimensions; only then are the others left out.

    >>> import numpy as np
    >>> from hatchel.metrics import med_topk
    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 9)
    >>> score = med_topk(np.c_[factors, factors[:, 0]], factors, k=1)
    >>> float(score), score.parts["dimensions"]
    (1.0, 2)
    """

    least_factors = 2

    k: Count = 2
    "Dimensions kept for each factor."
    bins: Count = 20
    "Equal-width bins per dimension."

    def measure(self, probe: Probe, rng: np.random.Generator) -> Score:
        importance = information_shares(probe, self.bins)
        kept = most_disentangled(importance[:, probe.varying], self.k)
        parts = {"completeness": weighted_concentration(kept.T), "dimensions": len(kept)}
        return self.result(probe, weighted_concentration(kept), parts=parts, matrix=importance)
