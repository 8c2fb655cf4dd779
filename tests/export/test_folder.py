from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hatchel.core.errors import HatchelError
from hatchel.core.files import SUMS, check_digest
from hatchel.export.folder import export_folder
from hatchel.training.run import TrainedRun


def contents(folder: Path) -> dict[str, str]:
    return {p.name: p.read_text() for p in folder.iterdir() if p.name != SUMS}


def put(run: TrainedRun, target: Path, text: str, force: bool = False) -> None:
    with export_folder(run, target, force) as draft:
        (draft / "encoder.onnx").write_text(text)


def test_an_export_is_replaced_and_other_things_are_kept(run_of: Callable[..., TrainedRun], tmp_path: Path) -> None:
    run, out = run_of(), tmp_path / "deep" / "out"
    put(run, out, "1")
    put(run, out, "2")
    assert contents(out) == {"encoder.onnx": "2"}
    (out / "notes.txt").write_text("mine")
    with pytest.raises(HatchelError, match=r"already holds 'notes\.txt'"):
        put(run, out, "3")
    assert contents(out) == {"encoder.onnx": "2", "notes.txt": "mine"}
    put(run, out, "3", force=True)
    assert contents(out) == {"encoder.onnx": "3", "notes.txt": "mine"}
    with export_folder(run, out, True) as draft:
        (draft / "decoder.onnx").write_text("4")
    assert check_digest(out / "encoder.onnx")  # still listed beside the new one
    assert check_digest(out / "decoder.onnx")


def test_what_fails_leaves_nothing_behind(run_of: Callable[..., TrainedRun], tmp_path: Path) -> None:
    run, out = run_of(), tmp_path / "out"

    def fail() -> None:
        with export_folder(run, out, False) as draft:
            (draft / "encoder.onnx").write_text("half")
            raise HatchelError("no")

    with pytest.raises(HatchelError, match="no"):
        fail()
    assert [p.name for p in tmp_path.iterdir()] == ["run"]
    put(run, out, "whole")
    with pytest.raises(HatchelError, match="no"):
        fail()
    assert contents(out) == {"encoder.onnx": "whole"}


def test_places_that_are_never_written_to(run_of: Callable[..., TrainedRun], tmp_path: Path) -> None:
    run = run_of()
    with pytest.raises(HatchelError, match="is a run's own folder"):
        put(run, run.folder, "1", force=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(HatchelError, match="is a file"):
        put(run, tmp_path / "file", "1", force=True)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "config.json").write_text("{}")
    with pytest.raises(HatchelError, match=r"already holds 'config\.json'"):
        put(run, foreign, "1")
