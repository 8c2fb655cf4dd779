from __future__ import annotations

from typing import Any

import pytest

from hatchel.data.dsprites import DSprites
from hatchel.data.xy_squares import XYSquares
from hatchel.methods.resolve import resolve
from hatchel.studies.common import LAPTOP, SMOKE, Budget, critic, sprites
from hatchel.study.grid import axis, product

SMALL = XYSquares(size=16)


def trainings(budget: Budget, method: str, seeds: int | None = None, **fields: Any) -> list[Any]:
    grid = budget.grid(axis("method", {method: {"method": method, **fields}}), SMALL)
    return [case.task for case in grid.tasks(seeds)]


def test_laptop_is_what_it_says():
    assert (LAPTOP.steps, LAPTOP.batch_size, LAPTOP.lr, LAPTOP.seeds) == (3_000, 32, 1e-3, 3)
    assert sprites("laptop") == DSprites(size=32)
    assert sprites("paper") == DSprites(size=64)
    assert critic("laptop")["by"].hidden == 256
    assert critic("paper") == {}


def test_a_budget_leaves_the_rest_to_the_method():
    (task,) = trainings(Budget(steps=9, seeds=1), "factor_vae", **{"latent.dim": 3})
    own = resolve("factor_vae", SMALL)
    assert task.run == own.with_fields(steps=9, latent=task.run.latent)
    assert task.run.latent.width == 3


@pytest.mark.parametrize("seeds", [None, 4])
def test_seeds(seeds):
    assert [task.seed for task in trainings(SMOKE, "vae", seeds)] == list(range(seeds or 1))


def test_tasks_of_two_seeds_differ_in_the_seed_alone():
    first, second = trainings(SMOKE, "vae", 2)
    assert first.run == second.run
    assert first.digest() != second.digest()


def test_a_grid_is_the_product_of_its_axes():
    settings = product(
        axis(
            "method", {"a": {"method": "beta_vae", "beta": 2, "batch_size": 5, "layers": True}, "b": {"method": "vae"}}
        ),
        axis("D", {3: {"latent.dim": 3}, 4: {"latent.dim": 4}}),
    )
    cases = Budget(steps=7, seeds=2, items=50, lr=0.5).grid(settings, SMALL).tasks()
    assert [(*c.labels.values(), c.task.seed) for c in cases] == [
        (m, d, s) for m in "ab" for d in (3, 4) for s in (0, 1)
    ]  # fmt: skip
    task: Any = cases[2].task
    assert (task.run.steps, task.run.batch_size, task.run.optimizer.lr, task.run.latent.dim) == (7, 5, 0.5, 4)
    assert (task.items, task.layers, task.run.seed, task.run.data) == (50, True, 0, SMALL)
    assert "2" in str(task.run.objective["kl"].weight)
    plain: Any = cases[4].task
    assert plain.layers is False


def test_the_words_of_a_grid_are_made_from_its_numbers():
    grid = LAPTOP.grid(axis("method", {"a": {"method": "vae"}, "b": {"method": "vae", "steps": 10}}), SMALL, note="so")
    words = "3,000 or 10 steps of 32 images, xy_squares at 16 px, learning rate 0.001, weights as printed, 3 seeds; so"
    assert grid.words() == words
    scaled = axis("method", {"a": {"method": "vae", "reconstruction_scale": "64px"}})
    assert "weights for 64 px" in LAPTOP.grid(scaled, SMALL).words()


def test_a_controller_gets_as_far_in_a_short_training():
    """An error of one nat takes DynamicVAE's beta from 150 to 0 in 150,000 steps of 300,000, or 1,500 of 3,000."""
    for steps in (300_000, 3_000):
        (task,) = trainings(Budget(steps=steps, seeds=1), "dynamic_vae")
        weight = task.run.objective["kl"].weight
        assert weight.ki * steps / 2 == pytest.approx(weight.initial)


def test_a_short_annealed_run_reaches_its_capacity():
    (task,) = trainings(Budget(steps=3_000, seeds=1), "annealed_vae")
    weight = task.run.objective["kl"].weight
    assert (weight.start, weight.end, weight.steps) == (0.5, 25.0, 1_000)
    (chosen,) = trainings(Budget(steps=3_000, seeds=1), "annealed_vae", climb=70)
    assert chosen.run.objective["kl"].weight.steps == 70
