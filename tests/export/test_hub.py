from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml

from hatchel.core.errors import HatchelError
from hatchel.core.files import write_json
from hatchel.data.table import Table
from hatchel.export.hub import card, push, write
from hatchel.export.safetensors import read
from hatchel.training.run import TrainedRun


def test_the_card_says_what_was_run_and_no_more(run_of: Callable[..., TrainedRun], tmp_path: Path) -> None:
    run = run_of()
    done = write(run, tmp_path / "out")
    assert [f.name for f in done.files] == ["config.json", "model.safetensors", "README.md"]
    _, front, body = done.files[2].read_text().split("---\n", 2)
    matter = yaml.safe_load(front)
    assert (matter["library_name"], matter["license"]) == ("hatchel", "other")
    assert {"disentanglement", "vae"} <= set(matter["tags"])
    assert "# vae on xy_squares" in body
    assert r"`-log p(x\|z) + KL(q(z\|x)\|\|p(z))`" in body
    assert "| Steps | 7, batches of 64, Adam at 0.0005, float32 |" in body
    assert "64 items of shape 1x16x16" in body
    assert "Not measured." in body
    z = np.zeros((1, 3))
    np.testing.assert_array_equal(read(tmp_path / "out").decode(z), run.decode(z))


def test_scores_with_their_intervals(run_of: Callable[..., TrainedRun], tmp_path: Path) -> None:
    run = run_of()
    interval = {"low": 0.25, "high": 0.75, "level": 0.95, "replicates": 9}
    common = {"parts": {}, "matrix": None, "factors": [], "settings": {}, "n": 64, "seed": 1, "notes": []}
    scores = {
        "mig": {"name": "mig", "value": 0.5, "interval": interval, **common},
        "dci|x": {"name": "dci|x", "value": 0.125, "interval": None, **common},
    }
    settings = {"steps": 7, "items": 64, "seed": 1, "bootstrap": 9}  # as Hatchel 0.1 wrote them
    stored = {"settings": settings, "mean": {"scores": scores, "skipped": {}}}
    write_json(run.folder / "evaluation.json", stored)
    body = write(run, tmp_path / "out").files[2].read_text()
    assert "| mig | 0.5000 | 0.2500 to 0.7500 |" in body
    assert r"| dci\|x | 0.1250 | not computed |" in body
    assert "64 items, after 7 steps, seed 1" in body
    lone = {"name": "dci", "value": 1.0, "interval": None, **common, "matrix": [[1.0]], "factors": ["digit"]}
    write_json(run.folder / "evaluation.json", stored | {"mean": {"scores": {"dci": lone}, "skipped": {}}})
    assert "Not measured: dci: needs at least 2 factors" in card(run)
    assert "| dci |" not in card(run)
    for other in ({"steps": 6}, {"weights": "0"}):
        write_json(run.folder / "evaluation.json", stored | {"settings": settings | other})
        assert "Not measured in this state" in card(run)
    write_json(run.folder / "evaluation.json", ["strange"])
    with pytest.raises(HatchelError, match="was not written by `hatchel evaluate`"):
        write(run, tmp_path / "other")


def test_the_card_keeps_ones_folders_to_oneself(run_of: Callable[..., TrainedRun], tmp_path: Path) -> None:
    body = write(run_of(data=Table("/home/someone/secret/patients.csv")), tmp_path / "out").files[2].read_text()
    assert "# vae on patients.csv" in body
    assert "secret" not in body


def test_a_card_that_someone_edited_is_replaced_only_by_force(
    run_of: Callable[..., TrainedRun], tmp_path: Path
) -> None:
    run = run_of()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "README.md").write_text("my words")
    with pytest.raises(HatchelError, match=r"already holds 'README\.md'"):
        write(run, tmp_path / "out")
    write(run, tmp_path / "out", force=True)
    assert (tmp_path / "out" / "README.md").read_text() != "my words"


def test_push_uploads_the_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls: list[Any] = []

    class HfApi:
        def create_repo(self, name: str, private: bool, exist_ok: bool) -> str:
            calls.append((name, private, exist_ok))
            return f"https://hub/{name}"

        def upload_folder(self, repo_id: str, folder_path: str, allow_patterns: list[str]) -> None:
            if repo_id == "me/closed":
                raise OSError("401 not allowed\nmore")
            calls.append((repo_id, folder_path, allow_patterns))

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(HfApi=HfApi))  # pyright: ignore
    assert push(tmp_path, "me/it") == "https://hub/me/it"
    files = ["config.json", "model.safetensors", "README.md", "SHA256SUMS"]
    assert calls == [("me/it", True, True), ("me/it", str(tmp_path), files)]
    with pytest.raises(HatchelError, match="--push me/closed: 401 not allowed"):
        push(tmp_path, "me/closed")


def test_push_without_the_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(HatchelError, match=r"hatchel\[hub\]"):
        push(tmp_path, "me/it")
