import numpy as np
import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.latents.diagonal import DiagonalGaussian
from hatchel.metrics import RMIG, ELBOTerms, InformationIsolation, Probe, elbo_terms, information_isolation
from hatchel.metrics._aggregate import Aggregate, _drawn_of_all, log_given, log_joint, log_marginals
from hatchel.objective.estimators.mixture import exact_log_q

rng = np.random.default_rng(0)
mean, std = rng.normal(size=(700, 3)), rng.uniform(0.1, 1.5, size=(700, 3))


def test_densities_are_those_of_the_exact_estimator():
    z = mean[:90] + std[:90] * rng.normal(size=(90, 3))
    q = DiagonalGaussian(torch.from_numpy(mean), 2 * torch.from_numpy(std).log())
    expected = exact_log_q(q, torch.from_numpy(z), ((0,), (1,), (2,), (0, 1, 2))).numpy()
    assert np.abs(log_marginals(mean, std, z) - expected[:3]).max() < 1e-5
    assert np.abs(log_joint(mean, std, z) - expected[3]).max() < 1e-5


def test_tiny_deviations_are_taken_in_double_precision():
    """Two codes 1e-7 apart and 3 from 0: single precision cannot tell them apart, the posteriors can."""
    pair = np.array([[3.0], [3.0 + 1e-7]])
    density = log_marginals(pair, np.full((2, 1), 1e-8), pair)[0]
    assert density == pytest.approx(np.full(2, -np.log(2) - np.log(1e-8) - 0.5 * np.log(2 * np.pi)), abs=1e-6)
    assert log_joint(pair, np.full((2, 1), 1e-8), pair) == pytest.approx(density)


def test_tiles_do_not_change_the_sum(monkeypatch):
    z = mean[:50]
    whole = log_joint(mean, std, z), log_marginals(mean, std, z)
    monkeypatch.setattr("hatchel.metrics._aggregate.TILE", 2000)
    assert np.allclose(log_joint(mean, std, z), whole[0], atol=1e-6)
    assert np.allclose(log_marginals(mean, std, z), whole[1], atol=1e-6)


def test_metrics_of_one_seed_share_one_computation(monkeypatch):
    calls = []
    monkeypatch.setattr("hatchel.metrics._aggregate.log_joint", lambda *a: calls.append(1) or log_joint(*a))
    probe = Probe(mean, std=std)
    ELBOTerms().score(probe, 3)
    InformationIsolation().score(probe, 3)
    assert len(calls) == 1
    ELBOTerms().score(probe, 4)
    assert len(calls) == 2


def test_draws_come_from_their_own_posterior():
    q = Aggregate.of(Probe(mean, std=std), np.random.default_rng(1), 400)
    noise = (q.draws - mean[q.rows][q.own]) / std[q.rows][q.own]
    expected = -0.5 * noise**2 - np.log(std[q.rows][q.own]) - 0.5 * np.log(2 * np.pi)
    assert q.given_x == pytest.approx(expected.T)
    assert noise.std() == pytest.approx(1, abs=0.06)


def test_correlated_noise_against_scipys_density():
    from scipy.stats import multivariate_normal

    noise = np.array([[1, 0.5, 0], [0.5, 1, -0.3], [0, -0.3, 1]])
    z = mean[:6] + 0.1
    densities = [
        [multivariate_normal(m, np.outer(s, s) * noise).pdf(row) for m, s in zip(mean, std, strict=True)] for row in z
    ]
    assert log_joint(mean, std, z, noise) == pytest.approx(np.log(np.mean(densities, axis=1)), abs=1e-5)
    own = [np.log(densities[i][i]) for i in range(6)]
    assert log_given(mean[:6], std[:6], z, noise) == pytest.approx(own)


def test_the_three_terms_add_up_to_the_kl():
    codes = rng.normal(size=(500, 4)) @ rng.normal(size=(4, 4))
    score = elbo_terms(codes, np.full((500, 4), 0.3))
    total = sum(score.parts[k] for k in ("mutual_information", "total_correlation", "dimension_kl"))
    assert total == pytest.approx(score.value, abs=1e-4)
    closed = 0.5 * (codes**2 + 0.09 - 1 - np.log(0.09)).sum(axis=1).mean()
    assert score.value == pytest.approx(closed, rel=0.05)


