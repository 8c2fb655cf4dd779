"""What is wrong with a request."""

from __future__ import annotations

from hatchel.core.errors import HatchelError


class RequestError(HatchelError):
    """One line for the page, and an HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
