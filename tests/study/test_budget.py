from __future__ import annotations

import pytest

from hatchel.data.dsprites import DSprites
from hatchel.data.xy_squares import XYSquares
from hatchel.study.budget import LAPTOP, SMOKE, Budget, critic, sprites


def test_laptop_is_what_its_words_say():
    assert (LAPTOP.steps, LAPTOP.batch_size, LAPTOP.lr, LAPTOP.seeds) == (3_000, 32, 1e-3, 3)
    assert sprites("laptop") == DSprites(size=32)
    assert sprites("paper") == DSprites(size=64)
    assert critic("laptop")["by"].hidden == 256
    assert critic("paper") == {}


def test_a_budget_leaves_the_rest_to_the_method():
    from hatchel.presets.preset import preset

    cell = Budget(steps=9, seeds=1).cells("factor_vae", XYSquares(size=16), fields={"latent.dim": 3})[0]
    own = preset("factor_vae", data=XYSquares(size=16))
    assert cell.run == own.with_fields(steps=9, latent=cell.run.latent)
    assert cell.run.latent.width == 3


@pytest.mark.parametrize("seeds", [None, 4])
def test_seeds(seeds):
    assert [c.seed for c in SMOKE.cells("vae", XYSquares(size=16), seeds)] == list(range(seeds or 1))
