from __future__ import annotations

import numpy as np
from sklearn.linear_model import LinearRegression

from hatchel.data.factors import Factor, FactorSpace
from hatchel.latents.layout import Site, plain_layout
from hatchel.metrics._disintegration import Disintegration
from hatchel.metrics.probe import Probe
from hatchel.report.dimensions import Dimensions
from hatchel.report.fits import fits, r2_matrix, squared_correlations

SPACE = FactorSpace(
    (
        Factor("shape", ("square", "heart")),
        Factor("x", (0.0, 0.1, 0.5, 2.0), "continuous"),
        Factor("turn", (0.0, 1.0, 2.0), "cyclic"),
    ),
    complete=False,
)


def probe(n: int = 600) -> Probe:
    rng = np.random.default_rng(1)
    factors = np.stack([rng.integers(size, size=n) for size in SPACE.sizes], axis=1)
    x = np.array(SPACE.factors[1].values)[factors[:, 1]]
    codes = np.stack([rng.normal(size=n), 3 - 2 * x + rng.normal(size=n), x + 5 * rng.normal(size=n)], axis=1)
    return Probe(codes, factors, names=SPACE.names, continuous=False)


def every(information: tuple[float, ...] = (1.0, 1.0, 1.0)) -> Dimensions:
    return Dimensions(np.array(information), np.zeros(3), np.ones(3), np.arange(9.0).reshape(3, 3), SPACE.names)


def test_r2_is_that_of_a_regression_on_the_factors_own_values() -> None:
    p = probe()
    (fit,) = fits(p, SPACE, every(), seed=0, bootstrap=100)
    values = np.array(SPACE.factors[1].values)[np.asarray(p.values)[:, 1]]
    line = LinearRegression().fit(p.codes[:, 1:2], values)
    assert (fit.factor, fit.dimension) == ("x", 1)
    assert np.isclose(fit.score.value, line.score(p.codes[:, 1:2], values))
    assert fit.score.interval is not None
    assert fit.score.interval.low < fit.score.value < fit.score.interval.high
    assert fit.score.interval.high - fit.score.interval.low < 0.2


def test_the_curve_is_mean_and_deviation_at_each_value() -> None:
    p = probe()
    (fit,) = fits(p, SPACE, every(), seed=0, bootstrap=0)
    there = p.codes[np.asarray(p.values)[:, 1] == 3, 1]
    assert fit.values.tolist() == [0.0, 0.1, 0.5, 2.0]
    assert np.isclose(fit.centre[3], there.mean())
    assert np.isclose(fit.spread[3], there.std())
    assert fit.score.interval is None


def test_squared_correlations_are_numpys() -> None:
    rng = np.random.default_rng(2)
    codes, values = rng.normal(size=(50, 3)), rng.normal(size=50)
    expected = [np.corrcoef(codes[:, d], values)[0, 1] ** 2 for d in range(3)]
    assert np.allclose(squared_correlations(codes, values), expected)


def test_a_collapsed_dimension_is_not_chosen_unless_there_is_no_other() -> None:
    (active,) = fits(probe(), SPACE, every((1.0, 0.01, 1.0)), 0, 0)
    (all_,) = fits(probe(), SPACE, every((0.0, 0.01, 0.0)), 0, 0)
    assert (active.dimension, all_.dimension) == (2, 1)
    assert (active.share, all_.share) == (7.0, 4.0)


def test_nothing_to_fit_without_factors() -> None:
    assert fits(Probe(np.eye(3)), None, every(), 0, 10) == ()


def test_the_matrix_is_that_of_factor_disintegration_where_values_are_evenly_spaced() -> None:
    space = FactorSpace((Factor("shape", ("a", "b", "c")), Factor("x", (0.0, 0.5, 1.0), "continuous")), complete=False)
    rng = np.random.default_rng(4)
    factors = rng.integers(3, size=(200, 2))
    p = Probe(factors @ rng.normal(size=(2, 3)) + rng.normal(size=(200, 3)), factors, continuous=False)
    expected = Disintegration(by="r2").score(p).matrix
    assert np.allclose(r2_matrix(p, space, plain_layout(3).sites), expected)
    with_class = r2_matrix(p, space, (Site("c", (0, 1), "c"), Site("s", (2,), "s")))
    assert np.isnan(with_class[0]).all()
    assert np.allclose(with_class[1], expected[2])
