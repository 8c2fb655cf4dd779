"""DeVAE's claims: what they are read from, on numbers made by hand and on a run whose layers are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from hatchel.core.spec import to_dict
from hatchel.data.array import from_array
from hatchel.methods.resolve import resolve
from hatchel.studies import devae
from hatchel.study.study import Study
from hatchel.study.task import Workspace
from hatchel.study.trained import Trained
from hatchel.training.run import train
from tests.study.made import rows


def test_the_fall_of_information_and_the_jump_of_active_units() -> None:
    """The largest fall below the peak so far, as a share of it, of any factor; the largest rise between two times."""
    best = [[0.5, 0.2], [1.0, 0.8], [0.4, 0.9], [0.7, 0.6]]  # factor a falls from 1 to .4, b from .9 to .6
    history = [[t, {"mig": {"rows": [row, [0.0, 0.1]], "factors": ["a", "b"]}}] for t, row in enumerate(best)]
    found = rows({}, {"history": history, "curves": {"active_units": [[0, 3], [1, 9], [2, 4], [3, 8]]}}, mig=[0.1])
    assert devae.fall(found) == pytest.approx(0.6)
    assert devae.jump(found) == 6
    assert devae.fall(rows({}, mig=[0.1])) is None


def test_layers_are_read_from_samples_which_see_their_scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four grey values; a layer whose means are shrunk, with noise as before, tells less, and at last nothing."""
    grey = np.arange(2000) % 4
    images = np.repeat(grey[:, None] * 60, 256, 1).reshape(-1, 16, 16, 1).astype(np.uint8)
    fields = {"dim": 3, "steps": 1, "batch_size": 8, "encoder": "mlp", "decoder": "mlp_decoder"}
    data = from_array(images, grey[:, None])
    run = train(resolve("de_vae", "xy_squares", fields), data=data, out=tmp_path, progress=False)
    with torch.no_grad():
        last = [m for m in run.model.encoder.modules() if isinstance(m, torch.nn.Linear)][-1]
        last.weight[::2] *= 40 / float(run.encode(images[:4]).std())  # means; the deviations stay near 1
        run.model.latent.log_scales.copy_(torch.tensor([[-4.0] * 3, [-8.0] * 3]))
    monkeypatch.setattr(Trained, "trained", lambda self, workspace: run)
    found = devae.LayerInformation(0, run.spec, items=2000).compute(Workspace(tmp_path, tmp_path)).values
    known = [found[f"information@level {level}"] for level in range(3)]
    assert known[0] == pytest.approx(np.log(4), abs=0.05)
    assert 0.1 < known[1] < 1.2
    assert known[2] < 0.05


def test_shapes3d_has_the_papers_likelihood_at_its_weights() -> None:
    tasks = [c for c in Study.load("devae").tasks("laptop", 1) if c.labels["variant"] == devae.SQUARED]
    assert [c.labels["method"] for c in tasks] == ["DeVAE", "beta-VAE", "beta-TCVAE", "DynamicVAE"]
    for case in tasks:
        assert isinstance(case.task, Trained)
        run = case.task.run
        assert (to_dict(run.likelihood)["kind"], run.reconstruction_scale) == ("squared_error", "64px")
        assert (run.data.kind, run.steps) == ("shapes3d", 5_000)
