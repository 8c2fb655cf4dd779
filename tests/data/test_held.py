"""What a program holds: every kind of object gives the same items; what cannot be told is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

from hatchel.core.errors import HatchelError
from hatchel.data import array, from_array, from_frame, held
from hatchel.data.held import dataset_of

RNG = np.random.default_rng(0)
BYTES = RNG.integers(0, 256, (12, 8, 10, 3), dtype=np.uint8)
FIRST = np.ascontiguousarray(BYTES.transpose(0, 3, 1, 2))
LABELS = np.arange(12) % 3
TENSORS = TensorDataset(torch.from_numpy(FIRST), torch.from_numpy(LABELS))


class Records:
    """As Hugging Face's data sets: dictionaries by number."""

    def __len__(self) -> int:
        return 12

    def __getitem__(self, i: int) -> dict[str, Any]:
        return {"image": Image.fromarray(BYTES[i]), "label": int(LABELS[i])}


def pictures() -> list[Image.Image]:
    return [Image.fromarray(x) for x in BYTES]


@pytest.mark.parametrize(
    "data",
    [
        BYTES,
        FIRST,
        torch.from_numpy(FIRST),
        torch.from_numpy(FIRST / 255).float().requires_grad_(),
        list(BYTES),
        list(torch.from_numpy(FIRST)),
        pictures(),
        TENSORS,
        Records(),
        DataLoader(TENSORS, batch_size=5, shuffle=True),
        (BYTES, LABELS),
    ],
    ids=["NHWC", "NCHW", "bytes", "floats", "arrays", "tensors", "PIL", "Dataset", "records", "DataLoader", "pair"],
)
def test_the_same_images_from_every_object(data: Any) -> None:
    found = dataset_of(data)
    np.testing.assert_array_equal(found.images(range(12)), BYTES)
    assert found.shape == (3, 8, 10)
    labelled = isinstance(data, TensorDataset | Records | DataLoader | tuple)
    np.testing.assert_array_equal(found.factors(range(12)), LABELS[:, None]) if labelled else None
    assert (found.space is not None) == labelled


def test_a_loader_with_a_choice_of_its_own_is_read_as_it_comes() -> None:
    found = dataset_of(DataLoader(TENSORS, batch_size=2, sampler=SubsetRandomSampler([3, 4, 5])))
    order = [int(np.flatnonzero((x == BYTES).all((1, 2, 3)))[0]) for x in found.images(range(3))]
    assert sorted(order) == [3, 4, 5]
    np.testing.assert_array_equal(found.factors(range(3)), LABELS[order][:, None])


def test_paths_and_pictures_of_several_sizes(tmp_path: Path) -> None:
    for i, picture in enumerate(pictures()[:3]):
        picture.save(tmp_path / f"{i}.png")
    paths = sorted(tmp_path.iterdir())
    np.testing.assert_array_equal(dataset_of(paths).images(range(3)), BYTES[:3])
    wide = Image.new("L", (30, 20), 128)
    with pytest.warns(UserWarning, match="pictures of 2 sizes: trained on the centred square of each, 64x64"):
        found = dataset_of([wide, pictures()[0]])
    assert found.shape == (3, 64, 64)
    assert (found.images([0]) == 128).all()
    with pytest.raises(HatchelError, match=r"one is \(4, 4, 2\) of float64; bring them to one size"):
        dataset_of([np.zeros((4, 4, 2)), np.zeros((5, 4, 2))])
    with pytest.raises(HatchelError, match=r"none.png cannot be read as an image .*; leave it out"):
        dataset_of([str(tmp_path / "none.png")])


def test_where_the_channels_are_is_asked_where_the_shape_does_not_say() -> None:
    both = RNG.integers(0, 256, (5, 3, 9, 3), dtype=np.uint8)
    with pytest.raises(HatchelError, match=r"channels second or last\? Set channels=\"first\" or \"last\""):
        dataset_of(both)
    assert from_array(both, channels="first").shape == (3, 9, 3)
    assert from_array(both, channels="last").shape == (3, 3, 9)
    many = RNG.integers(0, 256, (5, 6, 9, 7), dtype=np.uint8)
    np.testing.assert_array_equal(from_array(many, channels="first").images([1]), many[1:2].transpose(0, 2, 3, 1))


def test_what_is_large_is_converted_batch_by_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = RNG.normal(1e6, 3, (40, 3))
    small = from_array(rows)
    np.save(tmp_path / "first.npy", FIRST / 255)
    mapped = np.load(tmp_path / "first.npy", mmap_mode="r")
    for module in (array, held):
        monkeypatch.setattr(module, "IN_MEMORY", 100)
    for data in (mapped, TENSORS):
        found = dataset_of(data)
        assert isinstance(found.array, held.LazyArray)
        np.testing.assert_array_equal(found.images([7, 2]), BYTES[[7, 2]])
    large = from_array(rows)
    assert isinstance(large.array, held.LazyArray)
    np.testing.assert_allclose(large.items(range(40)), small.items(range(40)), atol=1e-5)
    np.testing.assert_allclose([c.scale for c in large.columns], rows.std(0), rtol=1e-6)


@pytest.mark.parametrize(
    "data, message",
    [
        (BYTES[0, 0, 0], r"expected images .* got the shape \(3,\)"),
        (BYTES * 1.0, r"values from 0 to 255; scale them to \[0, 1\]: give x / 255"),
        (BYTES / 127.5 - 1, r"give \(x \+ 1\) / 2"),
        ({"a": 1}, "cannot train on a dict; give an array"),
        (3.5, "cannot train on a float; give an array"),
        ([], "data: has no items"),
        ((BYTES, LABELS[:5]), r"factors has the shape \(5,\); factors are \(12,\) or \(12, K\)"),
        ((BYTES, ["a"] * 12), r"whole numbers from 0; number the values of one with np\.unique"),
        ([{"other": 1}], "an item has other, and no `image`"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(data: Any, message: str) -> None:
    with pytest.raises(HatchelError, match=message) as caught:
        dataset_of(data)
    assert "\n" not in str(caught.value)


def frame() -> pd.DataFrame:
    return pd.DataFrame({"age": [20.0, 30, 50, 60], "city": ["A", "B", "A", "C"], "member": [0, 1, 1, 0]})


def test_a_frame_is_read_as_a_table_is() -> None:
    given = frame()
    found = dataset_of(given)
    assert list(given.columns) == ["age", "city", "member"]
    assert [c.kind_of for c in found.columns] == ["gaussian", "categorical", "bernoulli"]
    expected = (given["age"] - 40) / np.sqrt(250)
    np.testing.assert_allclose(found.items(range(4))[:, 0], expected, rtol=1e-6)
    named = from_frame(given, factors=["city"])
    np.testing.assert_array_equal(named.factors(range(4)), [[0], [1], [0], [2]])
    given.loc[1, "age"] = np.nan
    with pytest.raises(HatchelError, match=r"use data=hatchel\.data\.from_frame\(df, missing='drop'\)"):
        dataset_of(given)
    assert len(from_frame(given, missing="drop")) == 3
