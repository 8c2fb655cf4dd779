"""Data of more than four gigabytes are trained on while the process stays small: nothing reads them whole."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import hatchel
from hatchel.nets.mlp import Mlp, MlpDecoder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
NETS = {"encoder": Mlp((16,)), "decoder": MlpDecoder((16,))}
SMALL = {"steps": 20, "batch_size": 16, "progress": False, **NETS}


def own_memory() -> int:
    """Bytes that only this process holds; the pages of a mapped file are not among them."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("RssAnon:")[1].split()[0])


@pytest.mark.parametrize(
    "shape, dtype, by_path",
    [
        ((700_000, 80, 80), np.uint8, True),
        ((230_000, 3, 40, 40), np.float32, False),
    ],
    ids=["a file by its path", "a mapped array in Python, channels first"],
)
def test_it_is_read_batch_by_batch(shape: tuple[int, ...], dtype: type, by_path: bool, tmp_path: Path) -> None:
    path = tmp_path / "large.npy"
    array = np.lib.format.open_memmap(path, "w+", dtype, shape)  # a hole in the file system, until something is written
    for i in range(0, len(array), len(array) // 50):
        array[i] = 1
    del array
    assert path.stat().st_size > 4 * 2**30
    before = own_memory()
    data = path if by_path else np.load(path, mmap_mode="r")
    run = hatchel.train("beta_vae", data=data, out=tmp_path / "run", **SMALL)
    assert (run.steps, len(run.data)) == (20, len(np.load(path, mmap_mode="r")))
    assert own_memory() - before < path.stat().st_size / 8
    step = shape[0] // 50
    shown = run.data.images([0, 1, step])  # the marks are where they were written
    assert shown.reshape(3, -1).max(axis=1).tolist() == ([1, 0, 1] if by_path else [255, 0, 255])
