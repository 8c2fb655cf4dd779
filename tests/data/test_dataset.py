"""Dataset: splits, factors, readers, fingerprints, the contact sheet."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.data import load
from hatchel.data.dataset import Dataset, contact_sheet
from hatchel.data.decode import LazyArray, UnpackBits
from hatchel.data.factors import Factor, FactorSpace


@pytest.fixture
def squares() -> Dataset:
    return load("xy_squares", size=16)


def test_split_is_nine_to_one_disjoint_and_by_seed(squares: Dataset) -> None:
    train, test = squares.split(3)
    assert (len(train), len(test)) == (58, 6)
    assert sorted([*train, *test]) == list(range(64))
    assert (np.diff(train) > 0).all()
    np.testing.assert_array_equal(squares.split(3)[1], test)
    assert squares.split(4)[1].tolist() != test.tolist()
    assert len(squares.split(0, test=0)[1]) == 0
    for share in (1.0, -0.1):
        with pytest.raises(HatchelError, match="nothing to train on"):
            squares.split(0, test=share)


def test_reader_follows_the_indices(squares: Dataset) -> None:
    numbers = torch.tensor([5, 5, 63, 0])
    batch = squares.reader()(numbers)
    np.testing.assert_array_equal(batch.numpy()[:, 0], squares.images(numbers)[..., 0] / np.float32(255))


@pytest.mark.parametrize("name", ["array", "bits", "lazy bits"])
def test_batches_that_are_kept_are_never_written_again(name: str, squares: Dataset) -> None:
    packed = np.random.default_rng(0).integers(0, 256, (64, 512), dtype=np.uint8)
    ds = {
        "array": squares,
        "bits": Dataset("kept", packed, decode=UnpackBits(64)),
        "lazy bits": Dataset("kept", LazyArray(packed.__getitem__, packed.shape), decode=UnpackBits(64)),
    }[name]
    read = ds.reader()
    numbers = torch.arange(64)
    kept, flat = read(numbers), read(numbers).flatten(1)[:, ::3]  # a batch, and a view whose batch is let go
    weight = torch.ones((), requires_grad=True)
    loss = (weight * read(numbers)).sum()  # backward needs the batch, which nobody else holds
    expected = kept.clone()
    for shift in range(1, 6):
        read(numbers.roll(shift)).zero_()
    assert torch.equal(kept, expected)
    assert torch.equal(flat, expected.flatten(1)[:, ::3])
    loss.backward()
    assert weight.grad is not None
    assert weight.grad == expected.sum() > 0
    assert torch.equal(read(numbers), expected)


def test_fingerprint_changes_with_pixels_factors_and_length() -> None:
    images = np.zeros((20, 4, 4, 1), dtype=np.uint8)
    space = FactorSpace((Factor("a", (0.0, 1.0)),), complete=False)
    codes = np.zeros((20, 1), dtype=np.int64)
    prints = {Dataset("a", images).fingerprint, Dataset("b", images.copy()).fingerprint}
    assert len(prints) == 1
    other = images.copy()
    other[7, 2, 2] = 1
    more = codes.copy()
    more[3] = 1
    for ds in (
        Dataset("a", other),
        Dataset("a", images[:19]),
        Dataset("a", images, space, codes),
        Dataset("a", images, space, more),
    ):
        assert ds.fingerprint not in prints
        prints.add(ds.fingerprint)


def test_what_does_not_fit_together_is_refused() -> None:
    images = np.zeros((4, 2, 2, 1), dtype=np.uint8)
    space = FactorSpace((Factor("a", (0.0, 1.0, 2.0)),))
    with pytest.raises(HatchelError, match="4 items, its factors 3 combinations"):
        Dataset("d", images, space)
    with pytest.raises(HatchelError, match="4 items but factors for 3"):
        Dataset("d", images, space, np.zeros((3, 1), dtype=np.int64))
    with pytest.raises(HatchelError, match="no items"):
        Dataset("d", np.zeros((0, 2, 2, 1), dtype=np.uint8))


def test_tables_have_no_images_and_images_no_columns(squares: Dataset) -> None:
    assert squares.likelihood == "bernoulli"
    assert squares.columns == ()
    with pytest.raises(HatchelError, match="has no images"):
        Dataset("t", np.zeros((3, 2), dtype=np.float32)).images([0])
    with pytest.raises(HatchelError, match="index 64 is out of range"):
        squares.images([64])
    assert Dataset("n", squares.array).factors([0]) is None


def test_a_contact_sheet_has_a_row_per_factor_then_random_items() -> None:
    ds = load("xy_squares", size=8)
    page = contact_sheet(ds, seed=0, columns=8)
    assert page.shape == (4 * 10, 8 * 10, 3)
    cells = page.reshape(4, 10, 8, 10, 3)[:, :8, :, :8, 0].transpose(0, 2, 1, 3)  # (row, column, H, W)
    place = cells.reshape(4, 8, 64).argmax(axis=2)
    x, y = place % 8, place // 8
    assert x[0].tolist() == list(range(8))
    assert len(set(y[0])) == 1
    assert y[1].tolist() == list(range(8))
    assert len(set(x[1])) == 1
    assert (page[8] == 128).all()
    np.testing.assert_array_equal(page, contact_sheet(ds, seed=0, columns=8))
    assert (page != contact_sheet(ds, seed=1, columns=8)).any()


def test_a_contact_sheet_without_factors_is_random() -> None:
    ds = load("xy_squares", size=8)
    assert contact_sheet(Dataset("n", ds.array), seed=0).shape == (40, 100, 3)
