"""Rows made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hatchel.study.store import Label, Row


def rows(labels: Mapping[str, Label], details: Mapping[str, Any] | None = None, **values: Sequence[float]) -> list[Row]:
    """One row a seed, from the values of each seed."""
    count = len(next(iter(values.values())))
    return [
        Row(dict(labels), seed, f"{abs(hash((*labels.values(), seed))):x}", {k: v[seed] for k, v in values.items()},
            details or {}, 30.0)
        for seed in range(count)
    ]  # fmt: skip
