"""Rows of a study: grouped by their labels, and what the seeds of a group say together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hatchel.metrics.statistics import over_seeds
from hatchel.study.store import Label, Row


@dataclass(frozen=True)
class Measured:
    """The mean over seeds with its bootstrap interval, which one seed alone does not have."""

    value: float
    low: float | None
    high: float | None
    seeds: int

    def text(self, digits: int = 3) -> str:
        """As a table shows it.

        >>> Measured(0.25, 0.2, 0.31, 3).text(), Measured(0.25, None, None, 1).text(2)
        ('0.250 [0.200, 0.310]', '0.25')

        What no seed changes, such as a closed form, has no interval to show.

        >>> Measured(0.25, 0.25, 0.25, 3).text()
        '0.250'
        """
        if self.low is None or self.high is None or math.isclose(self.low, self.high, rel_tol=1e-9):
            return f"{self.value:.{digits}f}"
        return f"{self.value:.{digits}f} [{self.low:.{digits}f}, {self.high:.{digits}f}]"


def groups(rows: Iterable[Row], *labels: str) -> dict[tuple[Label, ...], list[Row]]:
    """Rows by the values of some labels, in the order in which they first come."""
    result: dict[tuple[Label, ...], list[Row]] = {}
    for row in rows:
        result.setdefault(tuple(row.labels.get(label, "") for label in labels), []).append(row)
    return result


def where(rows: Iterable[Row], **labels: Label) -> list[Row]:
    """The rows with these labels."""
    return [r for r in rows if all(r.labels.get(k) == v for k, v in labels.items())]


def column(rows: Iterable[Row], name: str) -> list[float]:
    """One value of every row that has it, by seed."""
    return [r.values[name] for r in sorted(rows, key=lambda r: r.seed) if name in r.values]


def paired(first: Iterable[Row], second: Iterable[Row], name: str, beside: str = "") -> list[tuple[float, float]]:
    """A value of the first and one of the second (of the same name, if no other is said), for every seed of both."""
    a = {r.seed: r.values[name] for r in first if name in r.values}
    b = {r.seed: r.values[beside or name] for r in second if (beside or name) in r.values}
    return [(a[seed], b[seed]) for seed in sorted(a.keys() & b.keys())]


def measured(rows: Sequence[Row], name: str) -> Measured | None:
    """The mean of a value over the rows, with a 95 % bootstrap interval over seeds; None where no row has it."""
    values = column(rows, name)
    if len(values) < 2:
        return Measured(values[0], None, None, 1) if values else None
    found = over_seeds(values)
    return Measured(found.value, found.interval.low, found.interval.high, len(values))
