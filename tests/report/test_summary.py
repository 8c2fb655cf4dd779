from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hatchel.report.findings import Findings
from hatchel.report.summary import Cell, factor_lines, training_seconds
from hatchel.training.run import TrainedRun


def test_factor_lines_are_the_largest_shares(found: Findings) -> None:
    shares = found.dimensions.shares
    assert shares is not None
    for k, line in enumerate(factor_lines(found)):
        first, second = np.argsort(-shares[:, k])[:2]
        assert line.name == ("x", "y")[k]
        assert line.dimension.split(",")[0] == f"z{first}"
        assert ("inactive" in line.dimension) == (found.dimensions.information[first] < 0.05)
        assert line.share == f"{shares[:, k].max():.2f}"
        assert line.rival == f"{shares[second, k]:.2f} (z{second})"


def test_training_time_is_what_the_events_add_up_to(run: TrainedRun, tmp_path: Path) -> None:
    events = [{"step": 50, "seconds_per_step": 0.1}, {"step": 80, "seconds_per_step": 0.5}]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events))
    made = TrainedRun(tmp_path, run.description, run.model, 80)
    assert training_seconds(made) == pytest.approx(50 * 0.1 + 30 * 0.5)


def test_a_missing_score_is_a_dash() -> None:
    assert Cell.of(None) == Cell("–", "")
