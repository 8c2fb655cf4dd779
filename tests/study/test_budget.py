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
    from hatchel.methods.method import preset

    cell = Budget(steps=9, seeds=1).cells("factor_vae", XYSquares(size=16), fields={"latent.dim": 3})[0]
    own = preset("factor_vae", data=XYSquares(size=16))
    assert cell.run == own.with_fields(steps=9, latent=cell.run.latent)
    assert cell.run.latent.width == 3


@pytest.mark.parametrize("seeds", [None, 4])
def test_seeds(seeds):
    assert [c.seed for c in SMOKE.cells("vae", XYSquares(size=16), seeds)] == list(range(seeds or 1))


def test_a_controller_gets_as_far_in_a_short_training():
    """An error of one nat takes DynamicVAE's beta from 150 to 0 in 150,000 steps of 300,000, or 1,500 of 3,000."""
    for steps in (300_000, 3_000):
        (cell,) = Budget(steps=steps, seeds=1).cells("dynamic_vae", XYSquares(size=16))
        weight = cell.run.objective["kl"].weight
        assert weight.ki * steps / 2 == pytest.approx(weight.initial)


def test_a_short_annealed_run_reaches_its_capacity():
    (cell,) = Budget(steps=3_000, seeds=1).cells("annealed_vae", XYSquares(size=16))
    weight = cell.run.objective["kl"].weight
    assert (weight.start, weight.end, weight.steps) == (0.5, 25.0, 1_000)
    (chosen,) = Budget(steps=3_000, seeds=1).cells("annealed_vae", XYSquares(size=16), symbols={"climb": 70})
    assert chosen.run.objective["kl"].weight.steps == 70
