"""Comparison: the commonest study, methods side by side on the same data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hatchel.data.source import Source
from hatchel.study.budget import Budget, sprites
from hatchel.study.contrast import agreement, differences, joined, wins
from hatchel.study.store import Entry, Label, Row
from hatchel.study.study import Scale, Study
from hatchel.study.table import Column, Table, table


@dataclass(frozen=True)
class Variant:
    """A line of the table: a method with its symbols, and where its run or its cell differs from the others'."""

    labels: Mapping[str, Label]
    method: str
    symbols: Mapping[str, Any] = field(default_factory=dict[str, Any])
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    measure: Mapping[str, Any] = field(default_factory=dict[str, Any])
    data: Source | None = None


class Comparison(Study, ABC):
    """Trains every variant with every seed: a table of all columns, a box plot of each, one against another."""

    budgets: ClassVar[Mapping[Scale, Budget]]
    columns: ClassVar[tuple[Column, ...]]
    """What the table shows."""
    trade: ClassVar[tuple[str, str] | None] = ("reconstruction", "mig")
    """Two values drawn against each other; the second is the score by which methods are held against each other."""
    contrast: ClassVar[str] = "method"
    """The label whose values are held against its first."""

    @abstractmethod
    def variants(self, scale: Scale) -> list[Variant]:
        """The lines of the table."""

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """Each variant, each seed."""
        result: list[Entry] = []
        for v in self.variants(scale):
            source = v.data or sprites(scale)
            cells = self.budgets[scale].cells(
                v.method, source, seeds, symbols=v.symbols, fields=v.fields, measure=v.measure
            )
            result += [Entry(v.labels, cell) for cell in cells]
        return result

    def tables(self, rows: Sequence[Row]) -> list[Table]:
        """One, by all labels; then each method less the first."""
        by = list(dict.fromkeys(label for row in rows for label in row.labels))
        found = differences(rows, self.contrast, self.columns, self.score)
        return [table(self.title(), rows, by, self.columns), *([found] if found else [])]

    @property
    def score(self) -> str:
        """What methods are judged by."""
        return self.trade[1] if self.trade else "mig"

    def title(self) -> str:
        """Over the table."""
        return "Mean over seeds with a 95 % interval"

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """A box plot for each column, the trade-off, who wins, and which scores agree."""
        from hatchel.study import figures

        named = [Row({"": joined(r)}, r.seed, r.digest, r.values, r.details, r.seconds) for r in rows]
        result: dict[str, Any] = {}
        for column in self.columns:
            if any(column.name in r.values for r in named):
                published = {" · ".join(str(x) for x in key): value for key, value in column.published.items()}
                result[column.heading] = figures.boxes(named, column.name, "", column.heading, published)
        headings = {c.name: c.heading for c in self.columns}
        if self.trade and all(any(t in r.values for r in named) for t in self.trade):
            x, y = self.trade
            shown = (headings.get(x, x), headings.get(y, y))
            result[f"{shown[0]} against {shown[1]}"] = figures.scatter(named, x, y, "", shown)
        result |= wins(rows, self.score, headings.get(self.score, self.score))
        return result | agreement(rows, headings)