def test_gaussian_data_have_closed_forms():
    """mu ~ N(0, [[1, r], [r, 1]]) and std s make q(z) normal with variance 1 + s^2 and correlation r / (1 + s^2)."""
    r, s = 0.8, 0.7
    codes = rng.multivariate_normal([0, 0], [[1, r], [r, 1]], size=6000)
    score = elbo_terms(codes, np.full((6000, 2), s), draws=6000)
    each = 0.5 * np.log(1 + 1 / s**2)
    assert list(score.parts["mutual_information_per_dimension"].values()) == pytest.approx([each] * 2, abs=0.03)
    tc = -0.5 * np.log(1 - (r / (1 + s**2)) ** 2)
    assert score.parts["total_correlation"] == pytest.approx(tc, abs=0.03)
    assert score.parts["mutual_information"] == pytest.approx(2 * each - tc, abs=0.06)
    assert score.parts["dimension_kl"] == pytest.approx(s**2 - np.log(1 + s**2), abs=0.03)


def test_what_the_number_of_posteriors_allows_is_said():
    score = elbo_terms(rng.normal(size=(300, 1)), np.full((300, 1), 1e-4), posteriors=100)
    assert score.parts["mutual_information"] == pytest.approx(np.log(100), abs=0.05)
    assert "cannot exceed log 100 = 4.61 nats" in score.notes[-1]


def test_the_two_sides_of_the_lemma_agree():
    """E KL(q(z_S|x) || prod q(z_i|x)) - TC(z_S) against I(z_S;x) - sum I(z_i;x), with the same draws."""
    codes, deviations = rng.normal(size=(800, 3)) @ rng.normal(size=(3, 3)), np.full((800, 3), 0.4)
    for subset in ([0, 1, 2], [0, 2], [1]):
        score = information_isolation(codes, deviations, subset=tuple(subset), by="mixture")
        q = Aggregate.of(Probe(codes, std=deviations), np.random.default_rng(0))
        z, own = q.draws[:, subset], q.rows[q.own]
        joint = log_joint(codes[q.rows][:, subset], deviations[q.rows][:, subset], z)
        together = (log_given(codes[own][:, subset], deviations[own][:, subset], z) - joint).mean()
        assert score.parts["together"] == pytest.approx(together, abs=1e-4)
        assert score.value == pytest.approx(together - sum(score.parts["singly"].values()), abs=1e-4)
        assert score.interval.low < score.value < score.interval.high or subset == [1]


def test_independent_dimensions_are_isolated_and_copies_are_not():
    axis = np.linspace(-3, 3, 25)
    independent = np.stack([a.ravel() for a in np.meshgrid(axis, axis)], axis=1)  # an exact product
    assert information_isolation(independent, np.full(2, 0.3), by="mixture").value == pytest.approx(0, abs=1e-4)
    assert information_isolation(independent, np.full(2, 0.3)).value == pytest.approx(0, abs=0.02)
    copies = np.repeat(rng.normal(size=(1000, 1)), 2, axis=1)
    shared = -0.5 * np.log(1 - (1 / (1 + 0.3**2)) ** 2)  # -TC of two noisy copies of a normal variable
    for by in ("either", "mixture", "density"):
        assert information_isolation(copies, np.full(2, 0.3), by=by).value == pytest.approx(-shared, abs=0.08)


@pytest.mark.parametrize("r", [0.0, 0.9])
@pytest.mark.parametrize("s", [0.2, 0.3, 0.5])
def test_ten_gaussian_dimensions_that_a_mixture_cannot_tell_apart(s, r):
    """mu ~ N(0, (1 - s²) I), noise of variance s² and correlation r: I(z;x) is 7 to 17 nats, log 2000 is 7.6."""
    noise = (1 - r) * np.eye(10) + r
    codes = np.random.default_rng(1).normal(size=(2000, 10)) * np.sqrt(1 - s**2)
    truth = 0.5 * np.linalg.slogdet((1 - s**2) * np.eye(10) + s**2 * noise)[1] - 0.5 * np.linalg.slogdet(noise)[1]
    score = information_isolation(codes, np.full(10, s), noise=noise, draws=500)
    assert score.value == pytest.approx(truth, abs=0.1)
    assert score.interval.low <= truth + 1e-9
    assert score.interval.high >= truth - 1e-9
    each = -0.5 * np.log(s**2)
    assert score.parts["singly"]["z3"] == pytest.approx(each, abs=0.15)
    assert score.parts["together"] == pytest.approx(10 * each + truth, abs=0.4)


