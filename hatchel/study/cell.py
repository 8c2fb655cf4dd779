"""Cell: the smallest piece of a study, a pure function of its Spec."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hatchel.spec import Spec


@dataclass(frozen=True)
class Record:
    """What a cell found."""

    values: Mapping[str, float]
    """Numbers by name: the columns of tables and figures."""
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Curves, matrices and other plain JSON that a figure draws."""


@dataclass(frozen=True)
class Place:
    """Where a cell works: nothing here enters what it computes."""

    folder: Path
    """The cell's own: pictures and other files go here."""
    runs: Path
    """Training runs by digest, shared by all cells of the store."""
    threads: int = 1
    """CPU threads this cell may use."""


class Cell(Spec, ABC, family="cell", home="hatchel.study.cells"):
    """One computation. Equal Specs are one cell, whichever studies ask for it; its digest is its identity."""

    seed: int
    """Of everything random in it."""

    @abstractmethod
    def compute(self, place: Place) -> Record:
        """The record; interrupted and called again it may go on from what it left in its folder."""

    def seconds(self, threads: int = 1) -> float | None:
        """How long it will take, from a short calibration; None where it is too short to matter."""
        return None
