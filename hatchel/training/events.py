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
        self._file.write(json.dumps({"step": step, **finite}) + "\n")
        self._file.flush()
        if self._board is not None:
            for name, value in values.items():
                self._board.add_scalar(name, value, step)

    def close(self) -> None:
        """Let go of the files."""
        self._file.close()
        if self._board is not None:
            self._board.close()


def read_events(folder: Path) -> list[dict[str, Any]]:
    """All events of a run in order; a line cut short by a kill is left out."""
    path = folder / "events.jsonl"
    if not path.exists():
        return []
    events: list[dict[str, Any]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            events.append(json.loads(line))
        except ValueError:
            break
    return events


def _board(folder: Path, start: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise HatchelError('tensorboard: is not installed; pip install "hatchel[track]"') from None
    return SummaryWriter(str(folder), purge_step=start)
