"""Nothing is lost, nothing goes on silently: checkpoints, stops, divergence, foreign folders."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from pathlib import Path

import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.core.files import read_json, write_json
from hatchel.core.spec import updated
from hatchel.data import load
from hatchel.data.xy_squares import XYSquares
from hatchel.latents.diagonal import Diagonal
from hatchel.methods.resolve import resolve
from hatchel.nets.mlp import Mlp, MlpDecoder
from hatchel.objective.weights import Ramp
from hatchel.training import loop
from hatchel.training.checkpoint import checkpoints
from hatchel.training.events import read_events
from hatchel.training.order import Order
from hatchel.training.run import TrainedRun, resume_run, train
from hatchel.training.spec import Adam, RunSpec


def spec(**fields: object) -> RunSpec:
    base = resolve("beta_vae", XYSquares(size=16)).with_fields(batch_size=16, steps=6, log_every=2)
    return updated(base, fields)


def weights(run: TrainedRun) -> torch.Tensor:
    return torch.cat([p.flatten() for p in run.model.state_dict().values()])


def test_factor_vae_with_a_schedule_resumes_bit_for_bit(tmp_path: Path) -> None:
    """Discriminator, its moments, a ramped weight: k steps + resume = uninterrupted, events included."""
    fields = {
        "objective.tc.weight": {"kind": "ramp", "start": 0.0, "end": 10.0, "steps": 12},
        "objective.tc.term.by.hidden": 32,
        "checkpoint_every": 4,
        "steps": 12,
        "batch_size": 16,
        "log_every": 3,
    }
    base = updated(resolve("factor_vae", XYSquares(size=16)), fields)
    assert isinstance(base.objective["tc"].weight, Ramp)
    whole = train(base, out=tmp_path / "whole", progress=False)
    train(base.with_fields(steps=7), out=tmp_path / "parts", progress=False)
    parts = train(base, out=tmp_path / "parts", resume=True, progress=False)
    assert torch.equal(weights(whole), weights(parts))
    again = TrainedRun.load(tmp_path / "parts")
    assert torch.equal(weights(whole), weights(again))
    # A run that ends at step 7 has an event there; the last one is again the same numbers (times apart).
    last = [read_events(tmp_path / name)[-1] for name in ("whole", "parts")]
    assert {k: v for k, v in last[0].items() if k != "seconds_per_step"} == {
        k: v for k, v in last[1].items() if k != "seconds_per_step"
    }


def test_events_hold_the_means_of_the_terms(tmp_path: Path) -> None:
    train(spec(), out=tmp_path, progress=False)
    events = read_events(tmp_path)
    assert [e["step"] for e in events] == [2, 4, 6]
    for event in events:
        assert event["loss"] == pytest.approx(event["term/rec"] + 4 * event["term/kl"], rel=1e-6)


def test_a_polite_kill_saves_and_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stepper = loop._stepper

    def interrupting(*arguments: object):
        step_of = stepper(*arguments)

        def step(number: int):
            if number == 2:
                os.kill(os.getpid(), signal.SIGINT)
            return step_of(number)

        return step

    monkeypatch.setattr(loop, "_stepper", interrupting)
    with pytest.raises(HatchelError, match=r"stopped at step 3, saved; go on with: hatchel train .* --resume"):
        train(spec(), out=tmp_path / "r", progress=False)
    monkeypatch.undo()
    resumed = resume_run(tmp_path / "r", progress=False)
    assert torch.equal(weights(resumed), weights(train(spec(), out=tmp_path / "whole", progress=False)))
    # It stopped between two events: what was summed up until then is in the event after it.
    parts, whole = (read_events(tmp_path / name) for name in ("r", "whole"))
    assert [e.pop("seconds_per_step") > 0 for e in parts + whole] == [True] * 6
    assert parts == whole


def test_divergence_names_step_term_and_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(HatchelError, match=r"diverged at step \d+: .*(rec|kl).* last good checkpoint is .*step-0"):
        train(spec(**{"optimizer.lr": 1e6, "steps": 200, "checkpoint_every": 1}), out=tmp_path, progress=False)
    for name, tensor in TrainedRun.load(tmp_path).model.state_dict().items():
        assert tensor.isfinite().all(), name


def test_finished_unfinished_and_foreign_folders(tmp_path: Path) -> None:
    made = train(spec(), out=tmp_path / "r", progress=False)
    before = (tmp_path / "r" / "events.jsonl").stat().st_mtime_ns
    assert torch.equal(weights(train(spec(), out=tmp_path / "r", progress=False)), weights(made))
    assert (tmp_path / "r" / "events.jsonl").stat().st_mtime_ns == before  # loaded, not trained again
    with pytest.raises(HatchelError, match=r"unfinished run \(6 of 9 steps\); add --resume"):
        train(spec(steps=9), out=tmp_path / "r", progress=False)
    with pytest.raises(HatchelError, match="another configuration"):
        train(spec(seed=5), out=tmp_path / "r", progress=False)
    with pytest.raises(HatchelError, match="is not a run"):
        TrainedRun.load(tmp_path)
    assert train(spec(seed=5), out=tmp_path / "r", force=True, progress=False).spec.seed == 5


def test_damaged_checkpoints(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    train(spec(checkpoint_every=3), out=folder, progress=False)
    newest, older = checkpoints(folder)
    (newest / "model.safetensors").write_bytes(b"nonsense")
    assert TrainedRun.load(folder).steps == 3  # falls back to the older one
    (older / "model.safetensors").write_bytes((older / "model.safetensors").read_bytes()[:100])
    with pytest.raises(HatchelError, match="is damaged"):
        TrainedRun.load(folder)
    write_json(folder / "config.json", read_json(folder / "config.json") | {"format": 99})
    with pytest.raises(HatchelError, match="written by a newer Hatchel"):
        TrainedRun.load(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(HatchelError, match="is not JSON"):
        TrainedRun.load(folder)


def test_checkpoints_hold_no_pickle(tmp_path: Path) -> None:
    train(spec(), out=tmp_path, progress=False)
    files = {p.name for p in checkpoints(tmp_path)[0].iterdir()}
    assert files == {"model.safetensors", "training.safetensors", "state.json", "config.json", "SHA256SUMS"}


def test_full_disk_leaves_the_last_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hatchel.training import checkpoint

    real = checkpoint.save_file

    def full(tensors: object, path: str) -> None:
        if "000000006" in path:
            raise OSError(28, "No space left on device")
        real(tensors, path)

    monkeypatch.setattr(checkpoint, "save_file", full)
    with pytest.raises(HatchelError, match=r"No space left.*last checkpoint is .*step-000000003"):
        train(spec(checkpoint_every=3), out=tmp_path, progress=False)
    assert [p.name for p in (tmp_path / "checkpoints").iterdir()] == ["step-000000003"]


def test_bad_input_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    for fields, message in [
        ({"batch_size": 65}, "batch_size: 65 is more than the 64 items"),
        ({"device": "nowhere"}, "device: 'nowhere' cannot be used here"),
        ({"encoder": "sharing", "latent.dim": 2000}, "encoder=sharing has places for"),
    ]:
        with pytest.raises(HatchelError, match=message):
            train(spec(**fields), out=tmp_path / "none", progress=False)
        assert not (tmp_path / "none").exists(), fields


def test_unwritable_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HatchelError, match="cannot write there"):
        train(spec(), out=tmp_path / "file" / "run", progress=False)


def test_order_visits_every_item_once_an_epoch() -> None:
    order = Order(torch.arange(100, 120), 6, seed=0)
    epoch = torch.cat([order.batch(s) for s in range(3)])
    assert len(set(epoch.tolist())) == 18
    assert not torch.equal(epoch, torch.cat([order.batch(s) for s in range(3, 6)]))
    assert torch.equal(order.batch(1), Order(torch.arange(100, 120), 6, seed=0).batch(1))


def test_training_in_a_thread_works(tmp_path: Path) -> None:
    """Signals can only be caught in the main thread; elsewhere training goes without."""
    errors: list[BaseException] = []

    def work() -> None:
        try:
            train(spec(steps=2), out=tmp_path, progress=False)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not errors


def test_held_out_items_are_not_trained_on(tmp_path: Path) -> None:
    run = train(spec(test_share=0.5, batch_size=8), out=tmp_path, progress=False)
    assert run.description.n_data == 32
    training, testing = load("xy_squares").split(0, 0.5)
    assert not set(training) & set(testing)


@pytest.mark.parametrize("precision", ["bfloat16"])
def test_mixed_precision_is_close(tmp_path: Path, precision: str) -> None:
    full = train(spec(steps=3), out=tmp_path / "full", progress=False)
    mixed = train(spec(steps=3, precision=precision), out=tmp_path / "mixed", progress=False)
    a, b = (read_events(r.folder)[-1]["loss"] for r in (full, mixed))
    assert b == pytest.approx(a, rel=0.02)
    assert not torch.equal(weights(full), weights(mixed))


def test_tensorboard_files(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    train(spec(tensorboard=True), out=tmp_path, progress=False)
    assert list((tmp_path / "tensorboard").glob("events*"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # torch's compiler deprecates parts of itself
def test_a_compiled_step_is_the_eager_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which(os.environ.get("CXX", "g++")) is None:
        pytest.skip("no C++ compiler: set CXX")
    # torch keeps what it compiled, and would take it for another CPU's instructions too.
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    small = {"encoder": Mlp((8,)), "decoder": MlpDecoder((8,)), "latent": Diagonal(2), "device": "cpu"}
    # With a usual eps, Adam's first step is the sign of the gradient: where that is 0 but for rounding, any.
    small["optimizer"] = Adam(eps=1.0)
    base = resolve("beta_vae", XYSquares(size=16)).with_fields(steps=1, batch_size=16, **small)
    eager = train(base, out=tmp_path / "eager", progress=False)
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    fast = train(base.with_fields(compile=True), out=tmp_path / "compiled", progress=False)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1, "the whole step is one graph"
    torch.testing.assert_close(weights(fast), weights(eager), rtol=0, atol=1e-7)
    losses = [read_events(tmp_path / name)[-1]["loss"] for name in ("eager", "compiled")]
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)


@pytest.mark.parametrize(("keep", "steps"), [(2, [6, 5]), (4, [6, 5, 4, 3])])
def test_as_many_checkpoints_stay_as_asked(tmp_path: Path, keep: int, steps: list[int]) -> None:
    train(spec(checkpoint_every=1, keep_checkpoints=keep), out=tmp_path, progress=False)
    assert [int(place.name.removeprefix("step-")) for place in checkpoints(tmp_path)] == steps


def test_auto_precision_is_one_of_the_two_and_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = train(spec(steps=2, precision="auto"), out=tmp_path / "auto", progress=False)
    said = capsys.readouterr().err
    assert f"precision=auto: {made.spec.precision}" in said
    chosen = spec(steps=2, precision=made.spec.precision)
    assert made.spec.digest() == chosen.fit_to(made.data).digest()
    train(spec(steps=2, precision="auto"), out=tmp_path / "auto", progress=False)  # the finished run, not timed again
    assert not capsys.readouterr().err
