"""Windows: the latest samples of each critic, from which the independent readings beside it are had."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import torch
from torch import Tensor

from hatchel.objective.evaluator import Samples
from hatchel.objective.independent import Reading

ROWS = 2048
"""Samples kept, or twice the columns where those are many."""


class Windows:
    """Rows of the last steps, a tensor a step; read only when an event is written."""

    def __init__(self, readings: Mapping[str, Reading], state: Mapping[str, Tensor]) -> None:
        self._readings = readings
        self._rows = {name: deque[Tensor]([state[name]] if name in state else []) for name in readings}

    def add(self, samples: Mapping[str, Samples]) -> None:
        """The samples of one step."""
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
        """For a checkpoint."""
        return {name: torch.cat(list(rows)) for name, rows in self._rows.items() if rows}
