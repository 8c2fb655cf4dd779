"""Events: what a run reports of itself, one JSON object a line; windows: the samples that some of it is had from."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hatchel.core.errors import HatchelError
from hatchel.core.files import write_text
from hatchel.objective.evaluator import Samples
from hatchel.objective.independent import Reading

ROWS = 2048
"""Samples kept of each critic, or twice the columns where those are many."""


class Events:
    """Appends to RUN/events.jsonl; a resumed run first drops what came after its checkpoint."""

    def __init__(self, folder: Path, start: int) -> None:
        self.path = folder / "events.jsonl"
        kept = [line for line in read_events(folder) if int(line["step"]) <= start] if start else []
        write_text(self.path, "".join(json.dumps(line) + "\n" for line in kept))
        self._file = self.path.open("a", encoding="utf-8")

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

    def close(self) -> None:
        self._file.close()


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


class Windows:
    """The latest samples of each critic, a tensor a step, from which the independent readings beside it are had."""

    def __init__(self, readings: Mapping[str, Reading], state: Mapping[str, Tensor]) -> None:
        self._readings = readings
        self._rows = {name: deque[Tensor]([state[name]] if name in state else []) for name in readings}

    def add(self, samples: Mapping[str, Samples]) -> None:
        for name in samples.keys() & self._readings.keys():
            columns, rows = self._readings[name].columns, samples[name].source.float()
            kept, batch = self._rows[name], len(rows)
            if len(kept) == 1 and len(kept[0]) > batch:  # what a checkpoint had, in the pieces in which it came
                kept.extend(kept.popleft().to(rows).split(batch))
            kept.append(rows if len(columns) == rows.shape[1] else rows[:, columns])
            while (len(kept) - 1) * batch >= max(ROWS, 2 * len(columns)):
                kept.popleft()

    def read(self) -> dict[str, float]:
        """What is known of each critic's quantity without it."""
        found = {n: self._readings[n].value(torch.cat(list(rows))) for n, rows in self._rows.items() if rows}
        return {f"independent/{name}": value for name, value in found.items() if value is not None}

    def state(self) -> dict[str, Tensor]:
        return {name: torch.cat(list(rows)) for name, rows in self._rows.items() if rows}
