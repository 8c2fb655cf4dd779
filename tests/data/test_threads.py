"""Shared-out work covers everything once, from every thread and after a fork."""

from __future__ import annotations

import multiprocessing
import threading

import numpy as np
import pytest
import torch

from hatchel.data import threads
from hatchel.data.threads import in_chunks


@pytest.fixture(params=[1, 3])
def count(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(threads, "_threads", lambda: request.param)
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
    assert threads._threads() == torch.get_num_threads()
