"""Desk: decodes for many clients at once, one batch after the other in the thread of the models."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hatchel.explorer.session import BATCH, Session

SMALL = 4
"""Codes of a request that a hand waits for: a slider's picture, a swap. Rows of traversals come when it rests."""


@dataclass(frozen=True)
class Order:
    """One client's request."""

    run: int
    level: int
    codes: Sequence[Sequence[float]]
    answer: asyncio.Future[NDArray[Any]]

    @property
    def small(self) -> bool:
        return len(self.codes) <= SMALL


class Desk:
    """Small orders before large ones, and all small ones that wait for the same latent space in one pass.

    A pass over eight pictures takes little longer than over one, so eight hands on sliders need not queue. A large
    order is passed by one batch of small ones at most, so that none waits for ever.
    """

    def __init__(self, session: Session, work: Callable[[Callable[[], list[Any]]], Awaitable[list[Any]]]) -> None:
        """`work`: in the thread of the models."""
        self.session, self.work = session, work
        self.waiting: list[Order] = []
        self.task: asyncio.Task[None] | None = None
        self.passed = False

    async def decode(self, run: int, level: int, codes: Sequence[Sequence[float]]) -> NDArray[Any]:
        """Pictures or rows, as `ExploredRun.decode` gives them."""
        order = Order(run, level, codes, asyncio.get_running_loop().create_future())
        self.waiting.append(order)
        if self.task is None:
            self.task = asyncio.create_task(self._serve())
        return await order.answer

    async def _serve(self) -> None:
        try:
            while self.waiting:
                batch = self.next_batch()
                found = await self.work(lambda batch=batch: self._decoded(batch))
                for order, result in zip(batch, found, strict=True):
                    if order.answer.done():  # its client has gone
                        continue
                    if isinstance(result, Exception):
                        order.answer.set_exception(result)
                    else:
                        order.answer.set_result(result)
        finally:
            self.task = None

    def next_batch(self) -> list[Order]:
        """What is decoded next, taken from those that wait."""
        large = [order for order in self.waiting if not order.small]
        small = [order for order in self.waiting if order.small]
        if large and (self.passed or not small):
            batch, self.passed = large[:1], False
        else:
            same = [o for o in small if (o.run, o.level) == (small[0].run, small[0].level)]
            batch, self.passed = same[: BATCH // SMALL], bool(large)
        self.waiting = [order for order in self.waiting if order not in batch]
        return batch

    def _decoded(self, batch: Sequence[Order]) -> list[NDArray[Any] | Exception]:
        """The answer to each order; a wrong one spoils none of the others."""
        found: list[NDArray[Any] | Exception] = []
        codes: list[NDArray[Any]] = []
        for order in batch:
            try:
                checked = self.session.run(order.run).checked(order.codes, order.level)
                found.append(checked)
                codes.append(checked)
            except Exception as error:
                found.append(error)
        if not codes:
            return found
        try:
            decoded = self.session.run(batch[0].run).decoded(np.concatenate(codes), batch[0].level)
        except Exception as error:
            return [error] * len(batch)
        start = 0
        for place, one in enumerate(found):
            if not isinstance(one, Exception):
                found[place] = decoded[start : start + len(one)]
                start += len(one)
        return found
