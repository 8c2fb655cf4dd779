import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.metrics import BetaVAEScore, FactorVAEScore, Probe, beta_vae_score, factor_vae_score, irs
from hatchel.metrics._interventions import SameValue, fixed_factors


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


def test_perfect_one_and_noise_at_chance(grid, noise):
    assert beta_vae_score(grid + 0.0, grid).value == 1
    assert beta_vae_score(noise, grid).value == pytest.approx(1 / 3, abs=0.04)


def test_features_are_mean_differences_of_pairs_that_share_the_factor(grid):
    points, labels = BetaVAEScore()._points(Probe(grid + 0.0, grid), 900, np.random.default_rng(0))
    assert points.shape == (900, 3)
    for k, size in enumerate((3, 4, 5)):
        assert not points[labels == k, k].any()
        # E|a - b| of two independent uniform values among m is (m^2 - 1) / (3 m).
        assert points[labels != k, k].mean() == pytest.approx((size**2 - 1) / (3 * size), rel=0.02)


def plain(codes, factors, votes, seed):
    """The definition written out, one vote at a time."""
    rng = np.random.default_rng(seed)
    variance = codes.var(axis=0, ddof=1)
    tables = []
    for count in votes:
        table = np.zeros((codes.shape[1], factors.shape[1]))
        for _ in range(count):
            k = rng.integers(factors.shape[1])
            value = factors[rng.integers(len(codes)), k]
            rows = rng.choice(np.flatnonzero(factors[:, k] == value), 64)
            table[np.argmin(codes[rows].var(axis=0, ddof=1) / variance), k] += 1
        tables.append(table)
    train, test = tables
    return test[np.arange(len(test)), train.argmax(axis=1)].sum() / test.sum()


def test_votes_are_those_of_the_definition_written_out(grid):
    rng = np.random.default_rng(0)
    codes = grid @ rng.normal(size=(3, 4)) + rng.normal(scale=0.3, size=(len(grid), 4))
    votes = (2000, 2000)
    value = FactorVAEScore(votes=votes).score(Probe(codes, grid)).value
    assert value == pytest.approx(np.mean([plain(codes, grid, votes, s) for s in range(2)]), abs=0.04)


def test_a_dead_dimension_never_wins_through_nan(grid, noise):
    """0/0 is NaN and numpy's argmin returns the first NaN: every vote would go to the dead dimension."""
    dead_first = np.c_[np.full(len(grid), 0.7), grid] + 0.0
    score = factor_vae_score(dead_first, grid)
    assert score.value == 1
    assert "left out under std 0.05: z0" in score.notes
    assert factor_vae_score(dead_first, grid, threshold=0).value == 1


def test_nearly_dead_dimensions_are_pruned_by_deviation_or_by_kl(grid, noise):
    codes = np.c_[grid - grid.mean(axis=0), 0.01 * noise[:, 0]]
    assert factor_vae_score(codes, grid).parts["active"] == 3
    std = np.array([0.1, 0.1, 0.1, 1.0])
    assert factor_vae_score(codes, grid, std=std, prune="kl", threshold=0.01).parts["active"] == 3
    with pytest.raises(HatchelError, match="needs the standard deviations"):
        factor_vae_score(codes, grid, prune="kl")


def test_all_dimensions_pruned_scores_zero(grid):
    assert factor_vae_score(np.zeros((len(grid), 2)), grid).value == 0


def test_noise_is_at_chance(grid, noise):
    assert factor_vae_score(noise, grid).value == pytest.approx(1 / 3, abs=0.04)


def test_values_that_do_not_repeat_are_refused(noise):
    with pytest.raises(HatchelError, match="factor_vae_score: needs a factor grid"):
        factor_vae_score(noise, np.repeat(np.arange(len(noise))[:, None] // 1.5 // 1, 2, axis=1), continuous=False)


def test_perfect_codes_do_not_move_while_their_factor_is_fixed(grid):
    assert irs(grid + 0.0, grid).value == pytest.approx(1)


def test_a_code_that_moves_more_while_its_factor_is_fixed_has_no_robustness():
    """1 nine times and 0 once while v = 0, the other way round while v = 1: off by 0.9 there, by 0.5 at all."""
    codes = np.array([1.0] * 9 + [0.0] + [0.0] * 9 + [1.0])[:, None]
    assert irs(codes, np.repeat([[0], [1]], 10, axis=0), quantile=1).value == 0


def test_deviation_by_hand():
    """z = v + w, v and w in {0, 1}: with v fixed z is off its mean by 0.5, its largest deviation at all is 1."""
    factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    score = irs(factors.sum(axis=1, keepdims=True) + 0.0, factors, quantile=1)
    assert score.matrix == pytest.approx(np.array([[0.5, 0.5]]))


def test_quantiles_are_numpys(noise, grid):
    from hatchel.metrics._interventions import _quantile

    for q in (0, 0.3, 0.99, 1):
        assert _quantile(noise, q) == pytest.approx(np.quantile(noise, q, axis=0))


def test_many_values_are_held_fixed_in_groups_as_in_the_reference_or_singly():
    factor = np.repeat(np.arange(40), 30)[:, None]
    assert irs(factor + 0.0, factor).value < 0.99
    assert irs(factor + 0.0, factor, bins=40).value == pytest.approx(1)


def test_dead_dimensions_have_no_weight(grid, noise):
    dead = np.c_[noise, np.zeros(len(grid))]
    assert irs(dead, grid).value == irs(noise, grid).value
    assert irs(np.zeros((len(grid), 2)), grid).value == 0
