"""Frames made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from hatchel.study.frame import build
from hatchel.study.store import combined
from hatchel.study.task import Label


def rows(
    labels: Mapping[str, Label], details: Mapping[str, Any] | None = None, **values: Sequence[float]
) -> pd.DataFrame:
    """The frame of one task a seed, from the values of each seed."""
    return build(
        (labels, seed, {
            "digest": f"{abs(hash((*labels.values(), seed))):x}",
            "values": {name: of[seed] for name, of in values.items() if seed < len(of)},
            "details": details or {},
            "seconds": 30.0,
        })
        for seed in range(max(map(len, values.values())))
    )  # fmt: skip


def both(*frames: pd.DataFrame) -> pd.DataFrame:
    """Several frames in one."""
    return combined(frames)


def seeds(frame: pd.DataFrame, *numbers: int) -> pd.DataFrame:
    """Some seeds of a frame alone."""
    return frame[frame["seed"].isin(numbers)]
