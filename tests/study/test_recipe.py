"""Recipes: symbols of a method, fields of the run, and lists that are values."""

from __future__ import annotations

from hatchel.core.spec import updated
from hatchel.data.xy_squares import XYSquares
from hatchel.methods.method import preset
from hatchel.study.recipe import Change, described, options_of


def test_equals_the_preset_with_the_fields_updated() -> None:
    made = described("factor_vae", XYSquares(), [Change("gamma", 7), Change("steps", 9), Change("latent.dim", 3)])
    assert made == updated(preset("factor_vae", data=XYSquares(), gamma=7), {"steps": 9, "latent.dim": 3})


def test_the_last_change_of_a_name_wins() -> None:
    made = described(
        "beta_vae", XYSquares(), [Change("beta", 2), Change("steps", 1), Change("beta", 5), Change("steps", 8)]
    )
    assert (made.objective["kl"].weight.value, made.steps) == (5, 8)  # pyright: ignore


def test_a_list_is_a_choice_unless_the_field_holds_lists() -> None:
    assert options_of("beta_vae", "latent.dim", [2, 4]) == [2, 4]
    assert options_of("beta_vae", "latent.dim", 2) == [2]
    assert options_of("de_vae", "betas", [1, 10]) == [[1, 10]]
    assert options_of("de_vae", "betas", [[1, 10], [1, 40]]) == [[1, 10], [1, 40]]
    assert options_of("vae", "encoder", ["conv", "split"]) == ["conv", "split"]
