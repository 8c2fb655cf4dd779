"""Metrics: pure functions on arrays, and the same as Specs.

`hatchel.metrics.mig(codes, factors)` is a function; its file is `_mig.py`, with an underscore, so that importing the
file never hides the function. A new metric is one such file. Names are looked up when first used.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

_PARTS = {
    "Interval": "score", "Metric": "metric", "Probe": "probe", "Score": "score", "Scores": "suite",
    "evaluate": "suite", "measure": "suite",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return getattr(importlib.import_module(f"{__name__}.{_PARTS[name]}"), name)
    if name.startswith("_"):
        raise AttributeError(name)
    if name in _files():
        return getattr(importlib.import_module(f"{__name__}._{name}"), name)
    if name[0].isupper():
        from hatchel.metrics.metric import Metric

        for member in Metric.members().values():
            if member.__name__ == name:
                return member
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_PARTS, *_files()])


def _files() -> list[str]:
    return [m.name[1:] for m in pkgutil.iter_modules(__path__) if m.name.startswith("_")]
