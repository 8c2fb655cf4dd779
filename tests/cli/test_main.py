"""The command line as a user meets it: what it prints, exit codes, one-line errors."""

from __future__ import annotations

import json
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from typer.testing import CliRunner

from hatchel.__main__ import main as start
from hatchel.cli.listing import FAMILIES
from hatchel.cli.main import app
from hatchel.cli.options import kinds
from hatchel.core import __version__
from hatchel.core.errors import HatchelError
from hatchel.core.files import read_json
from hatchel.data.source import Source
from hatchel.methods.method import Method
from hatchel.training.callbacks import Tracker
from hatchel.training.run import TrainedRun

SMALL = ["data=xy_squares", "batch_size=16", "steps=4", "log_every=2"]


def parsed(*arguments: str) -> Any:
    """What --json prints: one document on stdout, whatever is said on stderr."""
    result = CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def hatchel(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_train_evaluate_and_resume(tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    text = hatchel("train", "beta_vae", "beta=2", "latent.dim=3", *SMALL, "--out", out)
    assert "Next: hatchel evaluate" in text
    run = TrainedRun.load(out)
    assert run.spec.objective["kl"].weight.value == 2
    assert run.spec.latent.dim == 3
    hatchel("train", out, "steps=6", "--resume", "--quiet")
    assert TrainedRun.load(out).steps == 6
    scores = parsed("evaluate", out, "--metrics", "mig,active_units")
    assert set(scores) == {"version", "settings", "mean", "sample"}
    assert 0 <= scores["mean"]["scores"]["mig"]["value"] <= 1
    assert read_json(tmp_path / "run" / "evaluation.json") == scores


def test_layers_are_scored(tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    hatchel("train", "vae", *SMALL, "--out", out, "--quiet")
    scores = parsed("evaluate", out, "--metrics", "mig", "--layers")
    assert any(name.startswith("layer conv") for name in scores)


def test_show_prints_formula_and_a_file_that_trains(tmp_path: Path) -> None:
    text = hatchel("show", "beta_tcvae", "beta=3", "data=xy_squares")
    assert "# minimise  -log p(x|z) + I(x;z)[mss] + 3*TC(z)[mss] + sum_d KL(q(z_d)||p(z_d))[mss]" in text
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    hatchel("train", str(path), *SMALL[1:], "--out", str(tmp_path / "run"), "--quiet")
    assert TrainedRun.load(tmp_path / "run").spec.objective["tc"].weight.value == 3
    short = tmp_path / "short.yaml"
    short.write_text(yaml.safe_dump({"method": "factor_vae", "gamma": 2, "data": "xy_squares"}))
    assert "2*TC(z)[density_ratio]" in hatchel("show", str(short))


@pytest.mark.parametrize("family", FAMILIES)
def test_list(family: str) -> None:
    rows = parsed("list", family)
    assert rows
    assert all(row["name"] and row["what"] for row in rows)
    assert rows[0]["name"] in hatchel("list", family)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "facto_vae"], r"unknown method 'facto_vae'\. Did you mean 'factor_vae'"),
        (["train", "vae", "stesp=3"], r"unknown field 'stesp'\. Did you mean 'steps'"),
        (["train", "vae", "steps"], r"expected key=value"),
        (["train", "vae", "steps=many"], r"steps: input should be a valid integer"),
        (["train", "vae", "latent.dmi=3", "data=xy_squares"], r"latent: unknown field of Diagonal 'dmi'"),
        (["train", "vae", "data=nowhere"], r"unknown dataset 'nowhere'"),
        (["train", "none.yaml"], r"none\.yaml: cannot be read"),
        (["list", "methds"], r"unknown family 'methds'\. Did you mean 'methods'"),
        (["list", "presets"], r"presets are called methods: hatchel list methods"),
        (["evaluate", "."], r"is not a run"),
        (["train", "vae", "track=5"], r"track\[0\]: expected a tracker, got 5"),
        (["study", "claims", "--store", "nowhere"], r"--store nowhere: is not a folder; leave --store out"),
        (["train", "runs/none", "--resume"], r"runs/none: is not a run \(it has no config\.json\)"),
        (["evaluate"], r"^Missing argument 'RUN'\. See: .* evaluate --help$"),
        (["study", "show", "--jsn"], r"^No such option: --jsn .* See: .* study show --help$"),
        (["train", "vae", "--epochs", "many"], r"^Invalid value for '--epochs': .* See: .* train --help$"),
        (["trian"], r"^No such command 'trian'. Did you mean 'train'\? See: .*--help$"),
        (["evaluate", ".", "--plugin", "x.py"], r"there is no such file"),
    ],
)
def test_mistakes(arguments: list[str], message: str) -> None:
    with pytest.raises(HatchelError, match=message):
        hatchel(*arguments)


