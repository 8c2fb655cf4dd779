"""Arrays in files: mapped or streamed, never unpickled, clear when broken."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.data.formats import keys, opened

VALUES = np.random.default_rng(0).integers(0, 256, (50, 6, 5), dtype=np.uint8)


class Bomb:
    def __reduce__(self):
        return (Path("/nonexistent/exploded").write_text, ("",))


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    np.save(tmp_path / "a.npy", VALUES)
    np.save(tmp_path / "f.npy", np.asfortranarray(VALUES))
    np.savez(tmp_path / "stored.npz", other=np.zeros(3), values=VALUES)
    np.savez_compressed(tmp_path / "packed.npz", other=np.zeros(3), values=VALUES)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "key", "mapped"),
    [("a.npy", "", True), ("f.npy", "", True), ("stored.npz", "values", True), ("packed.npz", "values", False)],
)
def test_what_was_saved_comes_back(saved: Path, name: str, key: str, mapped: bool) -> None:
    held = opened(saved / name, key)
    assert held.shape == VALUES.shape
    np.testing.assert_array_equal(held.all(), VALUES)
    part = held.reader()
    np.testing.assert_array_equal(np.concatenate([part(a, a + 10) for a in range(0, 50, 10)]), VALUES)
    assert (held.mapped is not None) == mapped
    if held.mapped is not None:
        np.testing.assert_array_equal(held.mapped, VALUES)


def test_hdf5(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("values", data=VALUES, compression="gzip", chunks=(7, 6, 5))
        file.create_group("group")
    assert keys(tmp_path / "a.h5") == ("values",)
    np.testing.assert_array_equal(opened(tmp_path / "a.h5", "values").all(), VALUES)
    (tmp_path / "b.h5").write_bytes((tmp_path / "a.h5").read_bytes()[:100])
    with pytest.raises(HatchelError, match="cannot be read"):
        keys(tmp_path / "b.h5")


@pytest.mark.parametrize("name", ["a.npy", "stored.npz", "packed.npz"])
def test_truncated_files_are_named(saved: Path, name: str) -> None:
    path = saved / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(HatchelError, match=rf"{name}.*truncated"):
        opened(path, "" if name == "a.npy" else "values").all()


def test_damaged_compressed_bytes_are_named(saved: Path) -> None:
    raw = bytearray((saved / "packed.npz").read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    (saved / "packed.npz").write_bytes(raw)
    with pytest.raises(HatchelError, match=r"packed\.npz"):
        opened(saved / "packed.npz", "values").all()


def test_pickles_are_not_run(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):  # the bomb works
        pickle.loads(pickle.dumps(Bomb()))
    np.savez(tmp_path / "a.npz", values=np.array([Bomb()], dtype=object))
    with pytest.raises(HatchelError, match="pickled objects, which are not read"):
        opened(tmp_path / "a.npz", "values")


def test_names_and_order(saved: Path) -> None:
    with pytest.raises(HatchelError, match=r"unknown array 'valves'. Did you mean 'values'"):
        opened(saved / "packed.npz", "valves")
    with pytest.raises(HatchelError, match="no such file"):
        opened(saved / "b.npy", "")
    part = opened(saved / "packed.npz", "values").reader()
    with pytest.raises(HatchelError, match="in order"):
        part(10, 20)


def test_large_arrays_go_through_the_cache(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hatchel.data.formats.IN_MEMORY", 100)
    monkeypatch.setattr("hatchel.data.formats.PER_PART", 30 * 7)
    held = opened(saved / "packed.npz", "values")
    part = held.reader()
    kept = held.converted("x", lambda a, b: part(a, b) // 2, VALUES.shape, "u1", cache=True)
    assert isinstance(kept, np.memmap)
    np.testing.assert_array_equal(kept, VALUES // 2)
    part = held.reader()
    plain = held.converted("x", lambda a, b: part(a, b) // 2, VALUES.shape, "u1", cache=False)
    assert not isinstance(plain, np.memmap)
