from __future__ import annotations

import base64
import json
from collections.abc import Callable

import numpy as np
from PIL import Image

from hatchel.explorer.exhibit import Exhibit
from hatchel.explorer.gallery import Gallery
from hatchel.latents.diagonal import Diagonal
from hatchel.training.run import TrainedRun


def test_two_runs_see_the_same_item_each_in_its_own_size(
    pair: Gallery, mixed: TrainedRun, hierarchy: TrainedRun
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


def test_what_the_page_is_told(pair: Gallery) -> None:
    about = pair.about()
    json.dumps(about, allow_nan=False)
    assert about["title"] == f"{pair.exhibits[0].name} and {pair.exhibits[1].name} on xy_squares"
    assert len({run["name"] for run in about["runs"]}) == 2  # both are a vae: the folders tell them apart
    assert [len(run["levels"]) for run in about["runs"]] == [1, 2]
    assert {len(site["columns"]) for site in about["runs"][0]["levels"][0]} == {1, 3}
    assert about["factors"][0]["of"] == pair.collection.data.factors(about["points"])[:, 0].tolist()


def test_it_starts_with_a_middling_item(gallery: Gallery, plain: TrainedRun) -> None:
    codes = plain.encode(plain.data.images(np.arange(64)))
    space = gallery.exhibits[0].spaces[0]
    scale = {site.columns[0]: site for site in space.sites}
    z = [(codes[:, d] - np.median(codes[:, d])) / (scale[d].high - scale[d].low) for d in range(4)]
    distance = sum(max(0, scale[d].information) * z[d] ** 2 for d in range(4))
    assert gallery.start == int(np.argmin(distance))


def test_fewer_items_than_the_data_have(make_run: Callable[..., TrainedRun]) -> None:
    gallery = Gallery([make_run(Diagonal(2))], items=20, seed=3)
    assert len(gallery.collection.items) == 20
    assert set(gallery.about()["points"]) == set(gallery.collection.items.tolist())
    assert gallery.pick(63)["item"] == 63  # any item can be picked, not only those
    assert isinstance(gallery.exhibits[0], Exhibit)
