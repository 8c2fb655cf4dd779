from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from hatchel.core.errors import HatchelError
from hatchel.data.array import Array
from hatchel.export.safetensors import read, write
from hatchel.latents.diagonal import Diagonal
from hatchel.latents.scaled_hierarchy import ScaledHierarchy
from hatchel.training.run import TrainedRun


def test_there_and_back(run_of: Callable[..., TrainedRun], tmp_path: Path) -> None:
    run = run_of(latent=ScaledHierarchy(Diagonal(3), levels=2))
    done = write(run, tmp_path / "out")
    assert done.difference == 0
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["SHA256SUMS", "config.json", "model.safetensors"]
    again = read(tmp_path / "out")
    assert (again.steps, again.spec, again.shape) == (7, run.spec, run.shape)
    images = np.random.default_rng(0).random((3, 16, 16, 1), dtype=np.float32)
    for level in (0, 1):
        np.testing.assert_array_equal(again.reconstruct(images, level), run.reconstruct(images, level))
    assert set(load_file(done.files[1])) == set(run.model.state_dict())


def test_where_ones_data_lie_is_not_given_away(run_of: Callable[..., TrainedRun], tmp_path: Path) -> None:
    run = run_of(data=Array("/home/someone/secret/scans.npy"))
    write(run, tmp_path / "out")
    assert "secret" not in (tmp_path / "out" / "config.json").read_text()
    assert read(tmp_path / "out").spec.data == Array("scans.npy")


def test_damage_is_named(run_of: Callable[..., TrainedRun], tmp_path: Path) -> None:
    out = tmp_path / "out"
    weights = write(run_of(), out).files[1]
    whole = load_file(weights)
    name = next(iter(whole))
    save_file({**whole, name: torch.zeros(1)}, weights)
    with pytest.raises(HatchelError, match=r"its digest is not the one in SHA256SUMS\); export the run again"):
        read(out)
    (out / "SHA256SUMS").unlink()
    with pytest.raises(HatchelError, match=f"does not fit config.json \\(first difference: {name}"):
        read(out)
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(HatchelError, match="is damaged"):
        read(out)
    weights.unlink()
    with pytest.raises(HatchelError, match=r"has no model\.safetensors"):
        read(out)
    with pytest.raises(HatchelError, match="is not a run"):
        read(tmp_path)
