from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from PIL import Image

from hatchel.api import quickstart as module
from hatchel.api.quickstart import CONTROL, QUICKSTART, STEPS, Quickstart, print_scores, quickstart, specs, untrained
from hatchel.data.dataset import Dataset
from hatchel.data.xy_squares import XYSquares
from hatchel.latents.diagonal import Diagonal
from hatchel.objective.weights import Ramp
from hatchel.training import run as run_module
from hatchel.training.events import read_events
from hatchel.training.loop import Stopped
from hatchel.training.run import TrainedRun, train
from hatchel.training.spec import RunSpec

SMALL = {
    "data": XYSquares(size=32), "latent": Diagonal(3), "batch_size": 16, "log_every": 5, "test_share": 0.0,
    "precision": "float32",
}  # fmt: skip
SPEC = QUICKSTART.with_fields(steps=20, **SMALL)
PLAIN = CONTROL.with_fields(steps=10, **SMALL)


def start(out: Path, **options: object) -> Quickstart:
    return quickstart(out, spec=SPEC, control=PLAIN, bootstrap=2, progress=False, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Quickstart:
    return start(tmp_path_factory.mktemp("quickstart") / "out")


@pytest.fixture
def one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Model and control one after the other in this process, as where there is one core; `done` has two processes."""
    monkeypatch.setattr(module.os, "cpu_count", lambda: 1)


def test_what_it_leaves_behind(done: Quickstart) -> None:
    out = done.report.parent
    assert done.report == out / "report.html"
    text = done.report.read_text(encoding="utf-8")
    assert f"{SPEC.title} on xy_squares" in text
    assert "trained on -log p(x|z) + KL(q(z|x)||p(z)) for 10 steps" in text
    with Image.open(out / "traversals.png") as picture:
        assert picture.width == 1200
    assert TrainedRun.load(out).steps == 20
    assert TrainedRun.load(out / "control" / "vae").steps == 10


def test_scores_json_holds_the_model_on_top_and_the_controls_beside(done: Quickstart) -> None:
    scores = json.loads(done.scores.read_text(encoding="utf-8"))
    control = scores.pop("control")
    assert set(control) == {"untrained", "vae"}
    for entries in (scores, *control.values()):
        assert {"mig", "sap", "dci", "factor_vae_score", "tc_mean", "tc_sample", "r2_x", "r2_y"} == set(entries)
        for entry in entries.values():
            assert entry["low"] <= entry["value"] <= entry["high"]
    for key, score in done.model.scores.items():
        assert scores[key]["value"] == score.value
    assert control["vae"]["tc_mean"] != scores["tc_mean"] != control["untrained"]["tc_mean"]


def test_the_untrained_control_has_the_weights_training_started_from(done: Quickstart, tmp_path: Path) -> None:
    start_weights = untrained(done.model.run).model.state_dict()
    barely = train(SPEC.with_fields(optimizer=SPEC.optimizer.with_fields(lr=1e-12), steps=1), out=tmp_path / "r",
                   progress=False)  # fmt: skip
    for name, weight in barely.model.state_dict().items():
        assert torch.allclose(start_weights[name], weight, atol=1e-9), name


@pytest.mark.usefixtures("one_core")
def test_a_second_time_only_reports(done: Quickstart, tmp_path: Path) -> None:
    out = tmp_path / "copy"
    shutil.copytree(done.report.parent, out)
    before = {p: p.stat().st_mtime_ns for p in out.rglob("*.safetensors")}
    (out / "report.html").unlink()
    again = start(out)
    assert {p: p.stat().st_mtime_ns for p in out.rglob("*.safetensors")} == before
    assert (out / "scores.json").read_bytes() == done.scores.read_bytes()
    assert again.report.is_file()


@pytest.mark.usefixtures("one_core")
def test_it_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    train(SPEC.with_fields(steps=10), out=tmp_path / "out", progress=False)
    lines: list[str] = []
    result = start(tmp_path / "out", log=lines.append)
    assert result.model.run.steps == 20
    assert [event["step"] for event in read_events(tmp_path / "out")] == [5, 10, 15, 20]
    assert lines[0].startswith(f"1/3  {SPEC.name}: 20 steps")


@pytest.mark.usefixtures("one_core")
def test_a_stop_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, **__: object) -> TrainedRun:
        raise Stopped("stopped at step 7, saved; go on with: hatchel train x --resume")

    monkeypatch.setattr(module, "train", stopped)
    with pytest.raises(Stopped, match=f"{SPEC.name}: stopped at step 7, saved; run the same command again"):
        start(tmp_path / "out")


def test_the_printed_table_ends_with_the_report(done: Quickstart, capsys: pytest.CaptureFixture[str]) -> None:
    print_scores(done)
    text = capsys.readouterr().out
    assert text.strip().splitlines()[-1] == f"Report: {done.report}"
    for key in ("mig", "tc_sample"):
        row = next(line for line in text.splitlines() if line.startswith({"mig": "MIG", "tc_sample": "TC of s"}[key]))
        own, untrained_, plain = (f.scores[key].value for f in (done.model, *(c.findings for c in done.controls)))
        numbers = [f"{v:.3f}" for v in (own, untrained_, plain)]
        assert numbers[0] in row.split()
        assert row.split()[-2:] == numbers[1:]


def test_the_model_is_the_promised_one() -> None:
    assert QUICKSTART.data == CONTROL.data
    assert QUICKSTART.data.kind == "shapes3d"
    assert CONTROL.latent == QUICKSTART.latent
    assert CONTROL.formula() == "-log p(x|z) + KL(q(z|x)||p(z))"
    assert QUICKSTART.name == "comb"
    whole, tenth = (model.objective["kl"].weight for model, _ in (specs(), specs(STEPS // 10)))
    assert isinstance(whole, Ramp) and isinstance(tenth, Ramp)  # noqa: PT018
    assert tenth.at(STEPS // 20) == pytest.approx(whole.at(STEPS // 2), rel=0.01)


def test_both_train_in_the_precision_that_was_faster(
    tmp_path: Path, one_core: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measured once, for the model; the control does not measure again."""
    asked: list[tuple[str, int]] = []

    def faster(spec: RunSpec, data: Dataset) -> str:
        asked.append((spec.name, spec.threads))
        return "bfloat16"

    monkeypatch.setattr(run_module, "faster_precision", faster)
    spec, plain = (made.with_fields(steps=3, precision="auto") for made in (SPEC, PLAIN))
    found = quickstart(tmp_path / "out", spec=spec, control=plain, bootstrap=0, progress=False)
    assert asked == [("comb", 0)]  # one core: half of it is left to torch
    assert found.model.run.spec.precision == found.controls[1].findings.run.spec.precision == "bfloat16"
