"""Score: one number with everything needed to trust it; Scores: those of several metrics."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.core.estimate import Estimate

PARTS = {
    "at_samples": "at samples", "at_mean": "at the mean", "above_floor": "above the entropy of the pixels",
    "mse_per_pixel": "squared error per pixel", "mse_per_pixel_at_mean": "squared error per pixel at the mean",
}  # fmt: skip
"""What else a table shows of a reconstruction, in words."""


@dataclass(frozen=True)
class Score:
    """A metric's value with its parts, the matrix behind it, the settings, the sample, the seed and the interval."""

    name: str
    """The variant: the metric and every option that is not at its default."""
    value: float
    parts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further numbers by name: floats, or mappings from factor name (or dimension) to float."""
    matrix: NDArray[np.float64] | None = None
    """D x K: mutual information, R², importance, ...; NaN in the column of a constant factor that was left out."""
    factors: tuple[str, ...] = ()
    """Names of the matrix's columns."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    n: int = 0
    """Rows the value was computed from."""
    seed: int | None = None
    interval: Estimate | None = None
    replicates: int = 0
    """Resamples that the interval comes from."""
    notes: tuple[str, ...] = ()
    """What a reader must know: dead dimensions, constant factors, samples smaller than the protocol's."""

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise HatchelError(f"{self.name}: no finite value on these {self.n} rows ({self.value})")

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        spread = f" [{self.interval.low:.4f}, {self.interval.high:.4f}]" if self.interval else ""
        return f"{self.name} {self.value:.4f}{spread} (n={self.n})"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; NaN becomes null."""
        names = ("name", "value", "parts", "matrix", "factors", "settings", "n", "seed", "notes")
        body = {name: plain(getattr(self, name)) for name in names}
        ends = self.interval and {
            "low": self.interval.low, "high": self.interval.high, "level": self.interval.level,
            "replicates": self.replicates,
        }  # fmt: skip
        return body | {"interval": ends}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Score:
        """What `to_dict` gave, read again."""
        ends = cast("Mapping[str, Any] | None", data.get("interval"))
        known = {k: data[k] for k in ("name", "value", "parts", "settings", "n", "seed") if k in data}
        matrix = data.get("matrix")
        return cls(
            **known,
            matrix=None if matrix is None else np.array(matrix, dtype=np.float64),
            factors=tuple(data.get("factors", ())),
            notes=tuple(data.get("notes", ())),
            interval=Estimate(data["value"], ends["low"], ends["high"], data["n"], ends["level"]) if ends else None,
            replicates=ends["replicates"] if ends else 0,
        )

    def to_json(self, indent: int | None = None) -> str:
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def to_pandas(self) -> Any:
        """The matrix as a table: one row per dimension, one column per factor."""
        import pandas  # slow to import

        if self.matrix is None:
            return pandas.DataFrame({self.name: [self.value]})
        columns = self.factors if len(self.factors) == self.matrix.shape[1] else None
        return pandas.DataFrame(self.matrix, columns=columns, index=[f"z{d}" for d in range(len(self.matrix))])


class Scores(dict[str, Score]):
    """Scores by variant name; `skipped` says why a metric that was asked for has none."""

    def __init__(self, scores: Mapping[str, Score], skipped: Mapping[str, str]) -> None:
        super().__init__(scores)
        self.skipped = dict(skipped)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: {"scores": {name: ...}, "skipped": {name: reason}}."""
        return {"scores": {k: s.to_dict() for k, s in self.items()}, "skipped": self.skipped}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Scores:
        """What `to_dict` gave, read again."""
        return cls({k: Score.from_dict(s) for k, s in data["scores"].items()}, data["skipped"])

    def to_json(self, indent: int | None = None) -> str:
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
        return pandas.DataFrame(rows, columns=["metric", "value", "low", "high", "n", "seed"]).set_index("metric")

    def _repr_html_(self) -> str:
        return self.to_pandas().to_html(float_format="{:.3f}".format, na_rep="")

    @property
    def reasons(self) -> dict[str, list[str]]:
        """Why there are no scores, and of which metrics."""
        found: dict[str, list[str]] = {}
        for name, reason in self.skipped.items():
            found.setdefault(reason, []).append(name)
        return found

    def table(self) -> str:
        """Plain text: one line per score, then what was left out and why."""
        width = max((len(name) for name in (*self, *self.skipped)), default=0)
        lines: list[str] = []
        for name, score in self.items():
            lines.append(f"{name:<{width}}  {str(score).removeprefix(name).strip()}")
            also = {words: score.parts[part] for part, words in PARTS.items() if part in score.parts}
            lines += [f"  {words:<{width - 2}}  {value:.4f}" for words, value in also.items()]
        return "\n".join(lines + [f"{name:<{width}}  not measured: {reason}" for name, reason in self.skipped.items()])


def plain(value: Any) -> Any:
    """Numbers, arrays and mappings as JSON can hold them."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in cast(Mapping[Any, Any], value).items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(v) for v in cast(list[Any], value)]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
