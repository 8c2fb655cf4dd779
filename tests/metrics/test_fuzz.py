"""Every metric on codes and factors that nobody should have: a score in its range, or one line that says why not."""

import inspect
import json
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hatchel.metrics
from hatchel.core.errors import HatchelError
from hatchel.metrics import Metric, Score, Scores, evaluate

CASES = int(os.environ.get("HATCHEL_FUZZ", "1500"))
"""`make fuzz` tries 10,000 new ones; otherwise a few, always the same."""
fuzz = settings(
    max_examples=CASES, derandomize="HATCHEL_FUZZ" not in os.environ, deadline=None, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip

SMALL: dict[str, dict[str, Any]] = {
    "beta_vae_score": {"points": (40, 20), "pairs": 4},
    "factor_vae_score": {"votes": (40, 20), "batch": 4},
    "elbo_terms": {"draws": 30},
    "information_isolation": {"draws": 30},
    "rmig": {"draws": 30},
}
"""Fewer draws than usual: what goes wrong goes wrong with few as well."""
SKLEARN = {"engine": "sklearn"}
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "dci": [{"regressor": "forest"}, {"regressor": "lasso"}, {"regressor": "mi"}, {"regressor": "lightgbm"}, SKLEARN],
    "disintegration": [{"by": "r2"}],
    "downstream": [{"model": "boosting"}, {"share": 0.5}, {"labels": None}, SKLEARN],
    "explicitness": [{"chance_at_zero": True}, SKLEARN],
    "factor_vae_score": [{"prune": "kl"}],
    "jemmig": [{"bins": 2}],
    "modularity": [{"empty": "left out"}],
    "sap": [{"balanced_accuracy": True}, SKLEARN],
    "infomec": [SKLEARN],
    "beta_vae_score": [SKLEARN],
    "udr": [{"similarity": "lasso"}, {"informative": "kl"}],
}
UNBOUNDED = {"elbo_terms", "information_isolation", "gaussian_tc", "jemmig", "reconstruction"}

Make = Callable[[np.random.Generator, int, int], Any]


def normal(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(n, d))


