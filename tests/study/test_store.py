from __future__ import annotations

import errno
import json
import math
import os
from pathlib import Path

import pytest

from hatchel.core.errors import HatchelError
from hatchel.core.files import claimed
from hatchel.study.engines.local import Here
from hatchel.study.runner import run_tasks
from hatchel.study.store import Store
from hatchel.study.task import Case, Result
from tests.study.toy import Toy
from tests.torture import damages


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store").create()


def toy(seed: int = 2) -> Toy:
    return Toy(seed=seed, log="unused")


def kept(store: Store, cell: Toy) -> Toy:
    store.lock(cell.digest()).parent.mkdir(parents=True, exist_ok=True)
    store.write(cell, Result({"root": math.pi}, {"curve": [1, 2]}), 1.5)
    return cell


def test_a_record_comes_back_bit_for_bit_with_its_task_and_labels(store: Store) -> None:
    cell = kept(store, toy())
    frame = Store(store.folder).frame_of([Case({"method": "toy"}, cell), Case({"method": "none"}, toy(seed=3))])
    columns = ["method", "seed", "task", "metric", "value", "details", "seconds"]
    assert frame[columns].values.tolist() == [["toy", 2, cell.digest(), "root", math.pi, {"curve": [1, 2]}, 1.5]]
    assert store.record(cell.digest())["cell"] == {
        "kind": "toy",
        "seed": 2,
        "log": "unused",
        "act": "compute",
        "gate": "",
    }
    assert store.digests() == [cell.digest()]


def test_the_status_is_what_the_files_say(store: Store) -> None:
    cell = toy()
    assert store.status(cell.digest()) == "waiting"
    store.write_error(cell, "no reason", "trace")
    assert (store.status(cell.digest()), store.error(cell.digest())) == ("failed", "no reason")
    kept(store, cell)
    assert store.status(cell.digest()) == "done"
    assert not (store.folder_of(cell.digest()) / "error.json").exists()


def test_forgetting_removes_an_error_and_a_note_but_nothing_of_a_task_somebody_is_at(store: Store) -> None:
    cell = toy()
    store.write_error(cell, "no reason")
    store.attempt(cell.digest()).write_text("{}")
    with claimed(store.lock(cell.digest())):
        store.forget(cell.digest())
        assert store.status(cell.digest()) == "failed"
    store.forget(cell.digest())
    assert store.status(cell.digest()) == "waiting"
    assert not store.attempt(cell.digest()).exists()
    store.forget(toy(seed=9).digest())
    assert not store.folder_of(toy(seed=9).digest()).exists()


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_value_that_is_no_number_is_not_kept(store: Store, value: float) -> None:
    with pytest.raises(HatchelError, match=r"root is (nan|inf)"):
        store.write(toy(), Result({"root": value}), 1.0)
    assert store.status(toy().digest()) == "waiting"


def test_a_full_disk_leaves_the_old_record_or_none(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = kept(store, toy())
    before = store.record(cell.digest())

    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        store.write(cell, Result({"root": 1.0}), 1.0)
    with pytest.raises(OSError, match="No space"):
        store.write_error(toy(seed=3), "no reason")
    assert store.record(cell.digest()) == before
    assert store.status(toy(seed=3).digest()) == "waiting"
    assert not list(store.folder.rglob(".*.json*"))


def test_a_store_of_a_newer_hatchel_or_of_somebody_else_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "store.json"
    page.write_text('{"format": 99}')
    with pytest.raises(HatchelError, match=r"newer Hatchel \(store format 99; .*upgrade"):
        Store(tmp_path)
    for text, words in {
        "[]": "not written by Hatchel",
        '{"shop": 1}': "not written by Hatchel",
        "{": "not JSON",
    }.items():
        page.write_text(text)
        with pytest.raises(HatchelError, match=words):
            Store(tmp_path)


def test_a_folder_that_cannot_be_written_to_is_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HatchelError, match=r"file.*cannot write there"):
        Store(tmp_path / "file").create()


def test_studies_are_listed_with_their_tasks_and_labels(store: Store) -> None:
    store.write_study("toys", "smoke", [Case({"method": "toy", "beta": 4}, toy())])
    expected = {"cell": toy().digest(), "seed": 2, "labels": {"method": "toy", "beta": 4}}
    assert store.studies() == [{"study": "toys", "scale": "smoke", "again": "", "entries": [expected]}]
    assert json.loads((store.folder / "store.json").read_text())["format"] == 1


def test_no_damage_to_a_record_goes_unnoticed_and_it_is_computed_again(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = Toy(seed=2, log=str(store.folder / "log"))
    kept(store, cell)
    path = store.folder_of(cell.digest()) / "record.json"
    for number, (what, content) in enumerate(damages(path.read_bytes(), 100, seed=2)):
        path.write_bytes(content)
        os.utime(path, ns=(number, number))  # faster than any disk's clock
        assert store.status(cell.digest()) == "waiting", what
        assert len(store.frame_of([Case({}, cell)])) == 0
        assert capsys.readouterr().err.count("its study computes it again\n") == 1
    assert run_tasks([cell], store, Here()).done == 1
    assert store.record(cell.digest())["values"]["root"] == math.sqrt(2) / 3


def test_a_damaged_error_or_note_is_no_obstacle(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    cell = Toy(seed=2, log=str(store.folder / "log"))
    store.write_error(cell, "no reason")
    for path in (store.folder_of(cell.digest()) / "error.json", store.attempt(cell.digest())):
        path.write_text('{"died')
    assert run_tasks([cell], store, Here()).done == 1
    assert "error.json: is not JSON, so it is damaged" in capsys.readouterr().err


def test_published_records_are_taken_over_by_a_store_that_lacks_them(store: Store, tmp_path: Path) -> None:
    cell, records = kept(store, toy()), tmp_path / "records"
    digest = cell.digest()
    assert store.publish([digest, toy(seed=3).digest()], records) == [digest]
    assert store.publish([digest], records) == []
    other = Store(tmp_path / "other").create()
    assert other.published([digest, toy(seed=3).digest()], records) == [digest]
    assert other.adopt([digest, toy(seed=3).digest()], records) == [digest]
    assert other.record(digest) == store.record(digest)
    assert other.adopt([digest], records) == []
