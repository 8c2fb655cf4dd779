from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import torch

from hatchel.metrics import mig
from hatchel.report.findings import Findings
from hatchel.report.panels.curves import critics, diffusion, information_over_steps, information_terms
from hatchel.training.checkpoint import save
from hatchel.training.events import read_events
from hatchel.training.run import TrainedRun


def test_it_starts_untrained_and_ends_as_the_run(found: Findings) -> None:
    shares = information_over_steps(found)
    assert shares.steps.tolist() == [0, 30]
    assert np.allclose(shares.values[-1], found.dimensions.shares)
    start = TrainedRun(found.run.folder, found.run.description, found.run.spec.build(found.run.shape).model, 0)
    codes = start.encode(found.run.data.images(found.encoded.items))
    first = mig(codes, found.probe.values).matrix
    assert first is not None
    assert np.allclose(shares.values[0], first / np.log(8), atol=1e-6)


def test_every_readable_checkpoint_counts(found: Findings, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(found.run.folder, folder)
    run = TrainedRun(folder, found.run.description, found.run.model, found.run.steps)
    run._data = found.run.data
    system = run.spec.build(run.shape)
    with torch.no_grad():
        for parameter in system.parameters():
            parameter.zero_()
    save(folder, 10, system, None)
    place = folder / "checkpoints"
    shutil.copytree(place / "step-000000010", place / "step-000000040")  # of a run that went on: not of these steps
    (place / "step-000000020").mkdir()  # damaged
    shares = information_over_steps(dataclasses.replace(found, run=run))
    assert shares.steps.tolist() == [0, 10, 30]
    assert np.allclose(shares.values[1], 0)  # the same code for every item
    assert (shares.values[[0, 2]] > 0).any(axis=(1, 2)).all()


def test_terms_are_those_of_the_loss_but_the_reconstruction(found: Findings) -> None:
    drawn = information_terms(found)
    assert list(drawn) == ["mi", "tc", "dw"]
    assert drawn["tc"][1].tolist() == [e["term/tc"] for e in read_events(found.run.folder)]


def test_critics_are_drawn_beside_independent_readings_and_blind_ones_are_named(
    found: Findings, tmp_path: Path
) -> None:
    assert critics(found) is None  # this run has none
    lines = [{"step": s, "loss": 1.0, "reading/tc": 0.01, "independent/tc": 1.5} for s in (10, 20)]
    lines.insert(0, {"step": 5, "loss": 1.0, "reading/tc": 0.0})
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = TrainedRun(tmp_path, found.run.description, found.run.model, 20)
    drawing = critics(dataclasses.replace(found, run=run))
    assert drawing is not None
    read, independent = drawing.figures["critics"].axes[0].lines
    assert (read.get_xdata().tolist(), read.get_ydata().tolist()) == ([5, 10, 20], [0, 0.01, 0.01])
    assert (independent.get_xdata().tolist(), independent.get_ydata().tolist()) == ([10, 20], [1.5, 1.5])
    assert "The critic of tc was blind at 2 of 2 events: it read 0.01 nats" in drawing.caption


def test_the_page_says_which_steps_there_are(found: Findings) -> None:
    drawing = diffusion(found)
    assert drawing is not None
    assert "0 (rebuilt from the seed) and the kept checkpoints, 30; older ones were not kept" in drawing.caption
    untrained = TrainedRun(found.run.folder, found.run.description, found.run.model, 0)
    assert diffusion(dataclasses.replace(found, run=untrained)) is None
