from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hatchel.core.errors import HatchelError
from hatchel.data.xy_squares import XYSquares
from hatchel.explorer.session import ExploredRun, Session
from hatchel.explorer.uploads import RequestError
from hatchel.latents.diagonal import Diagonal
from hatchel.methods.resolve import resolve
from hatchel.nets.mlp import Mlp, MlpDecoder
from hatchel.training.run import TrainedRun, train


def test_two_runs_see_the_same_item_each_in_its_own_size(
    pair: Session, mixed: TrainedRun, hierarchy: TrainedRun
) -> None:
    found = pair.pick(9)
    small, large = (np.frombuffer(base64.b64decode(x), np.uint8) for x in found["inputs"])
    original = mixed.data.images([9])[0]
    assert np.array_equal(small.reshape(original.shape), original)
    enlarged = Image.fromarray(original[..., 0]).resize((32, 32), Image.Resampling.LANCZOS)
    assert np.array_equal(large.reshape(32, 32), np.asarray(enlarged))
    assert np.allclose(found["codes"][0][0], mixed.encode(original[None])[0])
    fitted = np.asarray(enlarged)[None, ..., None]
    for level in range(2):
        assert np.allclose(found["codes"][1][level], hierarchy.encode(fitted, level)[0])
    assert not np.allclose(found["codes"][1][0], found["codes"][1][1])


def test_what_the_page_is_told(pair: Session) -> None:
    about = pair.about()
    json.dumps(about, allow_nan=False)
    assert about["title"] == f"{pair.runs[0].name} and {pair.runs[1].name} on xy_squares"
    assert len({run["name"] for run in about["runs"]}) == 2  # both are a vae: the folders tell them apart
    assert [len(run["levels"]) for run in about["runs"]] == [1, 2]
    assert {len(site["columns"]) for site in about["runs"][0]["levels"][0]} == {1, 3}
    assert about["factors"][0]["of"] == pair.data.factors(about["points"])[:, 0].tolist()


def test_it_starts_with_a_middling_item_on_which_every_slider_shows(session: Session, plain: TrainedRun) -> None:
    codes = plain.encode(plain.data.images(np.arange(64)))
    space = session.runs[0].spaces[0]
    scale = {site.columns[0]: site for site in space.sliders}
    z = [(codes[:, d] - np.median(codes[:, d])) / (scale[d].high - scale[d].low) for d in range(4)]
    distance = sum(max(0, scale[d].information) * z[d] ** 2 for d in range(4))
    near = np.argsort(distance)[:3]  # a twentieth of 64
    changes = np.zeros((3, 4))
    for i, item in enumerate(near):
        for d in range(4):
            low, high = np.tile(codes[item], (2, 1))
            low[d], high[d] = scale[d].low, scale[d].high
            changes[i, d] = np.abs(np.subtract(*plain.decode(np.stack([low, high])))).mean()
    told = np.array([scale[d].information for d in range(4)])
    active = np.flatnonzero(told >= max(0.05, told.max() / 10)) if told.max() >= 0.05 else [told.argmax()]
    shown = (changes / changes.max(axis=0))[:, active].min(axis=1)
    assert session.start == near[shown.argmax()]


def test_fewer_items_than_the_data_have(make_run: Callable[..., TrainedRun]) -> None:
    session = Session([make_run(Diagonal(2))], items=20, seed=3)
    assert len(session.items) == 20
    assert set(session.about()["points"]) == set(session.items.tolist())
    assert session.pick(63)["item"] == 63  # any item can be picked, not only those
    assert isinstance(session.runs[0], ExploredRun)


def test_every_level_has_its_own_ranges_and_decoder(pair: Session, hierarchy: TrainedRun) -> None:
    first, *_, last = pair.runs[1].spaces
    low = {site.name: site.low for site in first.sliders}
    assert all(not np.isclose(site.low, low[site.name]) for site in last.sliders)
    code = [0.5, -0.5, 1.0]
    decoded = [pair.run(1).decode([code], level) for level in (0, 1)]
    assert np.abs(decoded[0].astype(int) - decoded[1]).max() > 1
    assert np.allclose(decoded[1] / 255, hierarchy.decode([code], 1), atol=0.51 / 255)


def test_class_probabilities_are_bounded(pair: Session) -> None:
    columns = next(s.columns for s in pair.runs[0].spaces[0].sliders if not s.real)
    code = [0.0] * 5
    code[columns[0]] = 1.5
    with pytest.raises(RequestError, match=r"class = 1.5 is out of range \(0 to 1\)"):
        pair.run(0).decode([code], 0)
    code[columns[0]] = 1.0
    assert pair.run(0).decode([code], 0).shape == (1, 16, 16, 1)


def test_units_of_a_table(table: TrainedRun) -> None:
    assert table.in_units(np.zeros((1, 5))).tolist() == [[170, 0, 0, 0, 0]]
    assert table.in_units(np.ones((1, 5))).tolist() == [[180, 1, 1, 1, 1]]


def test_runs_that_cannot_be_compared(plain: TrainedRun, table: TrainedRun) -> None:
    with pytest.raises(HatchelError, match="only runs on images, or on rows of the same length"):
        Session([plain, table])


def test_two_runs_that_held_out_other_items_are_compared_on_the_first_ones(tmp_path: Path) -> None:
    spec = resolve("vae", XYSquares(size=16, places=8)).with_fields(
        steps=1, batch_size=8, latent=Diagonal(2), encoder=Mlp((4,)), decoder=MlpDecoder((4,)), test_share=0.5
    )
    runs = [train(spec.with_fields(seed=s), out=tmp_path / f"{s}", progress=False) for s in (0, 1)]
    found = Session(runs)
    assert np.array_equal(found.items, runs[0].data.split(0, 0.5)[1])
    for explored in found.runs:
        codes = explored.run.encode(runs[0].data.images(found.items))
        np.testing.assert_allclose(explored.spaces[0].codes, codes, rtol=1e-4, atol=1e-5)
