"""`hatchel verify` finds what was damaged, and what it says to type restores it."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hatchel.cli.main import app
from hatchel.core.spec import updated
from hatchel.evaluation.evaluation import Evaluation
from hatchel.export.safetensors import write
from hatchel.methods.resolve import resolve
from hatchel.nets.mlp import Mlp, MlpDecoder
from hatchel.study.store import Store
from hatchel.study.task import Case, Result
from hatchel.training.checkpoint import checkpoints
from hatchel.training.run import TrainedRun, train
from tests.study.coin import Coin
from tests.torture import flip


def hatchel(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    return result.exit_code, result.stdout


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    small = {"encoder": Mlp((8,)), "decoder": MlpDecoder((8,)), "batch_size": 16, "steps": 4, "checkpoint_every": 2}
    run = train(
        updated(resolve("vae", "xy_squares"), small), out=tmp_path_factory.mktemp("verify") / "run", progress=False
    )
    hatchel("evaluate", str(run.folder), "--metrics", "mig", "--bootstrap", "0")
    return run.folder


@pytest.mark.parametrize("name", ["config.json", "evaluation.json", "codes", "model", "training", "SHA256SUMS"])
def test_damage_to_a_run_is_named_with_a_command_that_restores_it(whole: Path, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    assert hatchel("verify", str(folder)) == (0, f"{folder}: 11 files, 11 as they were written, 0 damaged\n")
    place = checkpoints(folder)[0]
    (path,) = {
        "codes": folder.glob("codes-*.safetensors"),
        "model": [place / "model.safetensors"],
        "training": [place / "training.safetensors"],
        "SHA256SUMS": [place / "SHA256SUMS"],
    }.get(name, [folder / name])
    flip(path)
    code, said = hatchel("verify", str(folder))
    lines = said.splitlines()
    assert (code, str(path) in lines[0]) == (1, True)
    for remedy in dict.fromkeys(line.strip() for line in lines if line.startswith("    ")):
        program, *words = shlex.split(remedy)
        more = ["--metrics", "mig", "--bootstrap", "0"] if words[0] == "evaluate" else []
        if program == "hatchel":
            assert hatchel(*words, *more)[0] == 0
        else:
            subprocess.run([program, *words], check=True)
    assert hatchel("verify", str(folder))[0] == 0
    assert TrainedRun.load(folder).steps == 4
    assert "mig" in Evaluation.load(folder)["mean"]


def test_damage_to_an_export_and_to_a_line_of_events(whole: Path, tmp_path: Path) -> None:
    shutil.copytree(whole, tmp_path / "run")
    write(TrainedRun.load(tmp_path / "run"), tmp_path / "out")
    flip(tmp_path / "out" / "model.safetensors", -9)
    with (tmp_path / "run" / "events.jsonl").open("a") as file:
        file.write("{")
    code, said = hatchel("verify", str(tmp_path))
    assert code == 1
    assert f"hatchel export RUN --safetensors {tmp_path / 'out'} --force" in said
    assert f"{tmp_path / 'run' / 'events.jsonl'}: 1 damaged line" in said


def test_what_0_1_wrote_is_known_to_have_no_digests() -> None:
    folder = Path(__file__).parents[1] / "training" / "old_run"
    code, said = hatchel("verify", str(folder))
    assert (code, "without a digest (written before 0.3), 0 damaged" in said) == (0, True)


def test_damage_to_a_store_is_named_with_its_study(tmp_path: Path) -> None:
    store = Store(tmp_path).create()
    coins = [Coin(seed=seed) for seed in range(2)]
    store.write_study("coins", "smoke", [Case({}, coin) for coin in coins])
    for coin in coins:
        store.write(coin, Result({"heads": 0.5}), 1.0)
    assert hatchel("verify", str(tmp_path))[0] == 0
    flip(tmp_path / "cells" / coins[1].digest() / "record.json")
    again = f"    hatchel study run coins --scale smoke --store {tmp_path}\n"
    code, said = hatchel("verify", str(tmp_path))
    assert (code, again in said, "4 files, 3 as they were written, 1 damaged" in said) == (1, True, True)
    assert [store.status(coin.digest()) for coin in coins] == ["done", "waiting"]
    flip(tmp_path / "studies" / "coins-smoke.json")
    assert again not in hatchel("verify", str(tmp_path))[1]  # which task belongs to it is not known any more
    assert f"    rm {tmp_path / 'studies' / 'coins-smoke.json'} (" in hatchel("verify", str(tmp_path))[1]
    (tmp_path / "cells").rename(tmp_path / "away")
    flip(tmp_path / "store.json", 3)
    remedy = f"rm {tmp_path / 'store.json'} "
    assert remedy in hatchel("verify", str(tmp_path))[1]
