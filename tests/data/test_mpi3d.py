"""MPI3D from a file of its form; its two sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.data import load, mpi3d
from hatchel.data.factors import Factor, FactorSpace


def test_both_published_sizes_have_a_grid() -> None:
    for count, sizes in mpi3d.SIZES.items():
        assert len(mpi3d.space(*sizes)) == count


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_images_by_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, save) -> None:
    images = np.random.default_rng(0).integers(0, 256, (50, 64, 64, 3), dtype=np.uint8)
    save(tmp_path / "mpi3d_toy.npz", images=images)
    with pytest.raises(HatchelError, match=r"needs the file mpi3d_real.npz"):
        load("mpi3d", path=str(tmp_path), version="real")
    with pytest.raises(HatchelError, match=r"not MPI3D: images has the shape \(50, 64, 64, 3\)"):
        load("mpi3d", path=str(tmp_path))
    monkeypatch.setattr(mpi3d, "SIZES", {50: (10, 5)})
    tens, fives = (Factor(name, tuple(float(v) for v in range(n))) for name, n in (("a", 10), ("b", 5)))
    monkeypatch.setattr(mpi3d, "space", lambda colours, shapes: FactorSpace((tens, fives)))
    ds = load("mpi3d", path=str(tmp_path))
    assert ds.name == "mpi3d_toy"
    np.testing.assert_array_equal(ds.images(range(50)), images)
    assert ds.factors([13]).tolist() == [[2, 3]]


def test_where_its_files_are() -> None:
    assert [f.mirrors for f in mpi3d.MPI3D.files] == [
        (f"https://huggingface.co/datasets/waleedgondal/mpi3d/resolve/main/mpi3d_{version}.npz",)
        for version in ("toy", "realistic", "real")
    ]
