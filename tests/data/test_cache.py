"""The cache: whole or not there, rebuilt when corrupt, made once under a race, clear when the disk says no."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import zlib
from pathlib import Path

import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.data import cache
from hatchel.data.cache import CachedArray


class Maker:
    def __init__(self, folder: Path, fail_at: int | None = None) -> None:
        self.log = folder / "log"
        self.fail_at = fail_at

    def __call__(self, start: int, stop: int) -> np.ndarray:
        if self.fail_at is not None and start >= self.fail_at:
            raise HatchelError("no more")
        with self.log.open("a") as file:
            file.write(f"{start}\n")
        return np.arange(start * 3, stop * 3).reshape(-1, 3)

    @property
    def made(self) -> list[int]:
        return sorted(int(line) for line in self.log.read_text().split()) if self.log.exists() else []


EXPECTED = np.arange(30).reshape(10, 3)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HATCHEL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def entry(part, key: str = "k", in_order: bool = False) -> CachedArray:
    return CachedArray("things", key, (10, 3), "<i4", part, per_part=4, in_order=in_order)


def data_file(folder: Path) -> Path:
    return next(folder.glob("things-*.bin"))


def test_made_once_then_read(folder: Path, tmp_path: Path) -> None:
    maker = Maker(tmp_path)
    np.testing.assert_array_equal(entry(maker).load(), EXPECTED)
    again = entry(maker).load()
    np.testing.assert_array_equal(again, EXPECTED)
    assert maker.made == [0, 4, 8]
    assert isinstance(again, np.memmap)
    assert not again.flags.writeable
    assert not list(folder.glob("*.partial"))


@pytest.mark.parametrize("place", [0, 17, -1])
def test_one_wrong_byte_is_found_and_the_entry_made_again(folder: Path, tmp_path: Path, place: int) -> None:
    entry(Maker(tmp_path)).load()
    path = data_file(folder)
    raw = bytearray(path.read_bytes())
    raw[place] ^= 1
    path.write_bytes(raw)
    maker = Maker(folder)
    np.testing.assert_array_equal(entry(maker).load(), EXPECTED)
    assert maker.made == [0, 4, 8]


@pytest.mark.parametrize("damage", ["truncated", "no page", "page not JSON", "page of another array", "data gone"])
def test_other_damage_is_found_too(folder: Path, tmp_path: Path, damage: str) -> None:
    entry(Maker(tmp_path)).load()
    path = data_file(folder)
    page = path.with_suffix(".json")
    if damage == "truncated":
        path.write_bytes(path.read_bytes()[:-4])
    elif damage == "no page":
        page.unlink()
    elif damage == "page not JSON":
        page.write_text("{")
    elif damage == "page of another array":
        page.write_text(page.read_text().replace("<i4", "<u4"))
    else:
        path.unlink()
    np.testing.assert_array_equal(entry(Maker(folder)).load(), EXPECTED)


@pytest.mark.parametrize("in_order", [True, False])
def test_unfinished_work_leaves_nothing_behind(folder: Path, tmp_path: Path, in_order: bool) -> None:
    with pytest.raises(HatchelError, match="no more"):
        entry(Maker(tmp_path, fail_at=8), in_order=in_order).load()
    assert [path.suffix for path in folder.iterdir()] == [".lock"]
    maker = Maker(folder)
    np.testing.assert_array_equal(entry(maker, in_order=in_order).load(), EXPECTED)
    assert maker.made == [0, 4, 8]


def test_what_a_killed_process_left_is_overwritten(folder: Path, tmp_path: Path) -> None:
    """And so is the unfinished work of 0.1, which wrote null for the parts it had not made."""
    entry(Maker(tmp_path)).load()
    path = data_file(folder)
    about = path.with_suffix(".json")
    about.write_text(about.read_text().replace(str(zlib.crc32(EXPECTED[8:].astype("<i4").tobytes())), "null"))
    path.rename(path.with_suffix(".partial"))
    np.testing.assert_array_equal(entry(Maker(folder)).load(), EXPECTED)
    assert not list(folder.glob("*.partial"))


def test_entries_of_0_1_are_read(folder: Path, tmp_path: Path) -> None:
    sums = [zlib.crc32(EXPECTED[a:b].astype("<i4").tobytes()) for a, b in ((0, 4), (4, 8), (8, 10))]
    about = {"key": "k", "shape": [10, 3], "dtype": "<i4", "per_part": 4, "crc32": sums}
    folder.mkdir()
    (folder / "things-8254c329a928.json").write_text(json.dumps(about))
    (folder / "things-8254c329a928.bin").write_bytes(EXPECTED.astype("<i4").tobytes())
    np.testing.assert_array_equal(entry(Maker(tmp_path, fail_at=0)).load(), EXPECTED)


def test_keys_do_not_share_an_entry(folder: Path, tmp_path: Path) -> None:
    entry(Maker(tmp_path), key="one").load()
    np.testing.assert_array_equal(entry(lambda a, b: np.zeros((b - a, 3)), key="two").load(), 0)
    np.testing.assert_array_equal(entry(Maker(tmp_path), key="one").load(), EXPECTED)


def _race(folder: str, log: str, barrier) -> None:
    os.environ["HATCHEL_CACHE"] = folder
    barrier.wait()
    assert (np.asarray(entry(Maker(Path(log))).load()) == EXPECTED).all()


def test_processes_that_start_at_once_make_it_once(folder: Path, tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(3)
    racers = [context.Process(target=_race, args=(str(folder), str(tmp_path), barrier)) for _ in range(3)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(30)
    assert [r.exitcode for r in racers] == [0, 0, 0]
    assert Maker(tmp_path).made == [0, 4, 8]


@pytest.mark.parametrize(("code", "words"), [(errno.ENOSPC, "No space left"), (errno.EDQUOT, "uota")])
def test_a_full_disk_names_the_remedies(folder: Path, monkeypatch: pytest.MonkeyPatch, code: int, words: str) -> None:
    def full(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(HatchelError, match=rf"{words}.*HATCHEL_CACHE.*data.cache=false"):
        entry(Maker(folder)).load()


def test_a_folder_that_cannot_be_made_names_the_remedies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HATCHEL_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(HatchelError, match=r"cannot keep things in the cache folder .*data.cache=false"):
        entry(Maker(tmp_path)).load()


def test_somebody_elses_cache_is_read_though_it_cannot_be_locked(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry(Maker(tmp_path)).load()

    def refused(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(cache, "exclusive", refused)
    np.testing.assert_array_equal(entry(Maker(tmp_path, fail_at=0)).load(), EXPECTED)


def test_the_checksums_are_written_down(folder: Path, tmp_path: Path) -> None:
    entry(Maker(tmp_path)).load()
    first = EXPECTED[:4].astype("<i4").tobytes()
    assert str(zlib.crc32(first)) in data_file(folder).with_suffix(".json").read_text()


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HATCHEL_CACHE", "/a/b")
    assert cache.cache_folder() == Path("/a/b")
    monkeypatch.delenv("HATCHEL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/c")
    assert cache.cache_folder() == Path("/c/hatchel")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.cache_folder() == Path.home() / ".cache" / "hatchel"
