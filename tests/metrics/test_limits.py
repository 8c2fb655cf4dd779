"""No score outside its range, and hardly more memory for more rows."""

import tracemalloc

import numpy as np
import pytest

from hatchel.metrics import Metric, Probe
from hatchel.metrics.solvers import density

DIMS = 6
RANGES = {
    "active_units": (0, DIMS), "disintegration": (0, DIMS), "explicitness": (0, 1), "gaussian_tc": (0, np.inf),
    "jemmig": (0, np.inf), "total_correlation": (0, np.inf), "reconstruction": (0, np.inf),
    "information_isolation": (-np.inf, 0),
}  # fmt: skip
"""Of independent noise; all others are from 0 to 1."""
FREE = {"elbo_terms"}
"""Its value is a mean of draws of log q(z|x) - log p(z), of which a few may be negative."""
METRICS = sorted(set(Metric.members()) - FREE)
SIZES = (5, 4, 3)


def codes_of(name, factors, rng):
    n = len(factors)
    axes = np.c_[factors, np.zeros((n, DIMS - factors.shape[1]))]
    return {
        "perfect": axes,
        "noise": rng.normal(size=(n, DIMS)),
        "copies": np.repeat(factors[:, :1], DIMS, axis=1) + 1e-9 * rng.normal(size=(n, DIMS)),
        "huge": 1e6 * axes + rng.normal(size=(n, DIMS)),
        "one row apart": np.where(np.arange(n)[:, None] == 0, 1e3, 1e-3 * axes),
    }[name]


def probe_of(codes, factors, **sizes):
    images = np.zeros((len(codes), 1, 1, 1))
    return Probe(
        codes, factors, std=np.full(codes.shape, 0.1), samples=codes, others=[codes[:, ::-1]], clusters=factors[:, 0],
        features={"layer": codes}, images=(images, images), continuous=False, **sizes,
    )  # fmt: skip


def drawn_factors(n, rng):
    return np.stack([rng.integers(size, size=n) for size in SIZES], axis=1)


@pytest.fixture(autouse=True)
def _short_training(monkeypatch):
    monkeypatch.setattr(density, "EPOCHS", 2)


@pytest.mark.parametrize("kind", METRICS)
def test_no_score_is_outside_its_range(kind):
    rng = np.random.default_rng(0)
    factors = drawn_factors(240, rng)
    low, high = RANGES.get(kind, (0, 1))
    for name in ("perfect", "noise", "copies", "huge", "one row apart"):
        score = Metric.members()[kind]().score(probe_of(codes_of(name, factors, rng), factors))
        assert low - 1e-9 <= score.value <= high + 1e-9, name
        if score.matrix is not None and kind not in ("factor_vae_score",):
            known = score.matrix[np.isfinite(score.matrix)]
            assert (known >= 0).all(), name


def peak(kind, n):
    """Bytes that a score takes beside the probe."""
    rng = np.random.default_rng(0)
    factors = drawn_factors(n, rng)
    probe = probe_of(rng.normal(size=(n, DIMS)) + factors[:, :1], factors, train=300, test=150)
    metric = Metric.members()[kind]
    names = metric.help()
    few = {"draws": 50, "posteriors": 500} if "draws" in names else {}
    few |= {"points": (100, 50)} if "points" in names else {}
    few |= {"votes": (100, 50)} if "votes" in names else {}
    tracemalloc.start()
    try:
        metric(**few).score(probe)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", [kind for kind in METRICS if kind != "dci"])  # it reads the train and test rows alone
def test_memory_grows_by_few_copies_of_the_codes_at_most(kind):
    peak(kind, 1_000)  # imports
    few, many = 100_000, 180_000
    grown = (peak(kind, many) - peak(kind, few)) / ((many - few) * DIMS * 8)
    # An index of the rows of each value and the codes of one dimension; of `udr` ranks of two models.
    assert grown < (6 if kind == "udr" else 0.8)


@pytest.mark.parametrize("kind", ["mig", "mig_sup", "dcimig", "jemmig", "med", "modularity", "pairwise_nmi"])
def test_counts_take_bins_of_one_byte(kind):
    peak(kind, 1_000)
    few, many = 140_000, 220_000
    assert (peak(kind, many) - peak(kind, few)) / ((many - few) * DIMS * 8) < 0.3
