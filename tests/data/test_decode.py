"""Decode: every way of making a batch gives the same numbers, scaled, channels last."""

from __future__ import annotations

import multiprocessing
import threading

import numpy as np
import pytest
import torch

from hatchel.data import decode, dsprites, dsprites_render
from hatchel.data.dataset import Dataset
from hatchel.data.decode import Decode, LazyArray, UnpackBits, halved, in_chunks

RNG = np.random.default_rng(0)
SOME = RNG.integers(0, 40, 17)
BYTES = RNG.integers(0, 256, (40, 512), dtype=np.uint8)


def double(indices: np.ndarray) -> np.ndarray:
    return np.stack([np.full((4, 6, 3), 2 * i, dtype=np.uint8) for i in indices])


DATA = {
    "grey": Dataset("d", RNG.integers(0, 256, (40, 8, 10, 1), dtype=np.uint8)),
    "colour": Dataset("d", RNG.integers(0, 256, (40, 8, 10, 3), dtype=np.uint8)),
    "bits": Dataset("d", BYTES, decode=UnpackBits(64)),
    "bits 32": Dataset("d", BYTES, decode=UnpackBits(32)),
    "rendered bits": Dataset("d", LazyArray(dsprites._packed, (40, 512)), decode=UnpackBits(64)),
    "lazy": Dataset("d", LazyArray(double, (40, 4, 6, 3))),
}


@pytest.mark.parametrize("name", list(DATA))
def test_batches_are_the_pixels_over_255_channels_last(name: str) -> None:
    ds = DATA[name]
    pixels = ds.images(SOME)
    batch = ds.reader()(torch.from_numpy(SOME))
    assert batch.dtype == torch.float32
    assert batch.shape == (17, *ds.shape)
    assert batch.is_contiguous(memory_format=torch.channels_last)
    np.testing.assert_array_equal(batch.permute(0, 2, 3, 1).numpy(), pixels.astype(np.float32) / np.float32(255))


@pytest.mark.parametrize("name", list(DATA))
@pytest.mark.parametrize("fits", [True, False])
def test_the_devices_batches_are_the_processors(name: str, fits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the device's code on the processor: "cpu:0" is not "cpu"."""
    ds, numbers = DATA[name], torch.from_numpy(SOME)
    if not fits:
        monkeypatch.setattr("hatchel.data.dataset.MAX_ON_DEVICE", 0)
    there = ds.reader("cpu:0")(numbers)
    assert there.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(there, ds.reader()(numbers), rtol=0, atol=1e-7)


def test_unpacking_is_numpys() -> None:
    expected = np.unpackbits(BYTES, axis=1, bitorder="little").reshape(40, 1, 64, 64)
    np.testing.assert_array_equal(UnpackBits(64).batch(BYTES), expected)
    np.testing.assert_array_equal(UnpackBits(64).items(BYTES), expected.reshape(40, 64, 64, 1) * 255)
    np.testing.assert_array_equal(UnpackBits(32).items(BYTES), halved(expected.reshape(40, 64, 64, 1) * np.uint8(255)))


def test_rendered_words_are_packed_as_the_cache_keeps_them() -> None:
    words = dsprites_render.render(SOME).astype("<u8")
    np.testing.assert_array_equal(dsprites._packed(SOME), words.view(np.uint8))


def test_half_size_is_the_mean_rounded_half_up() -> None:
    image = np.array(
        [[[[0], [1]], [[0], [1]]], [[[0], [0]], [[0], [1]]], [[[255], [255]], [[255], [255]]]], dtype=np.uint8
    )
    assert halved(image).ravel().tolist() == [1, 0, 255]


@pytest.mark.parametrize("n", [600, 65, 64, 1])
@pytest.mark.parametrize("name", list(DATA))
def test_every_size_of_batch_is_the_items_one_by_one(name: str, n: int) -> None:
    read, numbers = DATA[name].reader(), torch.from_numpy(RNG.integers(0, 40, n))
    alone = torch.cat([read(torch.tensor([i])) for i in range(40)])
    assert torch.equal(read(numbers), alone[numbers])


def test_rows_stay_as_they_are() -> None:
    rows = RNG.normal(size=(40, 5)).astype(np.float32)
    ds = Dataset("rows", rows)
    for device in ("cpu", "cpu:0"):
        np.testing.assert_array_equal(ds.reader(device)(torch.from_numpy(SOME)).numpy(), rows[SOME])
    np.testing.assert_array_equal(ds.items(SOME), rows[SOME])
    assert Decode().shape((5,)) == ds.shape == (5,)


@pytest.fixture(params=[1, 3])
def count(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(decode, "_threads", lambda: request.param)
    return request.param


def covered(n: int, step: int) -> np.ndarray:
    seen = np.zeros(n, dtype=int)

    def work(start: int, stop: int) -> None:
        assert 0 < stop - start <= step
        seen[start:stop] += 1

    in_chunks(work, n, step)
    return seen


@pytest.mark.parametrize("n", [0, 1, 63, 512, 1000])
def test_everything_once(count: int, n: int) -> None:
    assert (covered(n, 64) == 1).all()


def test_errors_come_back(count: int) -> None:
    def fail(start: int, stop: int) -> None:
        if stop == 1000:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        in_chunks(fail, 1000, 10)


def test_from_another_thread_and_after_a_fork(count: int) -> None:
    covered(1000, 64)
    seen: list[bool] = []
    other = threading.Thread(target=lambda: seen.append(bool((covered(1000, 64) == 1).all())))
    other.start()
    other.join()
    assert seen == [True]
    child = multiprocessing.get_context("fork").Process(target=covered, args=(1000, 64))
    child.start()
    child.join(20)
    assert child.exitcode == 0


def test_torchs_number_of_threads_is_the_limit() -> None:
    assert decode._threads() == torch.get_num_threads()
