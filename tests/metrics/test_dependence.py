import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

from hatchel.core.errors import HatchelError
from hatchel.metrics import PairwiseNMI, Probe, gaussian_tc, pairwise_nmi, total_correlation
from hatchel.metrics.information import discretise

rng = np.random.default_rng(0)
codes = rng.multivariate_normal([0, 0, 0], [[4, 1, 0], [1, 1, 0.2], [0, 0.2, 9]], size=900)


def test_it_is_half_the_log_ratio_of_determinants():
    s = np.cov(codes, rowvar=False)
    expected = 0.5 * (np.log(np.diag(s)).sum() - np.linalg.slogdet(s)[1])
    assert gaussian_tc(codes).value == pytest.approx(expected)
    assert gaussian_tc(codes * [3, 0.1, 7] + 5).value == pytest.approx(expected)


def test_samples_have_the_covariance_of_means_plus_the_mean_variance():
    std = rng.uniform(0.5, 2, size=(900, 3))
    closed = gaussian_tc(codes, std=std).parts["sample"]
    drawn = np.repeat(codes, 300, axis=0) + np.repeat(std, 300, axis=0) * rng.normal(size=(270_000, 3))
    assert gaussian_tc(drawn).value == pytest.approx(closed, abs=0.003)
    assert gaussian_tc(codes, samples=drawn[::300]).parts["sample"] == pytest.approx(closed, abs=0.05)


def test_low_tc_of_samples_can_hide_high_tc_of_means():
    """Cheng et al. 2020, Fig. 1: mu_2 = mu_1 / 10 is nearly shut down; its noise of variance 1 hides the dependence."""
    mu = rng.normal(size=(5000, 1)) * [1, 0.1] + rng.normal(scale=1e-4, size=(5000, 2))
    score = gaussian_tc(mu, std=np.array([0.1, 1.0]))
    assert score.value > 5
    assert score.parts["sample"] < 0.02


def test_over_active_dimensions_alone():
    """Three equal copies of a signal: two with a tenth of it as noise, one shut down, whose means count in full."""
    mu = rng.normal(size=(5000, 1)) * [1, 1, 0.1] + rng.normal(size=(5000, 3)) * [0.1, 0.1, 0.001]
    std = np.array([0.3, 0.4, 1.0])
    score = gaussian_tc(mu, std=std)
    two = gaussian_tc(mu[:, :2], std=std[:2])
    assert score.parts["active"] == 2
    assert score.parts["active_mean"] == pytest.approx(two.value)
    assert score.parts["active_sample"] == pytest.approx(two.parts["sample"])
    assert score.value > two.value + 2
    assert gaussian_tc(mu, std=2.0 * np.ones(3)).parts["active"] == 0
    assert gaussian_tc(mu, std=2.0 * np.ones(3)).parts["active_mean"] == 0
    assert "active" not in gaussian_tc(mu).parts


def test_dead_dimensions_are_left_out_and_copies_are_infinite_and_said_so():
    assert gaussian_tc(np.c_[codes, np.ones(900)]).value == pytest.approx(gaussian_tc(codes).value)
    copies = gaussian_tc(np.c_[codes, codes[:, 0]])
    assert copies.value > 12
    assert "infinite" in copies.notes[-1]
    assert gaussian_tc(np.ones((9, 2))).value == 0


def ring(n, width=0.1):
    turn, radius = rng.uniform(0, 2 * np.pi, n), 1 + width * rng.normal(size=n)
    return np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=1)


def ring_tc(width=0.1):
    """H(x) + H(y) - H(x, y) by numerical integration."""
    axis = np.linspace(-1.8, 1.8, 1201)
    radius = np.hypot(*np.meshgrid(axis, axis))
    p = np.exp(-0.5 * ((radius - 1) / width) ** 2) / np.maximum(radius, 1e-3)
    p /= p.sum()
    side = p.sum(axis=0)
    return (p * np.log(np.maximum(p, 1e-300))).sum() - 2 * (side * np.log(side)).sum()


