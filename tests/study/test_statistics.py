import math

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, sem, spearmanr, t, ttest_ind, ttest_rel

from hatchel.core.errors import HatchelError
from hatchel.study.statistics import (
    Mean,
    holm,
    over_seeds,
    paired_difference,
    probability_of_improvement,
    rank_correlation,
)

rng = np.random.default_rng(0)


RUNS, OTHERS = rng.normal(3, 2, 8), rng.normal(1, 0.5, 6)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
def test_means_have_students_interval(level):
    found = over_seeds(RUNS, level=level)
    assert found.value == pytest.approx(RUNS.mean())
    assert (found.low, found.high) == pytest.approx(t.interval(level, 7, RUNS.mean(), sem(RUNS)))
    assert (found.n, found.level) == (8, level)


def test_paired_and_unpaired_differences_are_scipys():
    pair = ttest_rel(RUNS[:6], OTHERS)
    assert min(Mean.of(RUNS[:6] - OTHERS).p(low=0.0)) == pytest.approx(pair.pvalue)
    found = paired_difference(RUNS[:6], OTHERS)
    assert (found.low, found.high) == pytest.approx(tuple(pair.confidence_interval(0.95)))
    welch, own = ttest_ind(RUNS, OTHERS, equal_var=False), Mean.welch(RUNS, OTHERS)
    assert own.df == pytest.approx(welch.df)
    assert min(own.p(low=0.0)) == pytest.approx(welch.pvalue)
    assert (own.estimate().low, own.estimate().high) == pytest.approx(tuple(welch.confidence_interval(0.95)))


def test_p_of_a_mean_between_limits_is_where_the_interval_touches_them():
    mean = Mean.of(RUNS)
    for level in (0.5, 0.9, 0.99):
        ends = mean.estimate(level)
        assert mean.p(ends.low, math.inf)[0] == pytest.approx(1 - level)
        assert mean.p(ends.low, ends.high)[0] == pytest.approx(1 - level)  # all of the interval between
        assert mean.p(ends.high, math.inf)[1] == pytest.approx(1 - level)  # all of it outside
        assert mean.p(-math.inf, ends.low)[1] == pytest.approx(1 - level)
    assert Mean.of([2.0]).p(0.0) == (1.0, 1.0)
    assert Mean.of([2.0, 2.0]).p(0.0) == (0.0, 1.0)
    assert Mean.of([2.0, 2.0]).p(2.0) == (1.0, 1.0)  # on the limit, and nothing varies


def test_seeds_needed_are_the_first_at_which_the_interval_leaves_the_limit_out():
    mean = Mean.of([0.3, -0.1, 0.2, 0.4, 0.1, -0.2])
    spread = mean.error * 6**0.5
    wanted = next(n for n in range(2, 101) if mean.value > t.ppf(1 - 0.01 / 2, n - 1) * spread / n**0.5)
    assert mean.needed(0.0, math.inf, 0.01) == wanted
    assert wanted > 6
    assert Mean.of([0.3, -0.31, 0.2, -0.2, 0.01]).needed(0.0, math.inf) is None


def test_holms_correction_by_hand():
    # Sorted: .005 x 4, .01 x 3, .03 x 2, .04 x 1, and none below the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


def test_centres():
    runs = [0.0, 1.0, 2.0, 3.0, 100.0]
    assert over_seeds(runs, centre="median").value == 2
    assert over_seeds(runs, centre="interquartile").value == 2
    assert over_seeds(runs).value == pytest.approx(21.2)


def test_pairing_removes_what_seeds_have_in_common():
    shared = rng.normal(scale=10, size=12)
    result = paired_difference(shared + 0.5 + rng.normal(scale=0.1, size=12), shared)
    assert result.value == pytest.approx(0.5, abs=0.1)
    assert result.low > 0.3
    with pytest.raises(HatchelError, match="3 and 2 runs"):
        paired_difference([1, 2, 3], [1, 2])


def test_probability_of_improvement_is_mann_whitney_and_antisymmetric():
    a, b = rng.integers(5, size=9), rng.integers(4, size=7)  # with ties
    expected = mannwhitneyu(a, b).statistic / 63
    assert probability_of_improvement(a, b).value == pytest.approx(expected)
    assert probability_of_improvement(b, a).value == pytest.approx(1 - expected)
    clear = probability_of_improvement([3, 4, 5], [0, 1, 2])
    assert (clear.value, clear.low) == (1, 1)


def test_rank_correlation_is_spearmans():
    table = {"mig": rng.normal(size=30), "sap": rng.normal(size=30).round(), "dci": rng.normal(size=30)}
    result = rank_correlation(table)
    expected = spearmanr(np.stack(list(table.values())), axis=1).statistic
    assert result == pytest.approx(expected)
    constant = rank_correlation({"a": [1, 1, 1], "b": [1, 2, 3]})
    assert constant.tolist() == [[1, 0], [0, 1]]


def test_too_few_runs_or_not_numbers_are_refused():
    with pytest.raises(HatchelError, match="at least 2"):
        over_seeds([1.0])
    with pytest.raises(HatchelError, match="run 1 is NaN"):
        over_seeds([1.0, float("nan")])
    with pytest.raises(HatchelError, match="one value for each run"):
        rank_correlation({"a": [1, 2], "b": [1, 2, 3]})


def test_same_seed_same_interval():
    assert over_seeds([1, 2, 4], centre="median", seed=3) == over_seeds([1, 2, 4], centre="median", seed=3)
