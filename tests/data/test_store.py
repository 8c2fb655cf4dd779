"""Stores: every way of making a batch gives the same numbers, scaled, channels last."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from hatchel.data.store import ArrayStore, BitStore, DrawnStore, halved, shifted, unpacked

from hatchel.data import sprites

RNG = np.random.default_rng(0)
SOME = RNG.integers(0, 40, 17)


def double(indices: np.ndarray) -> np.ndarray:
    return np.stack([np.full((4, 6, 3), 2 * i, dtype=np.uint8) for i in indices])


def stores() -> dict[str, ArrayStore | BitStore | DrawnStore]:
    words = RNG.integers(0, 2**63, (40, 64), dtype=np.uint64) * np.uint64(2) + RNG.integers(0, 2, (40, 64)).astype("u8")
    return {
        "grey": RNG.integers(0, 256, (40, 8, 10, 1), dtype=np.uint8),
        "colour": RNG.integers(0, 256, (40, 8, 10, 3), dtype=np.uint8),
        "bits": BitStore(words, 40, 64),
        "bits 32": BitStore(words, 40, 32),
        "bits drawn": BitStore(sprites.render, 40, 64),
        "drawn": DrawnStore(double, 40, (4, 6, 3)),
    }


@pytest.mark.parametrize("name", list(stores()))
def test_batches_are_the_pixels_over_255_channels_last(name: str) -> None:
    store = stores()[name]
    pixels = store.take(SOME)
    gathered = store.finish(store.gatherer("cpu")(torch.from_numpy(SOME)))
    for batch in (gathered, torch.from_numpy(store.batch(SOME))):
        assert batch.dtype == torch.float32
        assert batch.shape == (17, store.shape[2], store.shape[0], store.shape[1])
        assert batch.is_contiguous(memory_format=torch.channels_last)
        np.testing.assert_array_equal(batch.permute(0, 2, 3, 1).numpy(), pixels.astype(np.float32) / np.float32(255))


@pytest.mark.parametrize("size", [64, 32])
def test_the_devices_unpacking_is_the_processors(size: int) -> None:
    packed = torch.from_numpy(RNG.integers(0, 256, (9, 512), dtype=np.uint8))
    torch.testing.assert_close(shifted(packed, size), unpacked(packed, size), rtol=0, atol=1e-7)


def test_unpacking_is_numpys() -> None:
    packed = RNG.integers(0, 256, (5, 512), dtype=np.uint8)
    expected = np.unpackbits(packed, axis=1, bitorder="little").reshape(5, 1, 64, 64)
    np.testing.assert_array_equal(unpacked(torch.from_numpy(packed), 64).numpy(), expected)


def test_half_size_is_the_mean_rounded_half_up() -> None:
    image = np.array(
        [[[[0], [1]], [[0], [1]]], [[[0], [0]], [[0], [1]]], [[[255], [255]], [[255], [255]]]], dtype=np.uint8
    )
    assert halved(image).ravel().tolist() == [1, 0, 255]


@pytest.mark.parametrize("name", list(stores()))
def test_stores_travel_to_worker_processes(name: str) -> None:
    store = stores()[name]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(store)).take(SOME), store.take(SOME))


def test_a_memory_map_travels_by_name(tmp_path) -> None:
    array = np.memmap(tmp_path / "a.bin", np.uint8, "w+", shape=(1000, 32, 32, 3))
    array[:] = RNG.integers(0, 256, array.shape)
    array.flush()
    for store in (array, array[100:300]):
        sent = pickle.dumps(store)
        assert len(sent) < 1000
        np.testing.assert_array_equal(pickle.loads(sent).take(np.arange(150)), store.take(np.arange(150)))


@pytest.mark.parametrize("n", [600, 65, 64, 1])
@pytest.mark.parametrize("name", list(stores()))
def test_every_size_of_batch_is_the_items_one_by_one(name: str, n: int) -> None:
    store, numbers = stores()[name], RNG.integers(0, 40, n)
    alone = np.concatenate([store.batch(np.array([i])) for i in range(40)])
    np.testing.assert_array_equal(store.batch(numbers), alone[numbers])


def test_rows_stay_as_they_are() -> None:
    rows = RNG.normal(size=(40, 5)).astype(np.float32)
    store = rows
    np.testing.assert_array_equal(store.finish(store.gatherer("cpu")(torch.from_numpy(SOME))).numpy(), rows[SOME])
    np.testing.assert_array_equal(store.batch(SOME), rows[SOME])