def test_the_mixture_is_taken_where_its_own_posteriors_hardly_matter():
    """36 places, each 20 times: the sum sees them all, a density of 720 rows does not."""
    places = np.stack([a.ravel() for a in np.meshgrid(range(6), range(6))], axis=1) @ [[1.0, 0.7], [-0.7, 1.0]]
    codes = np.tile(places, (20, 1))
    chosen = information_isolation(codes, np.full(2, 0.1))
    assert chosen.value == information_isolation(codes, np.full(2, 0.1), by="mixture").value
    assert chosen.parts["together"] == pytest.approx(np.log(36), abs=0.01)
    assert chosen.interval.high - chosen.interval.low < 0.2
    wide = information_isolation(rng.normal(size=(500, 6)), np.full(6, 0.2), by="mixture")
    assert wide.value < -2  # the truth is 0
    assert wide.interval.high == 0


def test_a_subset_names_dimensions_once():
    for subset in ((0, 5), (1, 1), ()):
        with pytest.raises(HatchelError, match="expected dimensions 0 to 1, each once"):
            information_isolation(np.zeros((9, 2)), np.ones(2), subset=subset)


def test_correlated_noise_adds_its_closed_form():
    """The paper's violation: noise with (1 - r) I + r 1 1^T, r = 0.9."""
    codes, r = rng.normal(size=(600, 3)), 0.9
    noise = (1 - r) * np.eye(3) + r
    for subset in (None, (0, 2)):
        score = information_isolation(codes, np.full(3, 0.6), noise=noise, subset=subset, by="mixture")
        size = 3 if subset is None else 2
        closed = -0.5 * np.log((1 - r) ** (size - 1) * (1 - r + size * r))
        assert score.parts["conditional"] == pytest.approx(closed)
        # Here the means are independent: what the noise of variance s² in z of variance 1 + s² leaves is Gaussian.
        q = r * 0.36 / 1.36
        marginal = -0.5 * np.log((1 - q) ** (size - 1) * (1 - q + size * q))
        assert score.parts["marginal"] == pytest.approx(marginal, abs=0.15)  # of 600 posteriors
        exact = information_isolation(codes, np.full(3, 0.6), noise=noise, subset=subset, by="density")
        assert exact.parts["marginal"] == pytest.approx(marginal, abs=0.05)


def test_noise_must_be_a_correlation_matrix():
    for noise in (np.ones((2, 2)), 2 * np.eye(2), np.eye(3)):
        with pytest.raises(HatchelError, match="noise: expected a positive definite correlation matrix, 2 x 2"):
            information_isolation(np.zeros((9, 2)), np.ones(2), noise=noise)


def test_draws_that_are_not_kept_change_nothing(monkeypatch):
    """The rows that a density reads are those of all draws at once, and the generator ends where it did."""
    probe, rows, left = Probe(mean, std=std), 90, np.random.default_rng(5)
    monkeypatch.setattr("hatchel.metrics.solvers.density.ROWS", rows)
    monkeypatch.setattr("hatchel.metrics.information.BLOCK", 200)
    found = _drawn_of_all(probe, [2, 0], left)
    right = np.random.default_rng(5)
    z = mean + std * right.standard_normal(mean.shape)
    assert found == pytest.approx(z[right.choice(len(z), rows, replace=False)][:, [2, 0]])
    assert left.random() == right.random()


def test_the_joint_density_is_found_for_those_that_read_it_alone(monkeypatch):
    calls = []
    monkeypatch.setattr("hatchel.metrics._aggregate.log_joint", lambda *a: calls.append(1) or log_joint(*a))
    probe = Probe(mean, rng.integers(3, size=(700, 2)), std=std)
    RMIG().score(probe, 3)
    assert not calls
    ELBOTerms().score(probe, 3)
    assert len(calls) == 1
