"""Codes whose answers are known, and the reference implementations' values."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

HERE = Path(__file__).parent / "oracles"


def load_case(name: str) -> dict[str, Any]:
    """One oracle case: the one kept beside the tests, or from the folder HATCHEL_TEST_ORACLES."""
    folder = os.environ.get("HATCHEL_TEST_ORACLES")
    for path in (HERE / f"{name}.npz", *([Path(folder) / f"{name}.npz"] if folder else [])):
        if path.is_file():
            with np.load(path) as archive:
                return dict(archive)
    pytest.skip(f"oracle {name}: set HATCHEL_TEST_ORACLES to the folder that holds it")


@pytest.fixture(scope="session")
def case() -> Callable[[str], dict[str, Any]]:
    cache: dict[str, dict[str, Any]] = {}

    def get(name: str) -> dict[str, Any]:
        if name not in cache:
            cache[name] = load_case(name)
        return cache[name]

    return get


@pytest.fixture(scope="session")
def reference() -> Callable[[str, str], dict[str, Any]]:
    """(case, function) -> the values that the reference implementation returned."""
    rows = json.loads((HERE / "reference_values.json").read_text())
    table = {(f"{r['space']}__{r['case']}", r["function"]): r["values"] for r in rows}
    return lambda name, function: table[name, function]


@pytest.fixture(scope="session")
def grid() -> np.ndarray:
    """Every combination of factors with 3, 4 and 5 values, 40 times over: MI between factors is exactly 0."""
    axes = np.meshgrid(range(3), range(4), range(5), indexing="ij")
    return np.tile(np.stack([a.ravel() for a in axes], axis=1), (40, 1))  # (2400, 3)


@pytest.fixture(scope="session")
def noise(grid: np.ndarray) -> np.ndarray:
    return np.random.default_rng(7).normal(size=grid.shape)
