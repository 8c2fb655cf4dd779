"""A run folder written by 0.1 (old_run/) loads, encodes as it did then, and can be trained further."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hatchel.core.spec import from_dict, to_dict
from hatchel.objective.weights import IncrementalPI
from hatchel.training.checkpoint import migrated
from hatchel.training.run import TrainedRun, resume_run
from hatchel.training.spec import RunSpec

FOLDER = Path(__file__).parent / "old_run"


def test_it_was_written_by_0_1() -> None:
    config = json.loads((FOLDER / "config.json").read_text())
    assert (config["hatchel"], config["format"]) == ("0.1.0", 1)


def test_it_loads_and_gives_the_codes_of_then() -> None:
    run = TrainedRun.load(FOLDER)
    assert run.steps == 8
    assert run.spec.digest() == json.loads((FOLDER / "config.json").read_text())["digest"]
    assert run.description.fingerprint == run.data.fingerprint
    weight = run.spec.objective["kl"].weight
    assert isinstance(weight, IncrementalPI)
    assert (weight.period, weight.ramp, weight.ki) == (3, 2, 0.5)
    stored = np.load(FOLDER / "codes.npz")
    codes = run.encode(run.data.images(np.arange(0, 64, 7)))
    np.testing.assert_allclose(codes, stored["mean"], atol=1e-5)
    np.testing.assert_allclose(run.decode(codes), stored["reconstruction"], atol=1e-5)


def test_it_trains_further_with_the_controller_where_it_was(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "run")
    run = resume_run(tmp_path / "run", progress=False, changes={"steps": 12})
    assert run.steps == 12
    assert TrainedRun.load(tmp_path / "run").steps == 12


OLD = json.loads(gzip.decompress((FOLDER.parent / "old_runs.json.gz").read_bytes()))
"""Of every method of 0.1: its spec, its digest, and the names and shapes of its weights."""


def known(new: Any, old: Any) -> Any:
    """Of a dictionary, the fields that 0.1 had too."""
    return {k: known(new[k], v) for k, v in old.items()} if isinstance(old, dict) else new


@pytest.mark.parametrize("label", OLD)
def test_the_weights_of_every_method_of_0_1_fit(label: str) -> None:
    spec = from_dict(RunSpec, migrated(OLD[label]["spec"]))
    stored = OLD[label]["spec"]
    if label != "recurd":  # whose parts have fields that 0.1 did not have
        assert known(to_dict(spec), stored) == stored
    if stored["latent"]["kind"] == "mixed":  # which has such a field too, and meant this value of it
        assert to_dict(spec)["latent"]["discrete"] == "relaxed"
    elif label != "recurd":
        assert spec.digest() == OLD[label]["digest"]
    state = spec.build((1, 64, 64)).state_dict()
    assert {name: list(value.shape) for name, value in state.items()} == OLD[label]["state"]


@pytest.mark.parametrize("kind", ["hfvae_mnist", "hfvae_dsprites", "hfvae_celeba"])
def test_what_the_encoders_of_hfvae_were_in_0_1_is_said(kind: str) -> None:
    old = {**OLD["hf_vae"]["spec"], "encoder": {"kind": kind}}
    assert from_dict(RunSpec, migrated(old)).encoder.branches == 1
    new = from_dict(RunSpec, old)
    assert new.encoder.branches == 2
    assert migrated(to_dict(new)) == to_dict(new)


def test_what_recurd_meant_in_0_1_is_said() -> None:
    """Literal widths, a linear layer to the map, routed features as they are, and pairs of a layer counted twice."""
    spec = from_dict(RunSpec, migrated(OLD["recurd"]["spec"]))
    assert (spec.encoder.reading, spec.decoder.first) == ("literal", "linear")
    within, between = (spec.objective[name] for name in ("within", "between"))
    assert (within.weight.value, between.weight.value) == (4.0, 1.0)
    assert [(p.left, p.right, p.grid) for p in within.term.pairs()] == [("routed2", "routed2", 1), ("z", "z", 1)]
    assert not within.term.standardised
    assert migrated(to_dict(spec)) == to_dict(spec)
