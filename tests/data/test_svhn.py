"""SVHN from a file of its form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from hatchel.core.errors import HatchelError
from hatchel.data import load, svhn


def test_images_and_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = np.random.default_rng(0).integers(0, 256, (32, 32, 3, 4), dtype=np.uint8)
    savemat(tmp_path / "train_32x32.mat", {"X": images, "y": np.array([[1], [10], [9], [2]], dtype=np.uint8)})
    with pytest.raises(HatchelError, match=r"X has the shape \(32, 32, 3, 4\); \(32, 32, 3, 73257\)"):
        load("svhn", path=str(tmp_path))
    monkeypatch.setitem(svhn.COUNTS, "train", 4)
    ds = load("svhn", path=str(tmp_path))
    np.testing.assert_array_equal(ds.images([0, 3]), images.transpose(3, 0, 1, 2)[[0, 3]])
    assert ds.factors(range(4)).tolist() == [[1], [0], [9], [2]]
    with pytest.raises(HatchelError, match=r"needs the file test_32x32.mat"):
        load("svhn", path=str(tmp_path), part="test")
    (tmp_path / "test_32x32.mat").write_bytes(b"rubbish")
    with pytest.raises(HatchelError, match="cannot be read as a MATLAB file"):
        load("svhn", path=str(tmp_path), part="test")
