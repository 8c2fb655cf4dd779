"""The desk gives each client what it would have had alone, hands on sliders first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hatchel.explorer.desk import Desk
from hatchel.explorer.session import Session
from hatchel.explorer.uploads import RequestError


def asked(session: Session, *requests: tuple[int, int, list[list[float]]]) -> tuple[list[Any], list[int]]:
    """Each answer, or its error, and the sizes of the passes; all requests but the first come while it is busy."""
    passes: list[int] = []

    async def work(call: Callable[[], list[Any]]) -> list[Any]:
        await asyncio.sleep(0.01)
        found = call()
        passes.append(sum(len(f) for f in found if not isinstance(f, Exception)))
        return found

    async def all_at_once() -> list[Any]:
        desk = Desk(session, work)
        found = await asyncio.gather(*(desk.decode(*r) for r in requests), return_exceptions=True)
        assert desk.task is None
        return found

    return asyncio.run(all_at_once()), passes


def test_what_waits_for_one_space_is_decoded_in_one_pass_and_each_has_its_own(session: Session) -> None:
    rng = np.random.default_rng(0)
    codes = [rng.normal(size=(n, 4)).round(3).tolist() for n in (1, 2, 1, 3)]
    found, passes = asked(session, *((0, 0, code) for code in codes))
    assert passes == [7]
    for code, pictures in zip(codes, found, strict=True):
        alone = session.run(0).decode(code, 0)
        assert pictures.shape == alone.shape
        assert np.abs(pictures.astype(int) - alone).max() <= 1  # sums in another order may round the other way


def test_small_orders_pass_a_large_one_once(session: Session) -> None:
    rows, one = [[0.0] * 4] * 11, [[0.0] * 4]
    _, passes = asked(session, *((0, 0, codes) for codes in (rows, one, rows, one, rows)))
    assert passes == [2, 11, 11, 11]


def test_a_wrong_order_spoils_no_other(session: Session) -> None:
    found, passes = asked(session, (0, 0, [[0.0] * 4]), (0, 0, [[0.0] * 3]), (7, 0, [[0.0] * 4]), (0, 0, [[1.0] * 4]))
    assert passes == [2, 0]
    assert [getattr(f, "status", 200) for f in found] == [200, 422, 404, 200]
    assert isinstance(found[1], RequestError)
    assert np.array_equal(found[3], session.run(0).decode([[1.0] * 4], 0))


def test_a_decoder_that_fails_fails_those_who_asked_and_the_desk_goes_on(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(type(session.runs[0]), "decoded", broken)
        found, _ = asked(session, (0, 0, [[0.0] * 4]), (0, 0, [[0.0] * 4]))
    assert all(isinstance(f, RuntimeError) for f in found)
    found, _ = asked(session, (0, 0, [[0.0] * 4]))
    assert found[0].shape == (1, 16, 16, 1)