def some_constant(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    codes = normal(rng, n, d)
    codes[:, rng.random(d) < 0.5] = rng.choice([0.0, 0.1, -7.0, 1e30])
    return codes


def one_bad(value: Any) -> Make:
    def make(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
        codes = normal(rng, n, d)
        codes[rng.integers(n), rng.integers(d)] = value
        return codes

    return make


def ragged(rng: np.random.Generator, n: int, d: int) -> list[list[float]]:
    rows = normal(rng, n, d).tolist()
    rows[int(rng.integers(n))].append(1.0)
    return rows


CODES: dict[str, Make] = {
    "normal": normal,
    "float32": lambda r, n, d: normal(r, n, d).astype(np.float32),
    "float16": lambda r, n, d: normal(r, n, d).astype(np.float16),
    "tensor": lambda r, n, d: torch.tensor(normal(r, n, d), requires_grad=True),
    "bfloat16": lambda r, n, d: torch.tensor(normal(r, n, d), dtype=torch.bfloat16),
    "integers": lambda r, n, d: r.integers(-3, 3, size=(n, d)),
    "booleans": lambda r, n, d: r.random((n, d)) < 0.5,
    "large integers": lambda r, n, d: r.integers(2**62, size=(n, d), dtype=np.uint64),
    "collapsed": lambda r, n, d: np.zeros((n, d)),
    "collapsed elsewhere": lambda r, n, d: np.full((n, d), 0.1, dtype=r.choice([np.float32, np.float64])),
    "nearly collapsed": lambda r, n, d: 0.3 + 1e-17 * r.integers(-3, 3, size=(n, d)),
    "constant columns": some_constant,
    "tiny": lambda r, n, d: normal(r, n, d) * r.choice([1e-20, 1e-45, 1e-160, 1e-310]),
    "huge": lambda r, n, d: normal(r, n, d) * r.choice([1e20, 1e38, 1e160, 1e307]),
    "of all sizes": lambda r, n, d: normal(r, n, d) * 10.0 ** r.integers(-30, 30, size=d),
    "an outlier": one_bad(1e30),
    "NaN": one_bad(np.nan),
    "infinite": one_bad(-np.inf),
    "complex": lambda r, n, d: normal(r, n, d) * 1j,
    "words": lambda r, n, d: r.choice(["a", "b"], size=(n, d)),
    "objects": lambda r, n, d: np.array([[object()] * d] * n),
    "numbers as objects": lambda r, n, d: normal(r, n, d).astype(object),
    "dates": lambda r, n, d: np.zeros((n, d), dtype="datetime64[s]"),
    "ragged": ragged,
    "a list": lambda r, n, d: normal(r, n, d).tolist(),
    "a vector": lambda r, n, d: normal(r, n, d)[:, 0],
    "a number": lambda r, n, d: 1.0,
    "nothing": lambda r, n, d: None,
    "empty": lambda r, n, d: np.empty((0, d)),
    "no columns": lambda r, n, d: np.empty((n, 0)),
    "three axes": lambda r, n, d: r.normal(size=(n, d, 2)),
    "another length": lambda r, n, d: normal(r, n + 1, d),
    "a sparse tensor": lambda r, n, d: torch.eye(n, d).to_sparse(),
    "a masked array": lambda r, n, d: np.ma.masked_less(normal(r, n, d), 0),
}
FACTORS: dict[str, Make] = {
    "classes": lambda r, n, k: r.integers(3, size=(n, k)),
    "two classes": lambda r, n, k: r.integers(2, size=(n, k)),
    "rare": lambda r, n, k: (r.random((n, k)) < 1.5 / n).astype(int),
    "continuous": lambda r, n, k: r.normal(size=(n, k)),
    "huge": lambda r, n, k: r.normal(size=(n, k)) * r.choice([1e38, 1e300, 1e307]),
    "booleans": lambda r, n, k: r.random((n, k)) < 0.5,
    "words": lambda r, n, k: r.choice(["", "a", "b\n"], size=(n, k)),
    "mixed": lambda r, n, k: np.array(
        [[["x", 1, None, 2.5][r.integers(4)] for _ in range(k)] for _ in range(n)], object
    ),
    "a tensor": lambda r, n, k: torch.tensor(r.integers(3, size=(n, k))),
    "bfloat16": lambda r, n, k: torch.tensor(r.integers(3, size=(n, k)), dtype=torch.bfloat16),
    "one value": lambda r, n, k: np.zeros((n, k), dtype=int),
    "one varies": lambda r, n, k: np.c_[r.integers(2, size=n), np.zeros((n, k - 1), dtype=int)],
    "all different": lambda r, n, k: np.tile(np.arange(n)[:, None], k),
    "wide integers": lambda r, n, k: r.choice([-(2**63), 0, 2**63 - 1], size=(n, k)),
    "unsigned": lambda r, n, k: r.integers(2**64, size=(n, k), dtype=np.uint64),
    "copied": lambda r, n, k: np.repeat(r.integers(3, size=(n, 1)), k, axis=1),
    "NaN": one_bad(np.nan),
    "ragged": ragged,
    "empty": lambda r, n, k: np.empty((0, k)),
    "another length": lambda r, n, k: r.integers(3, size=(n + 2, k)),
    "three axes": lambda r, n, k: r.integers(3, size=(n, k, 2)),
}
USUAL = ["normal", "collapsed", "constant columns", "classes", "two classes"]


def mostly(makers: dict[str, Make], usual: list[str]) -> st.SearchStrategy[str]:
    return st.one_of(st.sampled_from(usual), st.sampled_from(sorted(makers)))


shapes = st.tuples(st.one_of(st.integers(1, 9), st.integers(10, 60)), st.integers(1, 12), st.integers(1, 4))
codes_of = mostly(CODES, ["normal", "collapsed", "constant columns"])
factors_of = mostly(FACTORS, ["classes", "two classes", "continuous"])
seeds = st.one_of(
    st.integers(0, 2**32), st.integers(0, 2**32), st.just(0), st.sampled_from([-1, 2**70, 1.5, None, "0", True])
)
bootstraps = st.sampled_from([*[0] * 9, *[2] * 9, -1, -(10**9), 1.5, "2", None])
splits = st.sampled_from(
    [{}] * 18 + [{"train": a, "test": b} for a, b in ((5, 3), (0, 2), (-1, 4), (10**9, 1), (2.5, 1), ("a", 1))]
    + [{"train": np.arange(4)}, {"train": np.arange(4), "test": np.arange(4)}, {"train": np.array([99]), "test": [0]},
       {"train": np.array([0, 1]), "test": np.array([-1])}, {"train": np.array([], int), "test": np.array([0])},
       {"train": np.array([0.5]), "test": np.array([1.5])}]
)  # fmt: skip


def checked(call: Callable[[], Any]) -> Any:
    """What a call gives, or the one line with which it refuses."""
    try:
        return call()
    except HatchelError as error:
        line = str(error)
    assert line.strip()
    assert "\n" not in line
    assert len(line) < 500
    return None


def assert_sound(score: Score, d: int) -> None:
    json.loads(score.to_json())
    kind = score.name.partition("(")[0]
    largest = {"active_units": d, "disintegration": d}.get(kind, np.inf if kind in UNBOUNDED else 1)
    lowest = -1 if score.name == "explicitness(chance_at_zero=True)" else 0
    if kind not in ("elbo_terms", "information_isolation"):
        assert lowest - 1e-9 <= score.value <= largest + 1e-9, score
    if kind in ("dci", "med", "infomec", "clustering"):
        for name, value in score.parts.items():
            if name not in ("error", "dimensions") and isinstance(value, float):
                assert -1e-9 <= value <= 1 + 1e-9, (name, value)


def arguments(kind: str, codes: str, factors: str, std: str, shape: tuple[int, int, int], seed: int) -> dict[str, Any]:
    """Arrays for every argument of the metric's function."""
    rng = np.random.default_rng(seed)
    n, d, k = shape

    def made(makers: dict[str, Make], name: str, columns: int) -> Any:
        return makers[name](rng, n, columns)

    def spread() -> Any:
        return np.exp(normal(rng, n, d)) if std in USUAL else made(CODES, std, d)

    makers: dict[str, Callable[[], Any]] = {
        "codes": lambda: made(CODES, codes, d),
        "factors": lambda: made(FACTORS, factors, k),
        "samples": lambda: made(CODES, std, d),
        "std": spread,
        "noise": lambda: np.eye(d),
        "features": lambda: {"conv": made(CODES, std, d)},
        "others": lambda: [made(CODES, codes, d), made(CODES, std, d)],
        "others_std": lambda: [spread(), spread()],
        "clusters": lambda: made(FACTORS, factors, 1),
        "images": lambda: made(CODES, codes, d),
        "reconstructions": lambda: made(CODES, std, d),
    }
    known = inspect.signature(getattr(hatchel.metrics, kind)).parameters
    return {name: make() for name, make in makers.items() if name in known}


@fuzz
@given(
    st.sampled_from(sorted(Metric.members())), codes_of, factors_of, codes_of, shapes, st.integers(0, 2**32), seeds,
    bootstraps, splits, st.integers(0, 5), st.sampled_from([None, None, None, True, False, [True, False], "x"]),
)  # fmt: skip
def test_a_metric_gives_a_score_in_its_range_or_one_line(
    kind, codes, factors, std, shape, make, seed, bootstrap, split, variant, continuous
):
    given = arguments(kind, codes, factors, std, shape, make)
    metric = Metric.members()[kind]
    given |= SMALL.get(kind, {}) | ([{}, *VARIANTS.get(kind, [])] * 6)[variant] | (split if metric.fits else {})
    if continuous is not None and "factors" in metric.needs:
        given["continuous"] = continuous
    found = checked(lambda: getattr(hatchel.metrics, kind)(**given, seed=seed, bootstrap=bootstrap))
    if found is not None:
        assert isinstance(found, Score)
        assert_sound(found, shape[1])


FAST = [from_options(**SMALL.get(kind, {})) for kind, from_options in sorted(Metric.members().items())]


@settings(fuzz, max_examples=max(20, CASES // 50))
@given(codes_of, factors_of, shapes, st.integers(0, 2**32))
def test_evaluate_says_what_can_be_said_and_why_not_the_rest(codes, factors, shape, make):
    given = arguments("mig", codes, factors, "normal", shape, make)
    for which in ("all", FAST) if make % 10 == 0 else (FAST,):
        found = checked(lambda which=which: evaluate(given["codes"], given["factors"], which))
        if found is not None:
            assert isinstance(found, Scores)
            for score in found.values():
                assert_sound(score, shape[1])
            for reason in found.skipped.values():
                assert reason
                assert "\n" not in reason
