"""Ranges and choices as they are written."""

from __future__ import annotations

import pytest

from hatchel.core.errors import HatchelError
from hatchel.study.space import Choice, Range, dimension, every_point


def test_a_range_is_whole_where_the_field_is() -> None:
    assert dimension("beta_vae", "latent.dim=2..8") == Range("latent.dim", 2, 8)
    beta = dimension("beta_vae", "beta=1..16")
    assert beta == Range("beta", 1.0, 16.0)
    assert isinstance(beta, Range)
    assert isinstance(beta.low, float)
    assert dimension("beta_vae", "log:optimizer.lr=1e-5..1e-2") == Range("optimizer.lr", 1e-5, 1e-2, log=True)
    assert dimension("beta_vae", "encoder.width=4..8") == Range("encoder.width", 4, 8)
    assert dimension("annealed_vae", "capacity=.5..25") == Range("capacity", 0.5, 25.0)


def test_a_list_is_a_choice_and_the_rest_stays() -> None:
    assert dimension("vae", "encoder=[conv, mlp]") == Choice("encoder", ("conv", "mlp"))
    assert dimension("de_vae", "betas=[[1, 10], [1, 40]]") == Choice("betas", ([1, 10], [1, 40]))
    assert dimension("de_vae", "betas=[1, 10, 40]") is None
    assert dimension("vae", "steps=100") is None
    assert dimension("vae", "data=./a..b") is None


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("beta=4..4", "the range is empty"),
        ("beta=9..4", "the range is empty"),
        ("log:beta=0..4", "starts above 0"),
        ("log:beta=4", "log: needs a range"),
        ("beta=[1, 2", "is not a list"),
        ("beta=[]", "the grid is empty"),
    ],
)
def test_mistakes(argument: str, message: str) -> None:
    with pytest.raises(HatchelError, match=message):
        dimension("beta_vae", argument)


def test_every_point_of_choices() -> None:
    a, b = Choice("a", (1, 2)), Choice("b", ("x", [3]))
    assert [(a.read(p["a"]), b.read(p["b"])) for p in every_point([a, b])] == [(1, "x"), (1, [3]), (2, "x"), (2, [3])]
    assert every_point([a, Range("c", 0, 1)]) == []
