"""What a program holds: every kind of object gives the same items; what cannot be known is asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from scipy import sparse
from torch.utils.data import DataLoader, IterableDataset, SubsetRandomSampler, TensorDataset

from hatchel.core.errors import HatchelError
from hatchel.data import array, from_array, from_frame, held
from hatchel.data.held import dataset_like, dataset_of

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
    with pytest.raises(HatchelError, match=r"channels second or last\? Set data__channels=\"first\" or \"last\""):
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


def test_how_to_read_it_is_said_in_the_same_call() -> None:
    both = RNG.integers(0, 256, (5, 3, 9, 3), dtype=np.uint8)
    for data in (both, list(both)):
        found = dataset_of(data, {"channels": "first"})
        np.testing.assert_array_equal(found.images(range(5)), both.transpose(0, 2, 3, 1))
    assert dataset_of(pictures(), {"size": 4}).shape == (3, 4, 4)
    halves = Image.fromarray(np.repeat(np.array([[0, 255]], np.uint8), 8, axis=0).repeat(4, axis=1))
    np.testing.assert_array_equal(dataset_of([halves], {"size": 8}).images([0])[0, :, :, 0], np.asarray(halves))
    assert len(dataset_of(pd.DataFrame({"a": [1, np.nan, 3.0]}), {"missing": "drop"})) == 2


def test_a_model_s_shape_answers_what_was_asked_when_it_was_trained() -> None:
    both = RNG.integers(0, 256, (5, 3, 9, 3), dtype=np.uint8)
    assert dataset_like(both, (3, 9, 3)).shape == (3, 9, 3)
    assert dataset_like((both, np.arange(5)), (3, 3, 9)).shape == (3, 3, 9)
    assert dataset_like(pictures(), (3, 6, 6)).shape == (3, 6, 6)
    assert dataset_like(pictures(), (3, 8, 10)).shape == (3, 8, 10)


@pytest.mark.parametrize(
    "data, options, message",
    [
        (BYTES, {"size": 4}, r"^data\.size: an array has data__channels only; leave it out$"),
        (BYTES, {"channels": "middle"}, r'^data\.channels: must be "first" or "last", got \'middle\'$'),
        (
            pictures(),
            {"size": 0},
            r"^data\.size: must be a whole number of pixels from 1, such as data__size=32; got 0$",
        ),
        (pictures(), {"colour": False}, r"^data\.colour: a list of pictures has data__channels and data__size only;"),
        (from_array(BYTES), {"size": 4}, r"^data\.size: a data set that is already made has no options; leave it out$"),
        (pd.DataFrame({"a": [1.0, 2]}), {"drop": "a"}, "unknown field of Table 'drop'"),
    ],
)
def test_an_option_that_nothing_reads_is_refused(data: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(HatchelError, match=message):
        dataset_of(data, options)


def test_factors_in_a_frame_keep_their_names_and_values() -> None:
    known = pd.DataFrame({"colour": ["red", "blue", "red"] * 4, "angle": [0.0, 1.5, 3.0] * 4})
    found = dataset_of((BYTES, known))
    assert found.space is not None
    assert [(f.name, f.values, f.kind) for f in found.space.factors] == [
        ("colour", ("blue", "red"), "discrete"),
        ("angle", (0.0, 1.5, 3.0), "continuous"),
    ]
    np.testing.assert_array_equal(found.factors(range(3)), [[1, 0], [0, 1], [1, 2]])
    np.testing.assert_array_equal(
        dataset_of((BYTES, known["colour"])).factors(range(12)), found.factors(range(12))[:, :1]
    )
    with pytest.raises(HatchelError, match="the factors have 11 rows, the data 12 items; give a row for each"):
        dataset_of((BYTES, known[1:]))
    known.loc[3, "angle"] = np.nan
    with pytest.raises(HatchelError, match=r"the factor 'angle' has empty cells \(NaN\); fill them in"):
        dataset_of((BYTES, known))


def test_rows_in_other_forms() -> None:
    rows = sparse.random(20, 4, density=0.5, format="csr", random_state=0)
    dense = rows.toarray()
    for data in (rows, dense.tolist(), [tuple(row) for row in dense.tolist()], list(dense)):
        np.testing.assert_array_equal(dataset_of(data).items(range(20)), from_array(dense).items(range(20)))
    np.testing.assert_array_equal(dataset_of(BYTES.tolist()).images(range(12)), BYTES)
    column = pd.Series(dense[:, 0], name="age")
    assert [c.name for c in dataset_of(column).columns] == ["age"]
    np.testing.assert_allclose(dataset_of(column).items(range(20)), from_array(dense[:, :1]).items(range(20)))


class Stream(IterableDataset[torch.Tensor]):
    """Items that come one after the other, nobody knows how many."""

    def __iter__(self) -> Iterator[torch.Tensor]:
        return iter(torch.from_numpy(FIRST))


def test_a_stream_is_read_once_by_itself_or_in_batches() -> None:
    for data in (Stream(), DataLoader(Stream(), batch_size=5), iter(BYTES)):
        np.testing.assert_array_equal(dataset_of(data).images(range(12)), BYTES)


@pytest.mark.parametrize(
    "data, message",
    [
        (BYTES[0, 0, 0], r"expected images .* got the shape \(3,\)"),
        (BYTES * 1.0, r"values from 0 to 255; scale them to \[0, 1\]: give x / 255"),
        (BYTES / 127.5 - 1, r"give \(x \+ 1\) / 2"),
        ({"a": 1}, "cannot train on a dict; give an array"),
        (3, "cannot train on an int; give an array"),
        (
            pd.DataFrame({"day": pd.date_range("2020", periods=9)}),
            r"'day' holds dates .* or leave it out with data=hatc",
        ),
        (3.5, "cannot train on a float; give an array"),
        ([], "data: has no items"),
        ([[1.0, 2.0], [3.0]], r"rows have different lengths; give an array \(n, K\)"),
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
