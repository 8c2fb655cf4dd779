"""Metrics: Specs, and the pure functions on arrays that are derived from them.

`MIG(bins=10).score(probe)` and `hatchel.metrics.mig(codes, factors, bins=10)` are the same; `evaluate` measures all
that the given arrays allow. Metrics are in files with an underscore, such as `_mig.py`, so that importing the file
never hides the function. Names are looked up when first used.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import Any

_PARTS = {
    "Bootstrap": "metric", "Metric": "metric", "Probe": "probe", "Score": "score", "Scores": "score",
    "Subsampling": "metric", "evaluate": "functions", "measure": "functions",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return getattr(importlib.import_module(f"{__name__}.{_PARTS[name]}"), name)
    if not name.startswith("_") and name not in _files():  # the name of a file is looked up by the import itself
        from hatchel.metrics.functions import metric_function
        from hatchel.metrics.metric import Metric

        for kind, member in Metric.members().items():
            if name in (kind, member.__name__):
                return member if name == member.__name__ else metric_function(member)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    from hatchel.metrics.metric import Metric

    return sorted([*_PARTS, *Metric.members()])


@functools.cache
def _files() -> set[str]:
    return {module.name for module in pkgutil.iter_modules(__path__)}
