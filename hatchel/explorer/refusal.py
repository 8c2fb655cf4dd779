"""Refusal: a request that is answered with a message and an HTTP status instead of a picture."""

from __future__ import annotations

from hatchel.core.errors import HatchelError


class Refusal(HatchelError):
    """What was wrong with a request, as one line for the page."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