def test_dependence_without_correlation_is_seen_where_gaussian_tc_reads_nothing():
    score = total_correlation(ring(4000))
    assert score.value == pytest.approx(ring_tc(), rel=0.15)
    assert score.interval.low < ring_tc() < score.interval.high
    assert score.parts["gaussian"] < 0.01
    # A sign shared by two dimensions, log 2, among three that have nothing to do with it.
    apart = np.abs(rng.normal(size=(4000, 2))) * rng.choice([-1, 1], size=(4000, 1))
    assert total_correlation(np.c_[apart, rng.normal(size=(4000, 3))]).value == pytest.approx(np.log(2), rel=0.15)


def test_three_signs_of_which_two_give_the_third():
    """Independent in pairs, so neither a correlation nor `pairwise_nmi` sees it."""
    rng = np.random.default_rng(0)
    sign = rng.choice([-1, 1], size=(10_000, 3))
    sign[:, 2] = sign[:, 0] * sign[:, 1]
    codes = sign * np.abs(rng.normal(size=(10_000, 3)))
    assert pairwise_nmi(codes).parts["mutual_information"] < 0.05
    score = total_correlation(codes)  # a lower bound: 9 to 16 % low, by the CPU's rounding and the draw
    assert score.value == pytest.approx(np.log(2), rel=0.2)
    assert score.value < np.log(2) < score.interval.high


def test_gaussian_codes_read_their_closed_form_under_any_increasing_maps():
    s = 0.6 * np.eye(4) + 0.4
    normal = rng.multivariate_normal(np.zeros(4), s, size=3000)
    closed = -0.5 * np.linalg.slogdet(s)[1]
    score = total_correlation(normal)
    assert score.value == pytest.approx(closed, abs=0.05)
    assert score.interval.low < closed < score.interval.high
    assert total_correlation(np.exp(normal)).value == pytest.approx(score.value)
    assert gaussian_tc(np.exp(3 * normal)).value < 0.5 * closed


def test_independent_codes_read_nothing():
    assert total_correlation(rng.uniform(size=(3000, 5))).value < 0.02
    assert total_correlation(rng.integers(3, size=(3000, 3))).value < 0.02  # ties
    assert total_correlation(rng.normal(size=(50, 1))).value == 0


def test_of_many_dimensions_the_active_ones_are_read():
    many = np.c_[ring(1500), 0.01 * rng.normal(size=(1500, 998))]
    std = np.r_[0.1, 0.1, np.ones(998)]
    score = total_correlation(many, std=std)
    assert score.value == pytest.approx(total_correlation(many[:, :2]).value, abs=0.02)
    assert score.notes[-1] == "over the 2 active dimensions of 1000 alone"
    with pytest.raises(HatchelError, match="1000 dimensions, at most 32 can be read; set subset to fewer"):
        total_correlation(many)
    assert total_correlation(many, subset=(0, 1)).value == pytest.approx(score.value, abs=0.02)
    with pytest.raises(HatchelError, match="30 rows of 4 dimensions; give at least 40 rows"):
        total_correlation(many[:30, :4])


def test_pairs_are_scikit_learns_geometric_nmi(grid, noise):
    codes = np.c_[noise[:, :2], noise[:, 0] + 0.3 * noise[:, 2]]
    bins = discretise(codes)
    score = pairwise_nmi(codes)
    for i in range(3):
        for j in range(3):
            expected = normalized_mutual_info_score(bins[:, i], bins[:, j], average_method="geometric")
            assert score.matrix[i, j] == pytest.approx(expected)


def test_independent_is_zero_and_dead_dimensions_do_not_divide_by_zero(grid):
    assert pairwise_nmi(grid + 0.0).value == pytest.approx(0, abs=1e-12)
    assert pairwise_nmi(np.c_[grid, np.zeros(len(grid))]).matrix[3].tolist() == [0, 0, 0, 0]


def test_features_of_a_layer(grid, noise):
    probe = Probe(noise, features={"conv": grid[:, [0, 0]] + 0.0})
    assert PairwiseNMI(layer="conv").score(probe).value == pytest.approx(1)
    with pytest.raises(HatchelError, match=r"unknown layer 'cnv'. Did you mean 'conv'"):
        PairwiseNMI(layer="cnv").score(probe)
    with pytest.raises(HatchelError, match="at least two dimensions"):
        pairwise_nmi(noise[:, :1])
