"""Estimates: from records where there are some, else from one cell of each kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from hatchel.errors import HatchelError
from hatchel.files import read_json
from hatchel.study.cell import Record
from hatchel.study.engines.local import Local
from hatchel.study.estimate import estimate
from hatchel.study.store import Store
from tests.study.coin import Coin


def test_calibrated_times_over_slots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    calls: list[float] = []
    own = Coin.seconds
    monkeypatch.setattr(Coin, "seconds", lambda self, threads=1: calls.append(self.bias) or own(self, threads))
    cells = [Coin(seed=s, bias=b) for b in (0.1, 0.3) for s in range(5)]
    found = estimate([*cells, cells[0]], Store(tmp_path), Local(workers=4))
    # 5 x 10 s + 5 x 30 s on four slots of one thread.
    assert (found.cells, found.computing, found.longest, found.seconds) == (10, 200, 30, 50)
    assert calls == [0.1, 0.3]
    assert found.text() == "10 cells to compute, 4 at once: roughly 50 s"
    assert estimate(cells[:2], Store(tmp_path), Local(workers=4)).seconds == 10  # two at once, ten seconds each


def test_records_are_better_than_calibration(tmp_path: Path) -> None:
    store = Store(tmp_path).create()
    for seed, seconds in ((0, 40.0), (1, 60.0)):
        store.place(Coin(seed=seed).digest()).mkdir(parents=True)
        store.write(Coin(seed=seed), Record({"heads": 1.0}), seconds)
    found = estimate([Coin(seed=s) for s in range(5)], store, Local(workers=1))
    assert (found.cells, found.computing) == (3, 150)
    assert read_json(store.place(Coin(seed=0).digest()) / "record.json")["seconds"] == 40


def test_patience_and_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [Coin(seed=0, bias=b) for b in (0.1, 0.3)]
    found = estimate(cells, Store(tmp_path), Local(workers=1), patience=0.0)
    assert (found.cells, found.guessed) == (2, 2)

    def fails(self: Coin, threads: int = 1) -> float:
        raise HatchelError("no such data")

    monkeypatch.setattr(Coin, "seconds", fails)
    assert estimate(cells, Store(tmp_path), Local(workers=1)).faults == ("no such data",)
