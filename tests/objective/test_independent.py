"""Independent readings: closed forms of Gaussians, lower bounds of information, and which critics were blind."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from hatchel.latents.layout import Layout, plain_layout
from hatchel.objective.estimators.estimator import Items, Pairs
from hatchel.objective.independent import BinnedReading, GaussianReading, blind_critics, independent_reading


def draws(covariance: np.ndarray, n: int, seed: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).multivariate_normal(np.zeros(len(covariance)), covariance, n))


def equal_correlation(width: int, rho: float) -> np.ndarray:
    return (1 - rho) * np.eye(width) + rho * np.ones((width, width))


@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_the_gaussian_reading_has_no_bias_of_few_rows(rho: float) -> None:
    """Of 64 rows of 10 coordinates the plain estimate is high by 0.37 nats; this one is right on average."""
    covariance = equal_correlation(10, rho)
    reading = GaussianReading(plain_layout(10).singles, plain_layout(10))
    found = [reading.value(draws(covariance, 64, seed)) for seed in range(3000)]
    assert np.mean(found) == pytest.approx(-0.5 * np.linalg.slogdet(covariance)[1], abs=0.03)


def test_the_gaussian_reading_of_groups() -> None:
    covariance = equal_correlation(5, 0.6)
    layout = Layout.of({"a": (1, 1), "b": (1, 1, 1)})
    reading = GaussianReading(layout.groups, layout)
    inside = [np.linalg.slogdet(covariance[s, s])[1] for s in (slice(0, 2), slice(2, 5))]
    truth = 0.5 * (sum(inside) - np.linalg.slogdet(covariance)[1])
    assert reading.value(draws(covariance, 20_000, 0)) == pytest.approx(truth, rel=0.03)


def test_of_a_class_the_last_column_is_left_out() -> None:
    layout = Layout.of({"class": (3,), "style": (1,)})
    reading = GaussianReading(layout.groups, layout)
    assert (reading.columns, reading.sizes) == ([0, 1, 3], [2, 1])
    g = torch.Generator().manual_seed(0)
    classes = torch.randint(3, (3000,), generator=g)
    rows = torch.cat([torch.nn.functional.one_hot(classes, 3), torch.randn(3000, 1, generator=g)], 1)
    assert reading.value(rows[:, reading.columns]) == pytest.approx(0, abs=0.01)
    rows[:, 3] += 4 * classes
    assert reading.value(rows[:, reading.columns]) > 1


def test_too_few_rows_give_no_reading() -> None:
    reading = GaussianReading(plain_layout(40).singles, plain_layout(40))
    assert reading.value(torch.randn(79, 40)) is None
    assert independent_reading(Items(), plain_layout(2), {}) is None


@pytest.mark.parametrize(("rho", "width"), [(0.9, 1), (0.9, 4), (0.0, 4)])
def test_the_binned_reading_is_most_of_a_gaussian_pairs_information(rho: float, width: int) -> None:
    """Three members; the numbers of a member are copies of one normal number with a little noise."""
    base = draws(equal_correlation(3, rho), 2048, 1)
    rows = base.repeat_interleave(width, 1)
    rows = rows + 0.1 * torch.randn(rows.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    pairs = Pairs("m2", "m2")
    reading = BinnedReading(pairs, plain_layout(2), {"m2": (3, width)})
    found = reading.value(torch.cat([rows, rows], 1)[:, reading.columns])
    truth = -1.5 * math.log(1 - rho**2)
    assert found <= truth * 1.02 + 0.03
    assert found >= 0.75 * truth


def test_members_that_are_constant_say_nothing_and_wide_ones_are_read_in_part() -> None:
    pairs = Pairs("m2", "z", grid=None)
    reading = BinnedReading(pairs, plain_layout(2), {"m2": (2, 8, 4, 4)})
    assert reading.shapes == [(2, 16), (2, 1)]
    assert reading.columns[:3] == [0, 8, 16]
    assert reading.columns[-2:] == [256, 257]
    rows = torch.zeros(100, 258)
    rows[:, 256:] = torch.randn(100, 2, generator=torch.Generator().manual_seed(0))
    assert reading.value(rows[:, reading.columns]) == 0


def events(*pairs: tuple[float | None, float | None]) -> list[dict[str, float | None]]:
    return [{"step": i, "reading/tc": own, "independent/tc": other} for i, (own, other) in enumerate(pairs)]


def test_a_critic_is_blind_that_misses_a_tenth_of_the_events() -> None:
    seen, missed, nothing = (1.0, 1.2), (0.01, 1.2), (0.0, 0.05)
    assert blind_critics(events(*[seen] * 10, missed)) == []
    assert blind_critics(events(*[nothing] * 10, (None, 1.2))) == []
    (line,) = blind_critics(events(*[seen] * 9, missed))
    assert line.startswith("the critic of tc was blind at 1 of 10 events: it read 0.01 nats where an independent")
    assert line.endswith("estimate has 1.2; raise critic_optimizer.lr or critic_updates")
    assert blind_critics([{"step": 1, "loss": 2.0, "reading/adversarial": 0.0}]) == []
