"""The cache: whole or not there, resumed, rebuilt when corrupt, made once under a race, clear when the disk says no."""

from __future__ import annotations

import errno
import multiprocessing
import os
import zlib
from pathlib import Path

import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.data import cache
from hatchel.data.cache import Recipe, cached


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


def recipe(part, key: str = "k", in_order: bool = False) -> Recipe:
    return Recipe("things", key, (10, 3), "<i4", part, per_part=4, in_order=in_order)


def data_file(folder: Path) -> Path:
    return next(folder.glob("things-*.bin"))


def test_made_once_then_read(folder: Path, tmp_path: Path) -> None:
    maker = Maker(tmp_path)
    np.testing.assert_array_equal(cached(recipe(maker)), EXPECTED)
    again = cached(recipe(maker))
    np.testing.assert_array_equal(again, EXPECTED)
    assert maker.made == [0, 4, 8]
    assert isinstance(again, np.memmap)
    assert not again.flags.writeable
    assert not list(folder.glob("*.partial"))


@pytest.mark.parametrize("place", [0, 17, -1])
def test_one_wrong_byte_is_found_and_the_entry_made_again(folder: Path, tmp_path: Path, place: int) -> None:
    cached(recipe(Maker(tmp_path)))
    path = data_file(folder)
    raw = bytearray(path.read_bytes())
    raw[place] ^= 1
    path.write_bytes(raw)
    maker = Maker(folder)
    np.testing.assert_array_equal(cached(recipe(maker)), EXPECTED)
    assert maker.made == [0, 4, 8]


@pytest.mark.parametrize("damage", ["truncated", "no page", "page not JSON", "page of another array", "data gone"])
def test_other_damage_is_found_too(folder: Path, tmp_path: Path, damage: str) -> None:
    cached(recipe(Maker(tmp_path)))
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
    np.testing.assert_array_equal(cached(recipe(Maker(folder))), EXPECTED)


def test_unfinished_work_is_resumed(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(HatchelError, match="no more"):
        cached(recipe(Maker(tmp_path, fail_at=8)))
    assert not list(folder.glob("*.bin"))
    maker = Maker(folder)
    np.testing.assert_array_equal(cached(recipe(maker)), EXPECTED)
    assert maker.made == [8]


def test_a_damaged_part_of_unfinished_work_is_made_again(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(HatchelError):
        cached(recipe(Maker(tmp_path, fail_at=8)))
    partial = next(folder.glob("*.partial"))
    raw = bytearray(partial.read_bytes())
    raw[0] ^= 1
    partial.write_bytes(raw)
    maker = Maker(folder)
    np.testing.assert_array_equal(cached(recipe(maker)), EXPECTED)
    assert maker.made == [0, 8]


def test_a_stream_begins_at_its_beginning(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(HatchelError):
        cached(recipe(Maker(tmp_path, fail_at=8), in_order=True))
    maker = Maker(folder)
    np.testing.assert_array_equal(cached(recipe(maker, in_order=True)), EXPECTED)
    assert maker.made == [0, 4, 8]


def test_keys_do_not_share_an_entry(folder: Path, tmp_path: Path) -> None:
    cached(recipe(Maker(tmp_path), key="one"))
    np.testing.assert_array_equal(cached(recipe(lambda a, b: np.zeros((b - a, 3)), key="two")), 0)
    np.testing.assert_array_equal(cached(recipe(Maker(tmp_path), key="one")), EXPECTED)


def _race(folder: str, log: str, barrier) -> None:
    os.environ["HATCHEL_CACHE"] = folder
    barrier.wait()
    assert (np.asarray(cached(recipe(Maker(Path(log))))) == EXPECTED).all()


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

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(HatchelError, match=rf"{words}.*HATCHEL_CACHE.*cache=False"):
        cached(recipe(Maker(folder)))


def test_a_folder_that_cannot_be_made_names_the_remedies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HATCHEL_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(HatchelError, match=r"cannot keep things in the cache folder .*cache=False"):
        cached(recipe(Maker(tmp_path)))


def test_somebody_elses_cache_is_read_though_it_cannot_be_locked(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached(recipe(Maker(tmp_path)))

    def refused(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(cache, "exclusive", refused)
    np.testing.assert_array_equal(cached(recipe(Maker(tmp_path, fail_at=0))), EXPECTED)


def test_the_page_says_the_checksums(folder: Path, tmp_path: Path) -> None:
    cached(recipe(Maker(tmp_path)))
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
