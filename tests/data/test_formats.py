"""Arrays in files, IDX and smallNORB's matrices: mapped or streamed, never unpickled, clear when broken."""

from __future__ import annotations

import contextlib
import gzip
import io
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.data.formats import array_names, open_array, read_idx, read_matrix
from tests.torture import damages

VALUES = np.random.default_rng(0).integers(0, 256, (50, 6, 5), dtype=np.uint8)
SMALL = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
IDX = bytes([0, 0, 8, 3]) + struct.pack(">3i", 2, 3, 4) + SMALL.tobytes()


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
    stored = open_array(saved / name, key)
    assert stored.shape == VALUES.shape
    np.testing.assert_array_equal(stored.all(), VALUES)
    np.testing.assert_array_equal(np.concatenate(list(stored.blocks(10))), VALUES)
    assert (stored.mapped is not None) == mapped
    if stored.mapped is not None:
        np.testing.assert_array_equal(stored.mapped, VALUES)


def test_hdf5(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("values", data=VALUES, compression="gzip", chunks=(7, 6, 5))
        file.create_group("group")
    assert array_names(tmp_path / "a.h5") == ("values",)
    np.testing.assert_array_equal(open_array(tmp_path / "a.h5", "values").all(), VALUES)
    (tmp_path / "b.h5").write_bytes((tmp_path / "a.h5").read_bytes()[:100])
    with pytest.raises(HatchelError, match="cannot be read"):
        array_names(tmp_path / "b.h5")


@pytest.mark.parametrize("name", ["a.npy", "stored.npz", "packed.npz"])
def test_truncated_files_are_named(saved: Path, name: str) -> None:
    path = saved / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(HatchelError, match=rf"{name}.*truncated"):
        open_array(path, "" if name == "a.npy" else "values").all()


def test_damaged_compressed_bytes_are_named(saved: Path) -> None:
    raw = bytearray((saved / "packed.npz").read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    (saved / "packed.npz").write_bytes(raw)
    with pytest.raises(HatchelError, match=r"packed\.npz"):
        open_array(saved / "packed.npz", "values").all()


def test_pickles_are_not_run(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):  # the bomb works
        pickle.loads(pickle.dumps(Bomb()))
    np.savez(tmp_path / "a.npz", values=np.array([Bomb()], dtype=object))
    with pytest.raises(HatchelError, match="pickled objects, which are not read"):
        open_array(tmp_path / "a.npz", "values")


def test_names(saved: Path) -> None:
    with pytest.raises(HatchelError, match=r"unknown array 'valves'. Did you mean 'values'"):
        open_array(saved / "packed.npz", "valves")
    with pytest.raises(HatchelError, match="no such file"):
        open_array(saved / "b.npy", "")


def test_arrays_are_converted_in_the_cache_or_in_memory(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hatchel.data.formats.PER_PART", 30 * 7)
    stored = open_array(saved / "packed.npz", "values")
    kept, plain = (
        stored.converted("x", lambda block: block // 2, VALUES.shape, "u1", cache) for cache in (True, False)
    )
    assert isinstance(kept, np.memmap)
    assert not isinstance(plain, np.memmap)
    np.testing.assert_array_equal(kept, VALUES // 2)
    np.testing.assert_array_equal(plain, VALUES // 2)


@pytest.mark.parametrize("packed", [False, True])
def test_idx_raw_and_gzipped(tmp_path: Path, packed: bool) -> None:
    (tmp_path / "f").write_bytes(gzip.compress(IDX) if packed else IDX)
    np.testing.assert_array_equal(read_idx(tmp_path / "f", (2, 3, 4)), SMALL)


def test_idx_of_big_endian_numbers(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes([0, 0, 0x0C, 1]) + struct.pack(">3i", 2, 70_000, -5))
    assert read_idx(tmp_path / "f", (2,)).tolist() == [70_000, -5]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (IDX[:-1], "truncated or too long"),
        (IDX + b"x", "truncated or too long"),
        (IDX[:9], "holds an array of shape"),
        (b"", "not an IDX file"),
        (b"PK\3\4 something", "not an IDX file: its first bytes are 504b0304"),
        (gzip.compress(IDX, mtime=0)[:-12], "may be truncated"),
        (bytes([0, 0, 8, 3]) + struct.pack(">3i", 4, 3, 2) + SMALL.tobytes(), r"shape \(4, 3, 2\); \(2, 3, 4\)"),
    ],
)
def test_broken_idx_is_named(tmp_path: Path, raw: bytes, message: str) -> None:
    (tmp_path / "f").write_bytes(raw)
    with pytest.raises(HatchelError, match=message):
        read_idx(tmp_path / "f", (2, 3, 4))


def test_a_wrong_checksum_is_named(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(IDX)
    with pytest.raises(HatchelError, match="checksum differs from 0123"):
        read_idx(tmp_path / "f", (2, 3, 4), "0123")


def test_matrices_write_at_least_three_sizes(tmp_path: Path) -> None:
    """Magic, dimensions, sizes: a vector has two sizes of 1 after its own."""
    (tmp_path / "v").write_bytes(struct.pack("<5i", 0x1E3D4C54, 1, 2, 1, 1) + struct.pack("<2i", 7, -8))
    assert read_matrix(tmp_path / "v", (2,)).tolist() == [7, -8]
    (tmp_path / "m").write_bytes(struct.pack("<6i", 0x1E3D4C55, 4, 1, 2, 3, 4) + SMALL.tobytes())
    np.testing.assert_array_equal(read_matrix(tmp_path / "m", (1, 2, 3, 4))[0], SMALL)
    (tmp_path / "x").write_bytes(b"12345678")
    with pytest.raises(HatchelError, match="not a binary matrix"):
        read_matrix(tmp_path / "x", (2,))


@pytest.mark.parametrize("shape", [(10**7, 64, 64), (2**31, 2**31, 2**31), (-5, 3)])
@pytest.mark.parametrize("name", ["a.npy", "stored.npz", "packed.npz"])
def test_a_tiny_file_that_declares_a_huge_array_is_refused_before_memory_is_taken(
    name: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    content = io.BytesIO()
    header = {"descr": "|u1", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(content, header)
    content.write(bytes(100))
    if name == "a.npy":
        (tmp_path / name).write_bytes(content.getvalue())
    else:
        kind = zipfile.ZIP_STORED if name == "stored.npz" else zipfile.ZIP_DEFLATED
        with zipfile.ZipFile(tmp_path / name, "w", kind) as archive:
            archive.writestr("values.npy", content.getvalue())
    with pytest.raises(HatchelError, match="does not fit into the file"):
        open_array(tmp_path / name, "" if name == "a.npy" else "values")


def test_an_hdf5_file_that_stores_nothing_of_a_huge_array_is_refused(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("values", (10**8, 64, 64), "u1", chunks=(100, 64, 64))
    with pytest.raises(HatchelError, match="does not fit into the file"):
        open_array(tmp_path / "a.h5", "values")


@pytest.mark.parametrize("name", ["x.npy", "x.npz", "packed.npz"])
def test_a_damaged_file_is_an_array_or_one_line(tmp_path: Path, name: str) -> None:
    """Bits flipped where they hurt most, in the headers: nothing but a refusal, and no memory for what is not there."""
    path, array = tmp_path / name, np.arange(48, dtype=np.uint8).reshape(3, 4, 4)
    save = {"x.npy": np.save, "x.npz": np.savez, "packed.npz": np.savez_compressed}[name]
    save(path, array)
    key, whole = array_names(path)[0], path.read_bytes()
    for _, content in damages(whole, 400, seed=4):
        path.write_bytes(content)
        with contextlib.suppress(HatchelError):
            assert all(open_array(path, k).all().nbytes < 1 << 20 for k in array_names(path))
    path.write_bytes(whole)
    assert np.array_equal(open_array(path, key).all(), array)


def test_a_header_that_is_nested_too_deep_is_one_line(tmp_path: Path) -> None:
    head = b"{'descr': '|u1', 'fortran_order': False, 'shape': " + b"(" * 3000 + b"\n"
    (tmp_path / "deep.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head)
    with pytest.raises(HatchelError, match=r"deep.npy cannot be read .*header"):
        open_array(tmp_path / "deep.npy", "")
