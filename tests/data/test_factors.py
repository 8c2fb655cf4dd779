"""FactorSpace: a bijection, and samplers with the frequencies they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hatchel.core.errors import HatchelError
from hatchel.data.factors import Factor, FactorSpace


def grid(*sizes: int) -> FactorSpace:
    return FactorSpace(tuple(Factor(f"f{i}", tuple(float(v) for v in range(n))) for i, n in enumerate(sizes)))


sizes = st.lists(st.integers(1, 6), min_size=1, max_size=5)


@given(sizes)
def test_index_and_factors_are_a_bijection(sizes: list[int]) -> None:
    space = grid(*sizes)
    factors = space.at(np.arange(len(space)))
    assert len(space) == math.prod(sizes)
    assert (space.index(factors) == np.arange(len(space))).all()
    assert len(np.unique(factors, axis=0)) == len(space)
    assert (factors.max(axis=0) == np.array(sizes) - 1).all()


@given(sizes, st.integers(0, 2**32), st.data())
def test_index_is_the_mixed_radix_number(sizes: list[int], seed: int, data: st.DataObject) -> None:
    space = grid(*sizes)
    row = [data.draw(st.integers(0, n - 1)) for n in sizes]
    number = 0
    for value, n in zip(row, sizes, strict=True):
        number = number * n + value
    assert space.index([row]).tolist() == [number]


@given(sizes, st.integers(0, 2**32), st.data())
def test_pairs_differ_in_exactly_k_factors(sizes: list[int], seed: int, data: st.DataObject) -> None:
    space = grid(*sizes)
    k = data.draw(st.integers(0, sum(n > 1 for n in sizes)))
    first, second = space.pairs(50, np.random.default_rng(seed), k)
    assert ((first != second).sum(axis=1) == k).all()
    space.checked(first), space.checked(second)


def test_pairs_reach_every_other_value_and_every_factor_equally() -> None:
    space = grid(3, 3, 3)
    first, second = space.pairs(30_000, np.random.default_rng(0), 1)
    changed = (first != second).mean(axis=0)
    np.testing.assert_allclose(changed, 1 / 3, atol=0.015)
    steps = ((second - first) % 3)[first != second]
    assert (steps == 1).mean() == pytest.approx(0.5, abs=0.02)


def test_samples_are_uniform_and_hold_what_is_fixed() -> None:
    drawn = grid(2, 5, 4).sample(20_000, np.random.default_rng(1), fixed={"f1": 3})
    assert (drawn[:, 1] == 3).all()
    np.testing.assert_allclose(np.bincount(drawn[:, 0]) / 20_000, 1 / 2, atol=0.02)
    np.testing.assert_allclose(np.bincount(drawn[:, 2]) / 20_000, 1 / 4, atol=0.02)


def test_correlated_frequencies_are_the_formula() -> None:
    space, sigma, n = grid(3, 4, 5), 0.3, 200_000
    drawn = space.correlated(n, np.random.default_rng(2), ("f0", "f2"), sigma)
    expected = np.array([[math.exp(-((a / 2 - b / 4) ** 2) / (2 * sigma**2)) for b in range(5)] for a in range(3)])
    seen = np.histogram2d(drawn[:, 0], drawn[:, 2], bins=[3, 5], range=[[-0.5, 2.5], [-0.5, 4.5]])[0] / n
    np.testing.assert_allclose(seen, expected / expected.sum(), atol=0.004)
    np.testing.assert_allclose(np.bincount(drawn[:, 1]) / n, 1 / 4, atol=0.005)


def test_strength_orders_the_correlation_and_infinity_is_none() -> None:
    def r(sigma: float) -> float:
        drawn = grid(10, 10).correlated(50_000, np.random.default_rng(3), ("f0", "f1"), sigma)
        return float(np.corrcoef(drawn.T)[0, 1])

    assert r(0.1) > r(0.2) > r(0.7) > r(math.inf)
    assert r(math.inf) == pytest.approx(0, abs=0.02)


@given(sizes, st.data())
def test_hold_out_splits_by_its_conditions(sizes: list[int], data: st.DataObject) -> None:
    space = grid(*sizes, 2)
    chosen = data.draw(st.sets(st.integers(0, sizes[0] - 1), min_size=1))
    kept, held = space.hold_out({"f0": chosen, f"f{len(sizes)}": 1})
    everything = space.at(np.arange(len(space)))
    meets = np.isin(everything[:, 0], list(chosen)) & (everything[:, -1] == 1)
    assert held.tolist() == np.flatnonzero(meets).tolist()
    assert kept.tolist() == np.flatnonzero(~meets).tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.index([[0, 3]]), "f1 = 3 is out of range; it takes 0 to 2"),
        (lambda s: s.index([[0, -1]]), "out of range"),
        (lambda s: s.index([0, 1]), r"shape \(n, 2\)"),
        (lambda s: s.index([[0.5, 1.0]]), "integer"),
        (lambda s: s.at([6]), "index 6 is out of range"),
        (lambda s: s.at([-1]), "index -1"),
        (lambda s: s.sample(1, np.random.default_rng(0), {"f2": 0}), "unknown factor 'f2'"),
        (lambda s: s.sample(1, np.random.default_rng(0), {"f1": 9}), "f1 = 9"),
        (lambda s: s.pairs(1, np.random.default_rng(0), 3), "0 to 2 factors"),
        (lambda s: s.correlated(1, np.random.default_rng(0), ("f0", "f1"), 0.0), "above 0"),
        (lambda s: s.correlated(1, np.random.default_rng(0), ("f0", "f0"), 1.0), "two different"),
        (lambda s: s.hold_out({"f0": 5}), "f0 takes 0 to 1"),
        (lambda s: s.hold_out({"f0": (0, 1)}), "nothing to train on"),
        (lambda s: FactorSpace(s.factors, complete=False).index([[0, 0]]), "sample of them"),
        (lambda s: FactorSpace((s.factors[0], s.factors[0])), "two factors are called"),
        (lambda s: FactorSpace(()), "at least one"),
    ],
)
def test_mistakes_are_named(call, message: str) -> None:
    with pytest.raises(HatchelError, match=message):
        call(grid(2, 3))
