"""Cell: the smallest piece of a study, a pure function of its Spec."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from hatchel.core.spec import Spec
from hatchel.data.source import Source
from hatchel.training.spec import RunSpec

S = TypeVar("S", bound=Spec)


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

    def run(self, spec: RunSpec) -> Path:
        """Where every cell finds a run, and leaves it."""
        return self.runs / f"{spec.name}-{spec.digest()}"


class Cell(Spec, ABC, family="cell", home="hatchel.study.cells"):
    """One computation. Equal Specs are one cell, whichever studies ask for it; its digest is its identity."""

    seed: int
    """Of everything random in it."""

    @abstractmethod
    def compute(self, place: Place) -> Record:
        """The record; interrupted and called again it may go on from what it left in its folder."""

    def trainings(self) -> tuple[RunSpec, ...]:
        """The runs it asks for, trained already or not; their seed is the cell's."""
        return tuple(run.with_fields(seed=self.seed) for run in self._held(RunSpec))

    def sources(self) -> tuple[Source, ...]:
        """The data that it needs."""
        return (*self._held(Source), *(run.data for run in self.trainings()))

    def seconds(self) -> float | None:
        """How long the rest of it will take, from a short calibration; None where that is too short to matter."""
        return None

    def _held(self, kind: type[S]) -> list[S]:
        """Those of its fields that are of this kind."""
        return [value for f in fields(self) if isinstance(value := getattr(self, f.name), kind)]
