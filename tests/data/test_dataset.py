"""Dataset: splits, factors, readers, fingerprints."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hatchel.data.store import BitStore

from hatchel.core.errors import HatchelError
from hatchel.data import load
from hatchel.data.dataset import Dataset
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


@pytest.mark.parametrize("name", ["array", "bits", "drawn bits"])
def test_batches_that_are_kept_are_never_written_again(name: str, squares: Dataset) -> None:
    words = np.random.default_rng(0).integers(0, 2**63, (64, 64), dtype=np.uint64)
    store = {
        "array": squares.store,
        "bits": BitStore(words, 64, 64),
        "drawn bits": BitStore(words.__getitem__, 64, 64),
    }[name]
    read = Dataset("kept", store).reader()
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


def test_worker_processes_give_the_same_batches(squares: Dataset) -> None:
    numbers = [torch.tensor([1, 2, 3]), torch.tensor([60]), torch.tensor([7, 7])]
    here, there = list(squares.batches(numbers)), list(squares.batches(numbers, workers=1))
    assert [b.shape[0] for b in here] == [3, 1, 2]
    for a, b in zip(here, there, strict=True):
        assert torch.equal(a, b)


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
    assert Dataset("n", squares.store).factors([0]) is None
