"""Task: the smallest piece of a study, a pure function of its Spec."""

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
Label = str | int | float


@dataclass(frozen=True)
class Result:
    """What a task found."""

    values: Mapping[str, float]
    """Numbers by name, METRIC.PART@REPRESENTATION: the rows of the frame."""
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Curves, matrices and other plain JSON that a figure draws."""
    spent: float = field(default=0.0, compare=False)
    """Seconds of training, in earlier attempts too."""


@dataclass(frozen=True)
class Workspace:
    """Where a task works: nothing here enters what it computes."""

    folder: Path
    """The task's own: pictures and other files go here."""
    runs: Path
    """Training runs by digest, shared by all tasks of the store."""
    threads: int = 1
    """CPU threads this task may use."""

    def run(self, spec: RunSpec) -> Path:
        """Where every task finds a run, and leaves it."""
        return self.runs / f"{spec.name}-{spec.digest()}"


class Task(Spec, ABC, family="task", home="hatchel.studies"):
    """One computation. Equal Specs are one task, whichever studies ask for it; its digest is its identity."""

    seed: int
    """Random seed."""

    @abstractmethod
    def compute(self, workspace: Workspace) -> Result:
        """The result; interrupted and called again it may go on from what it left in its folder."""

    def trainings(self) -> tuple[RunSpec, ...]:
        """The runs it asks for, trained already or not; their seed is the task's."""
        return tuple(run.with_fields(seed=self.seed) for run in self._held(RunSpec))

    def sources(self) -> tuple[Source, ...]:
        return (*self._held(Source), *(run.data for run in self.trainings()))

    def _held(self, kind: type[S]) -> list[S]:
        return [value for f in fields(self) if isinstance(value := getattr(self, f.name), kind)]


@dataclass(frozen=True)
class Case:
    """A task in a study, with its labels there: the columns that tables and figures go by."""

    labels: Mapping[str, Label]
    task: Task
