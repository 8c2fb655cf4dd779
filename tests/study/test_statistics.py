import numpy as np
import pytest
from scipy.stats import mannwhitneyu, spearmanr

from hatchel.core.errors import HatchelError
from hatchel.study.statistics import over_seeds, paired_difference, probability_of_improvement, rank_correlation

rng = np.random.default_rng(0)


def test_intervals_over_seeds_have_about_the_width_of_the_normal_one():
    runs = rng.normal(loc=3, scale=2, size=50)
    result = over_seeds(runs)
    half = 1.96 * runs.std() / np.sqrt(50)
    assert result.value == pytest.approx(runs.mean())
    assert result.low == pytest.approx(runs.mean() - half, abs=0.1)
    assert result.high == pytest.approx(runs.mean() + half, abs=0.1)


def test_intervals_cover_the_truth_as_often_as_they_say():
    hits = [over_seeds(rng.normal(size=25), replicates=300, level=0.9, seed=i) for i in range(300)]
    assert np.mean([h.low <= 0 <= h.high for h in hits]) == pytest.approx(0.88, abs=0.05)


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
    assert result.matrix == pytest.approx(expected)
    assert result.to_dict()["mig"]["dci"] == pytest.approx(expected[0, 2])
    constant = rank_correlation({"a": [1, 1, 1], "b": [1, 2, 3]})
    assert constant.matrix.tolist() == [[1, 0], [0, 1]]


def test_too_few_runs_or_not_numbers_are_refused():
    with pytest.raises(HatchelError, match="at least 2"):
        over_seeds([1.0])
    with pytest.raises(HatchelError, match="run 1 is NaN"):
        over_seeds([1.0, float("nan")])
    with pytest.raises(HatchelError, match="one value for each run"):
        rank_correlation({"a": [1, 2], "b": [1, 2, 3]})


def test_same_seed_same_interval():
    assert over_seeds([1, 2, 4], seed=3) == over_seeds([1, 2, 4], seed=3)
