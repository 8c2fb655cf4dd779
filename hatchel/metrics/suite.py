"""evaluate: every metric on one probe, shared quantities once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.core.progress import progress
from hatchel.core.spec import from_dict
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score


class Scores(Mapping[str, Score]):
    """Scores by variant name; `skipped` says why a metric that was asked for has none."""

    def __init__(self, scores: Mapping[str, Score], skipped: Mapping[str, str]) -> None:
        self._scores = dict(scores)
        self.skipped = dict(skipped)

    def __getitem__(self, name: str) -> Score:
        return self._scores[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self._scores)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: {"scores": {name: ...}, "skipped": {name: reason}}."""
        return {"scores": {k: s.to_dict() for k, s in self.items()}, "skipped": self.skipped}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Scores:
        """What `to_dict` gave, read again."""
        return cls({k: Score.from_dict(s) for k, s in data["scores"].items()}, data["skipped"])

    def to_json(self, indent: int | None = None) -> str:
        """The dictionary as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def to_pandas(self) -> Any:
        """One row per score: value, interval, sample size, seed."""
        import pandas  # slow to import

        rows = [
            {
                "metric": s.name, "value": s.value, "low": s.interval and s.interval.low,
                "high": s.interval and s.interval.high, "n": s.n, "seed": s.seed,
            }
            for s in self.values()
        ]  # fmt: skip
        return pandas.DataFrame(rows).set_index("metric")

    def table(self) -> str:
        """Plain text: one line per score, then what was left out and why."""
        width = max((len(name) for name in (*self, *self.skipped)), default=0)
        lines = [f"{name:<{width}}  {str(score).removeprefix(name).strip()}" for name, score in self.items()]
        return "\n".join(lines + [f"{name:<{width}}  {reason}" for name, reason in self.skipped.items()])


def evaluate(
    codes: Any,
    factors: Any = None,
    which: str | Sequence[str | Metric] = "all",
    *,
    samples: Any = None,
    std: Any = None,
    noise: Any = None,
    features: Mapping[str, Any] | None = None,
    others: Sequence[Any] | None = None,
    others_std: Sequence[Any] | None = None,
    clusters: Any = None,
    images: tuple[Any, Any] | None = None,
    names: Sequence[str] | None = None,
    continuous: Sequence[bool] | bool | None = None,
    train: int | NDArray[np.int64] | None = None,
    test: int | NDArray[np.int64] | None = None,
    seed: int = 0,
    bootstrap: int | None = 0,
) -> Scores:
    """All metrics (or those named, or the given Specs) on one set of codes; see Probe for the arguments.

    Every metric starts from its own generator of the one seed, so a score does not depend on the others asked for.
    """
    probe = Probe(
        codes, factors, samples=samples, std=std, noise=noise, features=features, others=others,
        others_std=others_std, clusters=clusters, images=images, names=names, continuous=continuous, train=train,
        test=test, seed=seed,
    )  # fmt: skip
    return measure(probe, which, seed, bootstrap)


def measure(
    probe: Probe, which: str | Sequence[str | Metric] = "all", seed: int = 0, bootstrap: int | None = 0
) -> Scores:
    """`evaluate` on a Probe that is already there."""
    everything = which == "all"
    if everything:
        which = tuple(Metric.members())
    elif isinstance(which, str):
        which = which.split(",")
    scores: dict[str, Score] = {}
    skipped: dict[str, str] = {}
    chosen = [from_dict(Metric, w.strip() if isinstance(w, str) else w, "which") for w in which]
    with progress("measuring", len(chosen)) as advance:
        for metric in chosen:
            reason = metric.missing(probe)
            try:
                if reason:
                    skipped[metric.variant] = f"needs {reason}"
                else:
                    scores[metric.variant] = metric.score(probe, seed, bootstrap)
            except HatchelError as error:
                if not everything:
                    raise
                skipped[metric.variant] = str(error)
            advance(1)
    return Scores(scores, skipped)
