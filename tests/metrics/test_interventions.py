import numpy as np

from hatchel.metrics import Probe
from hatchel.metrics.interventions import SameValue, fixed_factors


def test_drawn_rows_share_the_value_and_are_uniform_among_its_rows():
    labels = np.array([2, 0, 2, 1, 2, 0])
    index = SameValue(labels)
    like = np.array([0, 1, 3])
    rows = index.draw(like, np.random.default_rng(0), 30_000)
    assert np.array_equal(labels[rows], np.repeat(labels[like], 30_000).reshape(3, -1))
    counts = np.bincount(rows[0], minlength=6)
    assert set(np.flatnonzero(counts)) == {0, 2, 4}
    assert np.abs(counts[[0, 2, 4]] / 10_000 - 1).max() < 0.03


def test_pairs_share_the_value_each_with_its_own():
    labels = np.random.default_rng(1).integers(5, size=400)
    left = np.arange(400).reshape(20, 20)
    right = SameValue(labels).draw(left, np.random.default_rng(0))
    assert np.array_equal(labels[left], labels[right])


def test_every_varying_factor_is_fixed_about_equally_often(grid):
    probe = Probe(grid + 0.0, np.c_[grid, np.ones(len(grid))])
    counts = dict(fixed_factors(probe, 30_000, np.random.default_rng(0)))
    assert sorted(counts) == [0, 1, 2]
    assert sum(counts.values()) == 30_000
    assert np.abs(np.array(list(counts.values())) / 10_000 - 1).max() < 0.03


def test_the_index_is_built_once_a_probe(grid):
    probe = Probe(grid + 0.0, grid)
    assert SameValue.of(probe, 1) is SameValue.of(probe, 1)
