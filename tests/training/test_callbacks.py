"""Callbacks hear of every event and checkpoint; a training that gets no better ends, the same after a resume."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch

import hatchel
from hatchel.core.errors import HatchelError
from hatchel.data.xy_squares import XYSquares
from hatchel.methods.resolve import resolve
from hatchel.metrics import mig
from hatchel.training.callbacks import Callback, Plateau, Watch
from hatchel.training.events import read_events
from hatchel.training.run import TrainedRun, train
from hatchel.training.spec import RunSpec

SHORT = {"batch_size": 16, "steps": 12, "log_every": 2, "checkpoint_every": 6, "optimizer.lr": 1e-3}


def spec(**fields: object) -> RunSpec:
    return resolve("beta_vae", XYSquares(size=16), SHORT | fields)


def weights(run: TrainedRun) -> torch.Tensor:
    return torch.cat([p.flatten() for p in run.model.state_dict().values()])


class Notes(Callback):
    def __init__(self) -> None:
        self.heard: list[tuple[object, ...]] = []
        self.codes: list[np.ndarray] = []

    def on_start(self, run: TrainedRun, step: int) -> None:
        self.heard.append(("start", step))

    def on_step(self, step: int, values: Mapping[str, float]) -> None:
        self.heard.append(("step", step, dict(values)))

    def on_checkpoint(self, run: TrainedRun, step: int) -> None:
        self.heard.append(("checkpoint", step))
        self.codes.append(run.encode(run.data.images([0, 9])))
        assert (run.steps, run.model.training) == (step, False)

    def on_end(self) -> None:
        self.heard.append(("end",))


def test_callbacks_hear_what_is_written_and_change_nothing(tmp_path: Path) -> None:
    notes = Notes()

    class Steps:  # no parent, one method
        seen: list[int] = []  # noqa: RUF012

        def on_step(self, step: int, values: Mapping[str, float]) -> None:
            self.seen.append(step)

    run = hatchel.train(spec(), out=tmp_path / "a", progress=False, callbacks=[notes, Steps()])
    assert [e[:2] for e in notes.heard] == [
        ("start", 0), *(("step", s) for s in (2, 4, 6)), ("checkpoint", 6),
        *(("step", s) for s in (8, 10, 12)), ("checkpoint", 12), ("end",),
    ]  # fmt: skip
    assert [{"step": e[1], **e[2]} for e in notes.heard if e[0] == "step"] == read_events(run.folder)  # type: ignore[dict-item]
    assert Steps.seen == [2, 4, 6, 8, 10, 12]
    np.testing.assert_array_equal(notes.codes[-1], run.encode(run.data.images([0, 9])))
    assert torch.equal(weights(run), weights(train(spec(), out=tmp_path / "b", progress=False)))


@pytest.mark.parametrize("wrong", [3, "print", Notes])
def test_what_is_no_callback_is_named(tmp_path: Path, wrong: object) -> None:
    with pytest.raises(HatchelError, match=r"callbacks\[0\]: .* is not an object with a method on_start, on_step"):
        train(spec(), out=tmp_path / "r", progress=False, callbacks=[wrong])
    assert not (tmp_path / "r").exists()


def test_a_failing_callback_loses_no_checkpoint_and_the_others_end(tmp_path: Path) -> None:
    class Fails:
        def on_checkpoint(self, run: TrainedRun, step: int) -> None:
            raise RuntimeError("mine")

    notes = Notes()
    with pytest.raises(RuntimeError, match="mine"):
        train(spec(), out=tmp_path, progress=False, callbacks=[notes, Fails()])
    assert notes.heard[-1] == ("end",)
    assert TrainedRun.load(tmp_path).steps == 6


def test_the_watch_by_hand() -> None:
    """Means over two steps: 10, 8, 7.9995 (no gain of 0.1 %), 8: the end, with 8 of step 4 as the best."""

    class Run:
        steps = 0

    watch, ends = Watch(Plateau(every=2, patience=2), {}), []
    for done, value in enumerate([11.0, 9.0, 8.0, 8.0, 8.0, 7.999, 8.0, 8.0], 1):
        Run.steps = done
        watch.add(type("L", (), {"objective": torch.tensor(value)}))  # type: ignore[arg-type]
        if watch.due(done):
            ends.append(watch.enough(Run))  # type: ignore[arg-type]
    assert ends == [False, False, False, True]
    assert watch.read() == {"stop/best": 8.0, "stop/step": 4}
    assert Plateau(gain=0.1).limit(-100.0) == -110.0  # a loss below 0 has to fall further


@pytest.mark.parametrize("stop", ["plateau", "metric"])
def test_a_plateau_ends_the_run_where_an_uninterrupted_one_ends(tmp_path: Path, stop: str) -> None:
    fields = {"stop": {"kind": stop, "every": 3, "patience": 2, "gain": 0.9}, "steps": 60, "checkpoint_every": 1000}
    whole = train(spec(**fields), out=tmp_path / "whole", progress=False)
    # With a gain that never comes: the first look, and two more. The checkpoint and the last event are there.
    last = read_events(whole.folder)[-1]
    assert (whole.steps, last["step"], last["stop/step"]) == (9, 9, 3)
    assert TrainedRun.load(whole.folder).steps == 9
    if stop == "plateau":
        twos = [e["loss"] for e in read_events(train(spec(log_every=1), out=tmp_path / "each", progress=False).folder)]
        assert last["stop/best"] == pytest.approx(np.mean(twos[:3]), rel=1e-6)
    else:
        run = train(spec(steps=3), out=tmp_path / "three", progress=False)
        items = np.arange(len(run.data))
        found = mig(run.encode(run.data.images(items)), run.data.factors(items)).value
        assert last["stop/best"] == pytest.approx(-found)
    # Stopped from outside in the midst of a window, and resumed.
    train(spec(**fields, **{"optimizer.lr": 1e-3}).with_fields(steps=4), out=tmp_path / "parts", progress=False)
    parts = train(spec(**fields), out=tmp_path / "parts", resume=True, progress=False)
    assert parts.steps == 9
    assert torch.equal(weights(whole), weights(parts))
    # It is finished: asked for again, it is read.
    before = (whole.folder / "events.jsonl").stat().st_mtime_ns
    assert train(spec(**fields), out=whole.folder, progress=False).steps == 9
    assert train(spec(**fields), out=whole.folder, resume=True, progress=False).steps == 9
    assert (whole.folder / "events.jsonl").stat().st_mtime_ns == before


def test_left_out_it_is_no_part_of_the_identity(tmp_path: Path) -> None:
    assert spec(stop="plateau").stop == Plateau()
    assert spec(stop="plateau").digest() != spec().digest() == spec(stop=None, track="tensorboard").digest()


@pytest.mark.parametrize(
    "data, fields, message",
    [
        ("xy_squares", {"stop": "plato"}, r"^stop: unknown stop 'plato'. Did you mean 'plateau'\?"),
        ("xy_squares", {"stop": {"kind": "plateau", "of": "tc"}}, r"no part of the loss; use one of loss, rec, kl$"),
        ("xy_squares", {"stop": {"kind": "metric", "of": "migg"}}, r"^stop\.of: unknown metric 'migg'"),
        ("table", {"stop": "metric"}, r"^stop\.of: mig needs factors, which .* has none of; use stop=plateau$"),
    ],
)
def test_a_stop_that_does_not_fit_is_refused_at_once(
    tmp_path: Path, data: str, fields: dict[str, object], message: str
) -> None:
    given = np.random.default_rng(0).normal(size=(40, 3)) if data == "table" else data
    with pytest.raises(HatchelError, match=message):
        hatchel.train("beta_vae", data=given, out=tmp_path / "r", progress=False, **(SHORT | fields))  # type: ignore[arg-type]
    assert not (tmp_path / "r").exists()
