"""Trackers hold the numbers of events.jsonl and the pictures of the checkpoints, after a resume too."""

from __future__ import annotations

import builtins
import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from hatchel.core.errors import HatchelError
from hatchel.methods.resolve import resolve
from hatchel.report.trackers import MLflow, WandB, traversals
from hatchel.training.events import read_events
from hatchel.training.run import TrainedRun, resume_run, train
from hatchel.training.spec import RunSpec
from tests.torture import flip


def spec(*track: Any) -> RunSpec:
    fields = {"batch_size": 16, "steps": 4, "log_every": 2, "checkpoint_every": 2, "latent.dim": 3}
    return resolve("beta_vae", "xy_squares", {**fields, "track": list(track)})


def losses(run: TrainedRun) -> dict[int, float]:
    return {e["step"]: e["loss"] for e in read_events(run.folder)}


def trained(folder: Path, *track: Any) -> TrainedRun:
    """With a resume between the two checkpoints."""
    train(spec(*track).with_fields(steps=2), out=folder, progress=False)
    return train(spec(*track), out=folder, resume=True, progress=False)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> TrainedRun:
    return train(spec(), out=tmp_path_factory.mktemp("run") / "run", progress=False)


def test_the_picture_has_a_row_for_each_dimension_with_the_decoded_codes(plain: TrainedRun) -> None:
    picture = np.asarray(traversals(plain))
    size = plain.shape[1]
    assert picture.shape == (3 * (size + 1) - 1, 11 * (size + 1) - 1, 3)
    rows = [picture[r * (size + 1) : r * (size + 1) + size, :size, 0] for r in range(3)]
    mean = plain.encode(plain.data.images(np.arange(len(plain.data))))
    low = np.quantile(mean, 0.02, axis=0)
    starts = mean[:, None].repeat(3, axis=1)  # every item with each dimension at its low end
    starts[:, range(3), range(3)] = low
    wanted = (plain.decode(starts.reshape(-1, 3)) * 255 + 0.5).astype(np.uint8)[..., 0]
    for row in rows:
        assert (np.abs(wanted.astype(int) - row).max(axis=(1, 2)) <= 1).any()


@pytest.mark.filterwarnings("ignore")
def test_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = trained(tmp_path / "run", "tensorboard")
    found = EventAccumulator(str(tmp_path / "run" / "tensorboard"), size_guidance={"images": 0})
    found.Reload()
    assert {e.step: pytest.approx(e.value, rel=1e-5) for e in found.Scalars("loss")} == losses(run)
    pictures = found.Images("traversals")
    assert [p.step for p in pictures] == [2, 4]
    assert (pictures[-1].height, pictures[-1].width) == np.asarray(traversals(run)).shape[:2]
    # The field's earlier name.
    old = train(spec().with_fields(tensorboard=True), out=tmp_path / "old", progress=False)
    assert list((old.folder / "tensorboard").glob("events*"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(importlib.util.find_spec("wandb") is None, reason="wandb is not installed")
def test_wandb_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    run = trained(tmp_path / "run", {"kind": "wandb", "project": "mine"})
    first, second = sorted((run.folder / "wandb").glob("offline-run-*"))
    assert first.name.split("-")[-1] == second.name.split("-")[-1]  # one run, resumed
    assert [len(list(f.glob("files/media/images/traversals_*.png"))) for f in (first, second)] == [1, 1]
    picture = next(second.glob("files/media/images/traversals_*.png"))
    np.testing.assert_array_equal(np.asarray(Image.open(picture).convert("RGB")), np.asarray(traversals(run)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(importlib.util.find_spec("mlflow") is None, reason="mlflow is not installed")
def test_mlflow_in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import mlflow  # pyright: ignore

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri(f"file://{tmp_path / 'store'}")
    run = trained(tmp_path / "run", "mlflow")
    client = mlflow.MlflowClient()
    [found] = client.search_runs([client.get_experiment_by_name("hatchel").experiment_id])
    history = {m.step: m.value for m in client.get_metric_history(found.info.run_id, "loss")}
    assert history == losses(run)
    assert found.data.params["steps"] == "2"  # as it was started
    assert sorted(f.path for f in client.list_artifacts(found.info.run_id)) == [
        "traversals-000000002.png",
        "traversals-000000004.png",
    ]


def test_wandb_and_mlflow_are_told_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Stand-ins in place of the packages, which not every machine has."""
    calls: list[tuple[str, Any]] = []

    def noted(name: str, answer: Any = None) -> Any:
        return lambda *a, **k: calls.append((name, (a, k))) or answer  # type: ignore[func-returns-value]

    logger = SimpleNamespace(id="abc", log=noted("log"), finish=noted("finish"))
    wandb = SimpleNamespace(init=noted("init", logger), Image=lambda picture: picture)
    names = ("set_experiment", "log_params", "log_metrics", "log_image", "end_run")
    started = SimpleNamespace(info=SimpleNamespace(run_id="xyz"))
    mlflow = SimpleNamespace(start_run=noted("start_run", started), **{name: noted(name) for name in names})
    monkeypatch.setitem(sys.modules, "wandb", wandb)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)  # type: ignore[arg-type]
    run = trained(tmp_path / "run", WandB("mine"), MLflow())
    assert [k["id"] for name, (_, k) in calls if name == "init"] == [None, "abc"]
    assert [k for name, (_, k) in calls if name == "start_run"] == [{"run_name": "run"}, {"run_id": "xyz"}]
    logged = [(k["step"], a[0]) for name, (a, k) in calls if name == "log"]
    assert {step: v["loss"] for step, v in logged if "loss" in v} == losses(run)
    assert [step for step, v in logged if "traversals" in v] == [2, 4]
    assert {k["step"]: a[0]["loss"] for name, (a, k) in calls if name == "log_metrics"} == losses(run)
    assert [a[1] for name, (a, _) in calls if name == "log_image"] == [f"traversals-{s:09d}.png" for s in (2, 4)]
    assert [name for name, _ in calls].count("finish") == [name for name, _ in calls].count("end_run") == 2
    flip(run.folder / "tracked.json")
    resume_run(run.folder, progress=False, changes={"steps": 6})
    assert [k["id"] for name, (_, k) in calls if name == "init"] == [None, "abc", None]
    assert "tracked.json: is damaged" in capsys.readouterr().err


@pytest.mark.parametrize("name, extra", [("tensorboard", "track"), ("wandb", "wandb"), ("mlflow", "mlflow")])
def test_what_is_not_installed_is_said_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, extra: str
) -> None:
    real = builtins.__import__

    def missing(module: str, *rest: Any) -> Any:
        if module.split(".")[0] == name:
            raise ImportError(module)
        return real(module, *rest)

    for loaded in [m for m in sys.modules if m.split(".")[0] == name or m.startswith("torch.utils.tensorboard")]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setattr(builtins, "__import__", missing)
    if name != "tensorboard":
        monkeypatch.setitem(sys.modules, name, None)  # type: ignore[arg-type]
    with pytest.raises(HatchelError, match=rf'^track: {name} is not installed; pip install "hatchel\[{extra}\]"$'):
        train(spec(name), out=tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists()
