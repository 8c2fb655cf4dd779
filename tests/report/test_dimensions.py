from __future__ import annotations

import numpy as np
from sklearn.linear_model import LinearRegression

from hatchel.data.factors import Factor, FactorSpace
from hatchel.latents.layout import Site, plain_layout
from hatchel.metrics._disintegration import Disintegration
from hatchel.metrics.probe import Probe
from hatchel.report.dimensions import (
    Dimensions,
    class_information,
    fits,
    r2_matrix,
    site_information,
    squared_correlations,
)
from hatchel.report.findings import Findings


def probe(n: int = 400) -> Probe:
    rng = np.random.default_rng(0)
    factors = np.stack([rng.integers(4, size=n), rng.integers(2, size=n), np.zeros(n, int)], axis=1)
    codes = np.stack([rng.normal(size=n), factors[:, 0] + 0.0, -3.0 * factors[:, 1]], axis=1)
    return Probe(codes, factors, names=("place", "kind", "still"), continuous=False)


def test_order_is_by_information_and_ties_keep_their_place() -> None:
    dims = Dimensions(np.array([0.5, 2.0, 0.5, 3.0]), np.zeros(4), np.ones(4))
    assert dims.order.tolist() == [3, 1, 0, 2]


def test_range_is_the_quantiles_of_the_means() -> None:
    p = probe()
    dims = Dimensions.of(p, np.ones(3))
    ordered = np.sort(p.codes[:, 0])
    at = 0.02 * (len(ordered) - 1)  # linear interpolation between order statistics
    low = ordered[int(at)] + (at - int(at)) * (ordered[int(at) + 1] - ordered[int(at)])
    assert np.isclose(dims.low[0], low)
    assert dims.low[1] == 0
    assert dims.high[1] == 3


def test_shares_are_of_the_factors_entropy_and_a_constant_factor_has_none() -> None:
    dims = Dimensions.of(probe(), np.ones(3))
    assert dims.shares is not None
    assert np.allclose(dims.shares[1, 0], 1)
    assert np.allclose(dims.shares[2, 1], 1)
    assert (dims.shares[0, :2] < 0.1).all()
    assert np.isnan(dims.shares[:, 2]).all()


def test_a_dimension_is_named_after_its_factor_only_if_it_says_something() -> None:
    dims = Dimensions.of(probe(), np.array([1.0, 1.0, 0.01]))
    assert [dims.label(d) for d in range(3)] == ["z0", "z1 · place", "z2"]
    assert dims.active.tolist() == [0, 1]


def test_without_factors_nothing_is_followed() -> None:
    dims = Dimensions.of(Probe(np.random.default_rng(0).normal(size=(50, 2))), np.ones(2))
    assert dims.shares is None
    assert dims.follows(0) is None


def test_a_class_is_one_dimension_counted_by_its_most_probable_value() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=300)
    codes = np.concatenate([np.eye(3)[labels] * 0.4 + 0.2, rng.normal(size=(300, 1))], axis=1)
    both = (Site("c", (0, 1, 2), "class"), Site("s", (3,), "style"))
    dims = Dimensions.of(Probe(codes, labels, names=("digit",)), np.ones(2), both)
    assert dims.shares is not None
    assert np.isclose(dims.shares[0, 0], 1)
    assert dims.shares[1, 0] < 0.2
    assert (dims.label(0), dims.low[0], dims.high[0]) == ("c · digit", 0, 1)
    assert dims.real.tolist() == [1]
    assert dims.column(1) == 3


def test_sites_of_plain_and_of_named_groups(found: Findings, mixed: Findings) -> None:
    assert [(s.name, s.columns) for s in found.dimensions.sites] == [(f"z{d}", (d,)) for d in range(4)]
    assert [(s.name, s.columns, s.group) for s in mixed.dimensions.sites] == [
        ("z0-2 class", (0, 1, 2), "class"),
        ("z3 style", (3,), "style"),
        ("z4 style", (4,), "style"),
    ]


def test_the_information_of_a_class_is_that_of_a_noisy_channel() -> None:
    flip = 0.1  # two equally likely inputs through a binary symmetric channel: log 2 - H(flip)
    p = np.array([[1 - flip, flip], [flip, 1 - flip]] * 4)
    expected = np.log(2) + flip * np.log(flip) + (1 - flip) * np.log(1 - flip)
    assert np.isclose(class_information(p), expected)


def test_information_goes_to_its_sites(mixed: Findings) -> None:
    variables = mixed.dimensions.sites
    own = site_information(variables, mixed.encoded.mean, [7.0, 8.0])
    assert own[1:].tolist() == [7.0, 8.0]
    assert own[0] == class_information(mixed.encoded.mean[:, :3])
    assert mixed.terms is not None
    per_coordinate = list(mixed.terms.parts["mutual_information_per_dimension"].values())
    assert mixed.dimensions.information[1:].tolist() == per_coordinate


