from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from hatchel.methods.resolve import resolve
from hatchel.studies.recurd_cost import Reached
from hatchel.study.task import Workspace
from hatchel.study.trained import Trained


def run(folder: Path, errors: list[float], pace: float) -> SimpleNamespace:
    """A run whose reconstruction term was logged every ten steps."""
    folder.mkdir()
    events = [{"step": 10 * (i + 1), "term/rec": e, "seconds_per_step": pace} for i, e in enumerate(errors)]
    (folder / "events.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events))
    return SimpleNamespace(folder=folder)


def reached(tmp_path, monkeypatch, own: list[float], other: list[float]):
    slow, fast = resolve("beta_vae", changes={"beta": 2}), resolve("beta_vae", changes={"beta": 3})
    runs = {slow.digest(): run(tmp_path / "own", own, 0.5), fast.digest(): run(tmp_path / "other", other, 0.1)}
    monkeypatch.setattr(Trained, "trained", lambda self, workspace: runs[self.run.digest()])
    return Reached(0, slow, fast).compute(Workspace(tmp_path, tmp_path)).values


def test_the_first_step_at_which_the_mean_of_five_is_low_enough(tmp_path, monkeypatch):
    # The other ends at (9 + 8 + 7 + 6 + 5) / 5 = 7; ours is at (9 + 8 + 7 + 6 + 5) / 5 = 7 after six.
    values = reached(tmp_path, monkeypatch, [20, 9, 8, 7, 6, 5, 4], [30, 9, 8, 7, 6, 5])
    assert values["wanted"] == pytest.approx(7)
    assert values["steps"] == 60
    assert values["seconds"] == pytest.approx(30)
    assert values["milliseconds a step"] == pytest.approx(500)
    assert values["error"] == pytest.approx(6)


def test_what_is_never_reached_has_no_time(tmp_path, monkeypatch):
    values = reached(tmp_path, monkeypatch, [20, 10], [5, 5])
    assert "steps" not in values
    assert "seconds" not in values
    assert values["error"] == 15
