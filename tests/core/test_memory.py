"""Files larger than memory are read without what lies around an item."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hatchel.core import memory
from hatchel.data.dataset import Dataset


def test_only_a_file_too_large_for_memory_is_read_at_random(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    array = np.lib.format.open_memmap(tmp_path / "a.npy", "w+", np.uint8, (100, 4, 4, 1))
    array[:] = np.arange(100)[:, None, None, None]
    told: list[bool] = []
    monkeypatch.setattr("hatchel.data.dataset.read_at_random", lambda a: told.append(memory.read_at_random(a)))
    for bytes_of_memory in (1_000_000, 2_000):
        monkeypatch.setattr(memory, "physical", lambda size=bytes_of_memory: size)
        found = Dataset("numbers", array).images(np.array([7, 93, 7]))
        assert found[:, 0, 0, 0].tolist() == [7, 93, 7]
    assert told == [False, True]