SPACE = FactorSpace(
    (
        Factor("shape", ("square", "heart")),
        Factor("x", (0.0, 0.1, 0.5, 2.0), "continuous"),
        Factor("turn", (0.0, 1.0, 2.0), "cyclic"),
    ),
    complete=False,
)


def fitted_probe(n: int = 600) -> Probe:
    rng = np.random.default_rng(1)
    factors = np.stack([rng.integers(size, size=n) for size in SPACE.sizes], axis=1)
    x = np.array(SPACE.factors[1].values)[factors[:, 1]]
    codes = np.stack([rng.normal(size=n), 3 - 2 * x + rng.normal(size=n), x + 5 * rng.normal(size=n)], axis=1)
    return Probe(codes, factors, names=SPACE.names, continuous=False)


def every(information: tuple[float, ...] = (1.0, 1.0, 1.0)) -> Dimensions:
    shares = np.array([[0.1, 0.0, 0.3], [0.0, 0.9, 0.1], [0.2, 0.4, 0.2]])
    return Dimensions(np.array(information), np.zeros(3), np.ones(3), shares, SPACE.names)


def test_r2_is_that_of_a_regression_on_the_factors_own_values() -> None:
    p = fitted_probe()
    (fit,) = fits(p, SPACE, every(), seed=0, bootstrap=100)
    values = np.array(SPACE.factors[1].values)[np.asarray(p.values)[:, 1]]
    line = LinearRegression().fit(p.codes[:, 1:2], values)
    assert (fit.factor, fit.dimension) == ("x", 1)
    assert np.isclose(fit.score.value, line.score(p.codes[:, 1:2], values))
    assert fit.score.interval is not None
    assert fit.score.interval.low < fit.score.value < fit.score.interval.high
    assert fit.score.interval.high - fit.score.interval.low < 0.2


def test_the_curve_is_mean_and_deviation_at_each_value() -> None:
    p = fitted_probe()
    (fit,) = fits(p, SPACE, every(), seed=0, bootstrap=0)
    there = p.codes[np.asarray(p.values)[:, 1] == 3, 1]
    assert fit.curve.at.tolist() == [0.0, 0.1, 0.5, 2.0]
    assert np.isclose(fit.curve.mean[3], there.mean())
    assert np.isclose(fit.curve.spread[3], there.std())
    assert fit.score.interval is None


def test_squared_correlations_are_numpys() -> None:
    rng = np.random.default_rng(2)
    codes, values = rng.normal(size=(50, 3)), rng.normal(size=50)
    expected = [np.corrcoef(codes[:, d], values)[0, 1] ** 2 for d in range(3)]
    assert np.allclose(squared_correlations(codes, values), expected)


def test_a_collapsed_dimension_is_not_chosen_unless_there_is_no_other() -> None:
    (active,) = fits(fitted_probe(), SPACE, every((1.0, 0.01, 1.0)), 0, 0)
    (all_,) = fits(fitted_probe(), SPACE, every((0.0, 0.01, 0.0)), 0, 0)
    assert (active.dimension, all_.dimension) == (2, 1)


def test_a_direction_that_depends_on_another_factor_is_told_apart_from_a_curve() -> None:
    """z1 = x for squares and -x for hearts: no line over all, an exact one for each shape; then z1 = |x - 1|."""
    space = FactorSpace((Factor("shape", ("square", "heart")), Factor("x", tuple(map(float, range(5))), "continuous")))
    factors = np.tile(space.at(np.arange(10)), (30, 1))
    sign, x = 1 - 2 * factors[:, 0], factors[:, 1] - 2.0
    noise = np.random.default_rng(0).normal(size=300)
    dims = Dimensions(np.ones(2), np.zeros(2), np.ones(2), np.array([[0.0, 0.05], [0.0, 0.9]]), space.names)
    codes = {"turned": sign * x, "bent": np.abs(x), "straight": 3 * x, "noise": noise}
    found = {
        name: fits(Probe(np.stack([0.1 * x + noise, z], axis=1), factors, names=space.names), space, dims, 0, 0)[0]
        for name, z in codes.items()
    }
    assert {fit.dimension for fit in found.values()} == {1}  # also where a line fits z0 better
    turned, bent, straight = found["turned"], found["bent"], found["straight"]
    assert np.allclose([turned.score.value, turned.explained, turned.within], [0, 0, 1])
    assert np.allclose([bent.score.value, bent.explained, bent.within], [0, 1, 0])
    assert np.allclose([straight.score.value, straight.explained, straight.within], [1, 1, 1])
    assert turned.note == (
        "z1 follows x in a direction that depends on shape: R² 1.00 at each value of that, 0.00 over all."
    )
    assert bent.note == (
        "z1 follows x on a curve that is not straight: its value explains 100% of the dimension's variance, R² is 0.00."
    )
    assert straight.note == found["noise"].note == ""


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