def test_a_file_of_0_1_answers_with_the_new_key(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("preset: factor_vae\n")
    with pytest.raises(HatchelError, match=r"mine.yaml: `preset` is now `method`; write `method: factor_vae`"):
        hatchel("train", str(tmp_path / "mine.yaml"))


def test_show_has_the_schedules_of_a_short_training() -> None:
    spec = yaml.safe_load(hatchel("show", "control_vae", "steps=3000", "data=xy_squares"))
    assert (spec["objective"]["kl"]["weight"]["steps"], spec["objective"]["kl"]["weight"]["ki"]) == (1000, 0.1)
    spec = yaml.safe_load(hatchel("show", "control_vae", "steps=3000", "climb=50", "ki=1e-4", "data=xy_squares"))
    assert (spec["objective"]["kl"]["weight"]["steps"], spec["objective"]["kl"]["weight"]["ki"]) == (50, 0.0001)


def test_a_mistake_is_one_line_and_exit_code_2() -> None:
    command = [sys.executable, "-m", "hatchel", "train", "facto_vae"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1


def test_interrupting_saves_and_says_how_to_go_on(tmp_path: Path) -> None:
    """A real SIGINT to a real process; the resumed run then finishes."""
    out = tmp_path / "run"
    command = [sys.executable, "-m", "hatchel", "train", "vae", *SMALL[:2], "steps=100000", "--out", str(out)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 120
        while not (out / "events.jsonl").exists() or not (out / "events.jsonl").read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "saved; go on with: hatchel train" in error
    stopped = TrainedRun.load(out).steps
    hatchel("train", str(out), f"steps={stopped + 3}", "--resume", "--quiet")
    assert TrainedRun.load(out).steps == stopped + 3


def test_version() -> None:
    versions = f"Python {platform.python_version()}, torch {torch.__version__}, "
    assert hatchel("--version").startswith(f"hatchel {__version__} ({versions}")


@pytest.mark.parametrize(
    "command, line",
    [
        (["evaluate", "run"], "stopped; what was stored is kept; the same command goes on"),
        (["train", "run", "--resume"], "stopped; the last checkpoint is kept; `hatchel train RUN --resume` goes on"),
        (["export", "run", "--onnx", "out"], "stopped; nothing is left half-written"),
    ],
)
def test_ctrl_c_is_one_line_and_130(monkeypatch: pytest.MonkeyPatch, command: list[str], line: str) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(TrainedRun, "load", interrupted)
    monkeypatch.setattr("hatchel.cli.train.read_spec", interrupted)
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 130
    assert line in result.stderr
    assert "Traceback" not in result.output


def test_ctrl_c_while_the_program_still_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hatchel.cli.main.main", interrupted)
    with pytest.raises(SystemExit) as stop:
        start()
    assert (stop.value.code, capsys.readouterr().err) == (130, "\nhatchel: stopped\n")
    light = "import sys, hatchel.__main__; sys.exit('typer' in sys.modules)"  # what is imported before is not caught
    assert subprocess.run([sys.executable, "-c", light], check=False).returncode == 0


@pytest.mark.parametrize(
    "words, found",
    [
        ("train fac", {"factor_vae"}),
        ("train vae --track ten", {"tensorboard"}),
        ("list sch", {"schedules"}),
        ("data show shapes", {"shapes3d"}),
    ],
)
def test_the_shell_completes_names(words: str, found: set[str]) -> None:
    typed = f"hatchel {words}"
    environment = {"_HATCHEL_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    result = CliRunner().invoke(app, [], env=environment, prog_name="hatchel")
    assert found == set(result.output.split())


def test_completion_knows_every_member() -> None:
    assert kinds("hatchel.methods", "Method")("") == sorted(Method.members())
    assert set(kinds("hatchel.data", "Source")("")) == {*Source.members()}
    assert kinds("hatchel.report", "Tracker")("") == sorted(Tracker.members())


def test_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    colour = "\x1b[36m"  # of the names
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert colour in hatchel("list", "weights")
    monkeypatch.setenv("NO_COLOR", "1")
    assert colour not in hatchel("list", "weights")


def test_json_of_what_prints_numbers() -> None:
    shown = parsed("show", "beta_vae", "beta=3", "data=xy_squares")
    assert shown["formula"] == "-log p(x|z) + 3*KL(q(z|x)||p(z))"
    text = hatchel("show", "beta_vae", "beta=3", "data=xy_squares")
    assert f"{sum(shown['parameters'].values()) / 1e6:.3f} M" in text
    assert shown["spec"] == yaml.safe_load(text)
    squares = parsed("data", "show", "xy_squares", "size=16")
    assert (squares["items"], squares["shape"], squares["factors"][0]["size"]) == (64, [1, 16, 16], 8)
    verified = parsed("data", "verify", "xy_squares", "size=16")
    assert (verified["items"], verified["fingerprint"]) == (64, squares["fingerprint"])


def test_split_encoder_and_correlated_noise_with_any_method(tmp_path: Path) -> None:
    words = ["encoder=split", "latent=correlated", "data.size=32", *SMALL]
    hatchel("train", "beta_vae", *words, "--out", str(tmp_path), "--quiet")
    run = TrainedRun.load(tmp_path)
    assert (run.spec.encoder.kind, run.spec.latent.kind, run.spec.latent.correlation) == ("split", "correlated", 0.9)


def test_show_counts_parameters_and_multiplications_without_the_data() -> None:
    text = hatchel("show", "factor_vae", "data=mpi3d")  # whose files are not here
    assert "# for images of 64x64 with 3 channels (mpi3d):" in text
    assert "#   parameters        4.783 M (encoder 0.384, decoder 0.382, objective 4.017)" in text
    assert "MACs, one image" in text
    found = hatchel("show", "recurd", "data=shapes3d", "nets=specific", "between=outputs")  # Table 10: 3.466 G
    assert "#   MACs by thop's rules, 64 images   3.240 G (encoder 0.381, decoder 2.554, objective 0.304)" in found
    assert yaml.safe_load(text)["data"]["kind"] == "mpi3d"


def test_show_lists_the_parameters_of_a_controller_too() -> None:
    text = hatchel("show", "dynamic_vae", "data=xy_squares")
    assert "#   weight.period: Steps between two increments." in text
    assert "beta for weight.initial and weight.high" in text


def test_show_says_what_it_assumed(tmp_path: Path) -> None:
    file = tmp_path / "mine.npy"
    file.write_bytes(b"")
    text = hatchel("show", "beta_vae", f"data={file}", "--size", "32")
    assert "# for images of 32x32 with 1 channel (assumed, as only the files of array show it: see --size):" in text


def test_epochs_are_passes_over_the_training_items(tmp_path: Path) -> None:
    out = str(tmp_path / "run")  # 64 items, of which 48 are trained on: 3 batches of 16 a pass
    words = ["train", "vae", "data=xy_squares", "batch_size=16", "test_share=0.25", "optimizer.schedule=cosine",
             "--epochs", "2", "--out", out]  # fmt: skip
    found = parsed(*words)  # not quiet: the progress and what is said of a collapse are on stderr
    run = TrainedRun.load(out)
    assert (found["steps"], found["last"]["step"], found["digest"]) == (6, 6, run.spec.digest())
    assert run.spec.optimizer.schedule.steps == 6
    for arguments, message in [
        (["vae", *SMALL, "--epochs", "2"], r"--epochs: steps=\.\.\. says the same; leave one of them out"),
        (["vae", "data=xy_squares", "--epochs", "0"], r"--epochs: must be above 0, got 0"),
        ([out, "--resume", "--epochs", "3"], r"--epochs: a run that is resumed is trained further by steps="),
        (["vae", *SMALL, "--track", "tensorbord"], r"^track\[0\]: unknown tracker 'tensorbord'. Did you mean"),
    ]:
        with pytest.raises(HatchelError, match=message):
            hatchel("train", *arguments)


def test_track_and_an_early_end_are_said(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    ends = ["stop=plateau", "stop.every=1", "stop.patience=1", "stop.gain=1"]
    text = hatchel("train", "vae", *SMALL, *ends, "--track", "tensorboard", "--out", str(tmp_path / "run"))
    assert "2 steps of vae, ended early of 4." in text
    assert list((tmp_path / "run" / "tensorboard").glob("events*"))
