"""Study files: what they enumerate, counted by hand, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from hatchel.core.errors import HatchelError
from hatchel.core.spec import from_dict
from hatchel.data.xy_squares import XYSquares
from hatchel.study.file import StudyFile, options_of
from hatchel.study.grid import SCALES

BODY: dict[str, Any] = {"name": "mine", "data": ["xy_squares"], "methods": [{"method": "beta_vae"}]}


def grid(**changes: Any) -> StudyFile:
    return from_dict(StudyFile, BODY | changes)


def weights(made: StudyFile, term: str = "kl") -> list[float]:
    return [point.task.run.objective[term].weight.value for point in made.grid("laptop").cases]


def test_a_list_in_a_method_is_a_choice() -> None:
    made = grid(
        methods=[{"method": "beta_vae", "beta": [1, 4, 16]}, {"method": "factor_vae", "gamma": 7, "label": "F"}]
    )
    points = made.grid("laptop").cases
    assert [dict(p.labels) for p in points] == [
        {"method": "beta_vae beta=1", "beta": 1},
        {"method": "beta_vae beta=4", "beta": 4},
        {"method": "beta_vae beta=16", "beta": 16},
        {"method": "F"},
    ]
    assert weights(made) == [1, 4, 16, 1]
    assert points[3].task.run.objective["tc"].weight.value == 7


def test_product_is_every_combination_the_last_changes_first() -> None:
    made = grid(product={"beta": [1, 4], "latent.dim": [2, 3, 5]})
    assert [(p.labels["beta"], p.labels["latent.dim"]) for p in made.grid("laptop").cases] == [
        (1, 2), (1, 3), (1, 5), (4, 2), (4, 3), (4, 5),
    ]  # fmt: skip
    assert weights(made) == [1, 1, 1, 4, 4, 4]
    assert [p.task.run.latent.dim for p in made.grid("laptop").cases] == [2, 3, 5] * 2  # pyright: ignore


def test_zip_goes_in_step_and_multiplies_with_the_rest() -> None:
    made = grid(
        product={"beta": [1, 4]}, zip={"steps": [10, 20], "batch_size": [8, 16]}, data=["xy_squares", "dsprites"]
    )
    found = [
        (p.task.run.data.kind, p.task.run.objective["kl"].weight.value, p.task.run.steps, p.task.run.batch_size)
        for p in made.grid("laptop").cases
    ]
    assert found == [
        ("xy_squares", 1, 10, 8), ("xy_squares", 1, 20, 16), ("xy_squares", 4, 10, 8), ("xy_squares", 4, 20, 16),
        ("dsprites", 1, 10, 8), ("dsprites", 1, 20, 16), ("dsprites", 4, 10, 8), ("dsprites", 4, 20, 16),
    ]  # fmt: skip
    assert [p.labels["data"] for p in made.grid("laptop").cases] == ["xy_squares"] * 4 + ["dsprites"] * 4


def test_later_sections_win_and_a_scale_wins_last() -> None:
    made = grid(
        methods=[{"method": "beta_vae", "steps": 20}, {"method": "vae"}],
        set={"steps": 10},
        scales={"paper": {"steps": 99, "seeds": 7, "data": {"kind": "xy_squares", "size": 16}}},
    )
    assert [p.task.run.steps for p in made.grid("laptop").cases] == [20, 10]
    assert [p.task.run.steps for p in made.grid("paper").cases] == [99, 99]
    assert [p.task.run.steps for p in made.grid("smoke").cases] == [3, 3]
    assert [made.grid(scale).seeds for scale in SCALES] == [1, 3, 7]
    assert {p.task.run.data for p in made.grid("paper").cases} == {XYSquares(size=16)}


def test_smoke_leaves_what_is_varied() -> None:
    points = grid(product={"steps": [10, 20]}).grid("smoke").cases
    assert [(p.labels["steps"], p.task.run.steps, p.task.run.batch_size) for p in points] == [
        (10, 10, 16),
        (20, 20, 16),
    ]


def test_a_new_kind_then_its_field() -> None:
    made = grid(set={"latent.dim": 3}, methods=[{"method": "vae", "latent": "correlated", "latent.correlation": 0.5}])
    latent = made.grid("laptop").cases[0].task.run.latent
    assert (latent.kind, latent.correlation) == ("correlated", 0.5)  # pyright: ignore


def test_two_of_one_data_set_are_told_apart() -> None:
    made = grid(data=[{"kind": "xy_squares", "size": 16}, {"kind": "xy_squares", "size": 32}])
    assert [p.labels["data"] for p in made.grid("laptop").cases] == ["xy_squares(size=16)", "xy_squares(size=32)"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metod": []}, r"unknown field of StudyFile 'metod'. Did you mean 'methods'"),
        ({"methods": []}, r"methods: the grid is empty"),
        ({"data": []}, r"data: the grid is empty"),
        ({"product": {"beta": []}}, r"product.beta: the grid is empty"),
        ({"zip": {"beta": []}}, r"zip.beta: the grid is empty"),
        ({"methods": [{"method": "beta_vae", "beta": []}]}, r"methods\[0\].beta: the grid is empty"),
        ({"zip": {"beta": [1, 2], "steps": [5]}}, r"zip: all fields need as many values, but beta has 2, steps has 1"),
        ({"zip": {"beta": [1]}, "product": {"beta": [2]}}, r"zip.beta: is in product too"),
        ({"methods": [{"preset": "vae"}]}, r"methods\[0\]: `preset` is `method` now: {method: vae, ...}"),
        ({"methods": [{"beta": 4}]}, r"methods\[0\]: needs a `method`"),
        (
            {"methods": [{"method": "vae"}, {"method": "betavae"}]},
            r"methods\[1\]: unknown method 'betavae'.*'beta_vae'",
        ),
        ({"methods": [{"method": "beta_vae", "bta": 4}]}, r"methods\[0\]: unknown field 'bta'. Did you mean 'beta'"),
        ({"methods": [{"method": "beta_vae", "beta": -1}]}, r"methods\[0\].beta: input should be greater than"),
        ({"set": {"latent.dmi": 4}}, r"set.latent: unknown field of Diagonal 'dmi'. Did you mean 'dim'"),
        ({"set": {"stepss": 4}}, r"set \(for beta_vae\): unknown field 'stepss'. Did you mean 'steps'"),
        ({"set": {"seed": 4}}, r"set.seed: comes from `seeds`"),
        ({"product": {"steps": [10, 0]}}, r"product.steps: input should be greater than 0, got 0"),
        ({"data": ["dsprits"]}, r"data\[0\]: unknown dataset 'dsprits'. Did you mean 'dsprites'"),
        ({"metrics": ["mig", "dcii"]}, r"metrics\[1\]: unknown metric 'dcii'. Did you mean 'dci'"),
        ({"scales": {"smok": {}}}, r"scales: unknown scale 'smok'. Did you mean 'smoke'"),
        ({"scales": {"paper": {"stps": 1}}}, r"scales.paper \(for beta_vae\): unknown field 'stps'"),
        ({"scales": {"paper": {"metrics": ["x"]}}}, r"scales.paper.metrics: unknown metric 'x'"),
        ({"scales": {"paper": {"seeds": 0}}}, r"scales.paper.seeds: input should be greater than 0"),
        ({"scales": {"paper": {"beta": 1}}, "product": {"beta": [2, 3]}}, r"scales.paper.beta: is varied in the grid"),
        ({"seeds": 0}, r"seeds: input should be greater than 0, got 0"),
        ({"name": "a/b"}, r"name: 'a/b' has to be a file's name"),
        ({"methods": [{"method": "vae"}, {"method": "vae", "steps": 5}]}, r"two runs are called method=vae"),
    ],
)
def test_mistakes_are_named_with_their_place(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(HatchelError, match=message):
        grid(**changes)


def test_a_list_is_a_choice_unless_the_field_holds_lists() -> None:
    assert options_of("beta_vae", "latent.dim", [2, 4]) == [2, 4]
    assert options_of("beta_vae", "latent.dim", 2) == [2]
    assert options_of("de_vae", "betas", [1, 10]) == [[1, 10]]
    assert options_of("de_vae", "betas", [[1, 10], [1, 40]]) == [[1, 10], [1, 40]]
    assert options_of("vae", "encoder", ["conv", "split"]) == ["conv", "split"]
