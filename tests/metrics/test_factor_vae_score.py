import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.metrics import FactorVAEScore, Probe, factor_vae_score


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
        factor_vae_score(noise, np.arange(len(noise)) // 1.5 // 1, continuous=False)
