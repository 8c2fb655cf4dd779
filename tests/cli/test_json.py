"""--json: every command that prints numbers has it, and prints nothing else on stdout."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from hatchel.cli.main import app
from hatchel.cli.printing import print_json
from hatchel.core.files import read_json

NO_NUMBERS = {"explore", "data get"}
"""They print an address, and paths."""
TINY = [
    "data=xy_squares",
    "data.size=16",
    "batch_size=16",
    "steps=2",
    "latent.dim=2",
    "encoder=mlp",
    "decoder=mlp_decoder",
]
STUDY = """
name: two
data: {kind: xy_squares, size: 16}
methods: [vae]
set: {batch_size: 16, steps: 2, encoder: mlp, decoder: mlp_decoder}
metrics: [mig]
seeds: 1
"""


def commands(found: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if hasattr(found, "commands"):
        for name, inner in found.commands.items():
            yield from commands(inner, f"{path} {name}".strip())
    else:
        yield path, found


def strict(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def said(*arguments: object, code: int = 0) -> Any:
    result = CliRunner().invoke(app, [*map(str, arguments), "--json"], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return json.loads(result.stdout, parse_constant=strict)


def test_every_command_that_prints_numbers_has_json() -> None:
    found = dict(commands(typer.main.get_command(app)))
    assert len(found) > 20
    without = {name for name, command in found.items() if not any("--json" in p.opts for p in command.params)}
    assert without == NO_NUMBERS


def test_what_is_not_finite_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": (float("nan"), np.float32(0.5), np.int64(3)), "b": {"c": float("inf"), "d": Path("x")}})
    assert json.loads(capsys.readouterr().out, parse_constant=strict) == {
        "a": [None, 0.5, 3], "b": {"c": None, "d": "x"}
    }  # fmt: skip


def test_a_run_in_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    trained = said("train", "vae", *TINY, "--out", "a")
    assert trained["run"] == "a"
    assert trained["steps"] == trained["last"]["step"] == 2
    assert said("list", "metrics")[0]["name"]
    assert said("show", "vae", *TINY)["spec"]["steps"] == 2
    assert said("data", "verify", "xy_squares", "size=16")["items"] == 64
    scores = said("evaluate", "a", "--metrics", "mig", "--bootstrap", 0, "--items", 40)
    assert scores == read_json(Path("a/evaluation.json"))
    reported = said("report", "a", "--bootstrap", 0, "--items", 40, "--figures", "figures")
    assert reported["report"] == str(Path("a/report.html"))
    assert {Path(f) for f in reported["figures"]} == set(Path("figures").iterdir())
    (one,) = reported["runs"]
    assert one["scores"]["mig"]["value"] == scores["mean"]["scores"]["mig"]["value"]
    assert one["learned"] in Path("a/report.html").read_text().replace("&#39;", "'")
    said("train", "vae", *TINY, "seed=1", "--out", "b")
    both = said("report", "a", "b", "--bootstrap", 0, "--items", 40, "--out", "ab.html")
    assert [run["run"] for run in both["runs"]] == ["a", "b"]
    written = said("export", "a", "--safetensors", "st", "--hub", "hub")
    assert [entry["format"] for entry in written] == ["safetensors", "hub"]
    whole = said("verify", "a")
    assert whole["damaged"] == []
    assert whole["sound"] == whole["files"] > 3
    stored = Path("a/evaluation.json").read_text()
    Path("a/evaluation.json").write_text(stored.replace('"seed": 0', '"seed": 7', 1))
    (bad,) = said("verify", "a", code=1)["damaged"]
    assert bad["file"] == str(Path("a/evaluation.json"))
    assert bad["remedy"] == "hatchel evaluate a"


def test_a_study_in_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("two.yaml").write_text(STUDY)
    here = ("--scale", "smoke")
    shown = said("study", "show", "two.yaml", *here)
    assert (shown["tasks"], shown["cases"]) == (1, [{"method": "vae", "seeds": [0]}])
    ahead = said("study", "run", "two.yaml", *here, "--dry-run")
    assert (ahead["to compute"], ahead["tasks"][0]["state"]) == (1, "waiting")
    assert said("study", "status", "two.yaml", *here)["waiting"] == 1
    done = said("study", "run", "two.yaml", *here, "--engine", "here")
    assert (done["tasks"], done["done"], done["seeds"], done["failed"]) == (1, 1, [0], [])
    (stored,) = said("study", "query", "SELECT value FROM results WHERE metric='mig'")
    (row,) = done["tables"][0]["rows"]
    assert row["method"] == "vae"
    assert row["mig"] == {"value": stored["value"], "low": None, "high": None, "seeds": 1}
    found = said("study", "status", "two.yaml", *here)
    assert found["done"] == 1
    assert found["cases"] == [{"method": "vae", "done": 1, "running": 0, "failed": 0, "waiting": 0}]
    report = said("study", "report", "two.yaml", *here)
    assert Path(report["report"]).exists()
    assert said("study", "publish", "two.yaml", *here, "--out", "kept")["new"] == [ahead["tasks"][0]["task"]]
    exported = said("study", "export", "all.csv")
    assert exported["rows"] == len(Path("all.csv").read_text().splitlines()) - 1
    assert "metric" in said("study", "query", "--columns")
