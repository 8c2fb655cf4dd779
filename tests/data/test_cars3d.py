"""Cars3D from files of its form, of fewer models and pixels."""

from __future__ import annotations

import tarfile
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from hatchel.core.errors import HatchelError
from hatchel.data import cars3d, load
from hatchel.data.factors import Factor, FactorSpace


@pytest.fixture
def cars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pixels say which model, azimuth and elevation they show."""
    model = Factor("model", (0.0, 1.0, 2.0))
    monkeypatch.setattr(cars3d, "MODELS", 3)
    monkeypatch.setattr(cars3d, "SPACE", FactorSpace((*cars3d.SPACE.factors[:2], model)))
    folder = tmp_path / "cars"
    folder.mkdir()
    for number in range(3):
        images = np.zeros((16, 16, 3, 24, 4), dtype=np.uint8)
        images[:, :, 0] = 10 * number
        images[:, :, 1] = np.arange(24)[:, None]
        images[:, :, 2] = np.arange(4)
        savemat(folder / f"car_{number:03}_mesh.mat", {"im": images})
    return folder


def check(path: Path) -> None:
    ds = load("cars3d", path=str(path))
    assert ds.shape == (3, 64, 64)
    numbers = np.arange(len(ds))
    factors = ds.factors(numbers)
    assert factors is not None
    np.testing.assert_array_equal(ds.images(numbers)[:, 30, 30], factors[:, [2, 1, 0]] * [10, 1, 1])


def test_a_folder(cars: Path) -> None:
    check(cars)


def test_the_archive_in_any_order(cars: Path, tmp_path: Path) -> None:
    path = tmp_path / "nips2015-analogy-data.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for number in (2, 0, 1):
            archive.add(cars / f"car_{number:03}_mesh.mat", f"data/cars/car_{number:03}_mesh.mat")
        archive.add(__file__, "data/other.txt")
    check(path)
    check(tmp_path)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(HatchelError, match=r"tar.gz (cannot be read|has fewer)"):
        load("cars3d", path=str(path))


def test_an_npz(cars: Path, tmp_path: Path) -> None:
    images = load("cars3d", path=str(cars)).images(range(288))
    np.savez(tmp_path / "cars.npz", imgs=images)
    check(tmp_path / "cars.npz")
    np.savez(tmp_path / "cars.npz", imgs=images[:5])
    with pytest.raises(HatchelError, match="holds 5 images; Cars3D has 288"):
        load("cars3d", path=str(tmp_path / "cars.npz"))


def test_what_is_missing_or_broken_is_named(cars: Path, tmp_path: Path) -> None:
    with pytest.raises(HatchelError, match=r"cars3d is not in .*nowhere.*nips2015|cars3d is not in .*scottreed"):
        load("cars3d", path=str(tmp_path / "nowhere"))
    (cars / "car_001_mesh.mat").write_bytes(b"rubbish")
    with pytest.raises(HatchelError, match=r"car_001_mesh.mat cannot be read as a MATLAB file"):
        load("cars3d", path=str(cars))
    (cars / "car_001_mesh.mat").unlink()
    with pytest.raises(HatchelError, match="fewer than 3 car models"):
        load("cars3d", path=str(cars))
