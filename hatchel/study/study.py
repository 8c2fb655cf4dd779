"""Study: a table or figure of a paper, as cells to compute and what to make of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from hatchel.core.errors import HatchelError, unknown
from hatchel.core.spec import Spec
from hatchel.study.store import Entry, Row
from hatchel.study.table import Table

Scale = Literal["smoke", "laptop", "paper"]


@dataclass(frozen=True)
class Claim:
    """Something a paper says, and whether it was seen here."""

    text: str
    """What should be so."""
    holds: bool | None
    """None where the cells do not decide it."""
    evidence: str
    """The numbers, with their intervals."""


class Study(Spec, ABC, family="study", home="hatchel.studies"):
    """Cells by scale; then tables, figures and claims made of their rows alone, so that a report needs no training.

    `smoke` takes seconds and shows that it runs, nothing else; `laptop` has a smaller budget; `paper` the paper's.
    """

    paper: ClassVar[str] = ""
    """Number of the paper here, and of its table or figure."""
    scales: ClassVar[Mapping[Scale, str]] = {}
    """What each scale is, in words: steps, pixels, seeds. Printed beside every result."""

    @abstractmethod
    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """The cells with their labels; `seeds` replaces the scale's own number of them."""

    def tables(self, rows: Sequence[Row]) -> list[Table]:
        """The paper's tables, its own figures beside ours."""
        return []

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """matplotlib figures by name."""
        return {}

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """What the paper claims, held against the rows."""
        return []


def chosen_of(entries: Sequence[Entry], wanted: Sequence[str]) -> list[Entry]:
    """The entries with one of the values that were named for each label: LABEL=VALUE, as many as there are."""
    chosen: dict[str, list[str]] = {}
    for text in wanted:
        label, equals, value = text.partition("=")
        if not equals:
            raise HatchelError(f"--only {text}: expected LABEL=VALUE, such as method=RecurD")
        chosen.setdefault(label, []).append(value)
    for label, values in chosen.items():
        known = list(dict.fromkeys(f"{e.labels[label]}" for e in entries if label in e.labels))
        if not known:
            raise unknown("label", label, {name for e in entries for name in e.labels}, where="--only")
        for value in values:
            if value not in known:
                raise unknown(label, value, known, where="--only")
    found = [e for e in entries if all(f"{e.labels.get(label)}" in values for label, values in chosen.items())]
    if not found:
        raise HatchelError(f"--only {' '.join(wanted)}: no cell has all of these labels")
    return found
