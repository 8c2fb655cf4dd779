"""Several seeds in one step: each one's weights are those of its own run."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.core.spec import updated
from hatchel.data import load
from hatchel.data.xy_squares import XYSquares
from hatchel.methods.resolve import resolve
from hatchel.training.run import train
from hatchel.training.spec import Adam
from hatchel.training.stacked import Stacked

STEPS = 20


@pytest.mark.parametrize(("kind", "changes"), [("beta_vae", {}), ("beta_tcvae", {}), ("factor_vae", {"by.hidden": 16})])
def test_each_seed_has_the_weights_of_its_own_run(kind: str, changes: dict[str, object], tmp_path: Path) -> None:
    # With a usual eps Adam divides a gradient that is 0 but for rounding by itself.
    source, adam = XYSquares(size=16), Adam(eps=1.0, lr=1e-3)
    spec = resolve(kind, source, changes).with_fields(batch_size=16, steps=STEPS, optimizer=adam)
    spec, data = updated(spec, {"encoder": "conv", "decoder": "deconv"}), source.load()
    stacked = Stacked(spec, (3, 5), data)
    for step in range(STEPS):
        losses = stacked.step(step)
    assert losses["objective"].shape == (2,)
    for seed in (3, 5):
        own = train(spec.with_fields(seed=seed), out=tmp_path / str(seed), progress=False).model.state_dict()
        found = stacked.weights(seed)
        start = spec.fit_to(data).with_fields(seed=seed).build(data.shape).model.state_dict()
        for name, weight in own.items():
            torch.testing.assert_close(found[f"model.{name}"], weight, rtol=0, atol=1e-6)
        assert max(float((start[name] - weight).abs().max()) for name, weight in own.items()) > 1e-3


def test_what_cannot_be_stacked_is_refused() -> None:
    data = load("xy_squares")
    for kind, fields, reason in (("vae", {"precision": "bfloat16"}, "float32"), ("de_vae", {}, "levels of their own")):
        with pytest.raises(HatchelError, match=reason):
            Stacked(resolve(kind, "xy_squares").with_fields(batch_size=16, **fields), (0, 1), data)
