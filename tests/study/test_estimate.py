"""Estimates: from records where there are some, else from one cell of each kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from hatchel.core.errors import HatchelError
from hatchel.core.files import read_json
from hatchel.core.spec import updated
from hatchel.data.mnist import MNIST
from hatchel.data.xy_squares import XYSquares
from hatchel.methods.method import preset
from hatchel.objective.estimators.minibatch import MWS
from hatchel.study.cell import Cell, Place, Record
from hatchel.study.cells.agreement import Agreement
from hatchel.study.cells.classified import Classified
from hatchel.study.cells.estimated import Estimated
from hatchel.study.cells.paired import Paired
from hatchel.study.cells.reached import Reached
from hatchel.study.cells.trained import Trained
from hatchel.study.engines.local import Local
from hatchel.study.estimate import estimate, training_seconds
from hatchel.study.store import Store
from tests.study.coin import Coin


def test_calibrated_times_over_slots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    calls: list[float] = []
    own = Coin.seconds
    monkeypatch.setattr(Coin, "seconds", lambda self: calls.append(self.bias) or own(self))
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

    def fails(self: Coin) -> float:
        raise HatchelError("no such data")

    monkeypatch.setattr(Coin, "seconds", fails)
    assert estimate(cells, Store(tmp_path), Local(workers=1)).faults == ("no such data",)


RUN, OTHER = (preset("beta_vae", data=XYSquares(size=16), beta=beta) for beta in (2, 3))


@pytest.mark.parametrize(
    ("cells", "trainings"),
    [
        pytest.param([Trained(seed=s, run=RUN) for s in range(3)], 3 * 10, id="three seeds"),
        pytest.param([Trained(seed=0, run=RUN), Paired(seed=0, run=RUN)], 10, id="one run, measured twice"),
        pytest.param(
            [Reached(seed=s, run=r, other=OTHER) for r in (RUN, OTHER) for s in (0, 1)], 60, id="a common run"
        ),
        pytest.param([Agreement(seed=0, run=RUN, seeds=4)], 4 * 10, id="several in one cell"),
        pytest.param([Classified(seed=0, train=MNIST(), test=MNIST(), run=OTHER)], 20, id="what is trained first"),
        pytest.param([Classified(seed=0, train=MNIST(), test=MNIST())], 0, id="nothing to train"),
    ],
)
def test_every_training_is_counted_once(
    cells: list[Cell], trainings: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = {RUN.with_fields(seed=0).digest(): 10.0, OTHER.with_fields(seed=0).digest(): 20.0}
    monkeypatch.setattr("hatchel.study.estimate.training_seconds", lambda run, threads: times[run.digest()])
    store = Store(tmp_path).create()
    assert estimate(cells, store, Local(workers=1)).computing == trainings
    for run in (run for cell in cells for run in cell.trainings()):
        Place(tmp_path, store.runs).run(run).mkdir(parents=True, exist_ok=True)
    assert estimate(cells, store, Local(workers=1)).computing == 0  # all there


def test_a_trainings_seconds_grow_with_its_steps() -> None:
    run = updated(RUN, {"batch_size": 8, "encoder": "mlp", "decoder": "mlp_decoder"})
    short, long = (training_seconds(run.with_fields(steps=steps)) for steps in (1, 10**7))
    assert 0 < short < long


def test_a_discriminators_training_takes_time_and_closed_forms_none() -> None:
    few, many = (Estimated(seed=0, dim=4, batch=8, steps=steps).seconds() for steps in (1, 10**6))
    assert few is not None
    assert many is not None
    assert 0 < few < many
    assert Estimated(seed=0, by=MWS()).seconds() is None
