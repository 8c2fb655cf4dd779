"""Events: what a run reports of itself, one JSON object a line, and TensorBoard on request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hatchel.core.errors import HatchelError
from hatchel.core.files import write_text


class Events:
    """Appends to RUN/events.jsonl; a resumed run first drops what came after its checkpoint."""

    def __init__(self, folder: Path, start: int, tensorboard: bool) -> None:
        self.path = folder / "events.jsonl"
        kept = [line for line in read_events(folder) if int(line["step"]) <= start] if start else []
        write_text(self.path, "".join(json.dumps(line) + "\n" for line in kept))
        self._file = self.path.open("a", encoding="utf-8")
        self._board = _board(folder / "tensorboard", start) if tensorboard else None

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """One line; None where a value is not finite, which JSON cannot hold."""
        finite = {k: v if v == v and abs(v) != float("inf") else None for k, v in values.items()}
        try:
            self._file.write(json.dumps({"step": step, **finite}) + "\n")
            self._file.flush()
        except OSError as error:
            raise HatchelError(
                f"{self.path}: cannot be written ({error.strerror}); free space, then: "
                f"hatchel train {self.path.parent} --resume"
            ) from None
        if self._board is not None:
            for name, value in values.items():
                self._board.add_scalar(name, value, step)

    def close(self) -> None:
        """Let go of the files."""
        self._file.close()
        if self._board is not None:
            self._board.close()


def read_events(folder: Path) -> list[dict[str, Any]]:
    """All events of a run in order; a line that a kill cut short, or that is damaged, is left out."""
    return [event for event in map(_event, _lines(folder)) if event is not None]


def bad_lines(folder: Path) -> int:
    """How many lines are left out."""
    return sum(_event(line) is None for line in _lines(folder))


def _lines(folder: Path) -> list[bytes]:
    path = folder / "events.jsonl"
    return path.read_bytes().splitlines() if path.exists() else []


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(line)
        return event if isinstance(event["step"], int) else None
    except (ValueError, KeyError, TypeError):
        return None


def _board(folder: Path, start: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise HatchelError('tensorboard: is not installed; pip install "hatchel[track]"') from None
    return SummaryWriter(str(folder), purge_step=start)
