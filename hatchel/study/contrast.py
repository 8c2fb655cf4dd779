"""Contrast: methods against each other, over the seeds they share; and scores against each other, over all runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hatchel.metrics.metric import Metric
from hatchel.metrics.statistics import paired_difference, probability_of_improvement, rank_correlation
from hatchel.study.cells.trained import metric_of
from hatchel.study.rows import Measured, column, groups, paired
from hatchel.study.store import Label, Row
from hatchel.study.table import Column, Line, Table

RUNS = 6
"""Without which a rank correlation says nothing."""


def differences(rows: Sequence[Row], over: str, columns: Sequence[Column], score: str) -> Table | None:
    """Every value of a label less the first one, paired over the seeds; None where no two seeds are shared.

    The last column is the probability that a run of it has a better `score` than a run of the first.
    """
    labels = list(dict.fromkeys(label for row in rows for label in row.labels))
    others = [label for label in labels if label != over]
    first = rows[0].labels.get(over, "")
    found: dict[tuple[Label, ...], dict[str, Measured | None]] = {}
    for rest, group in groups(rows, *others).items():
        members = {key: part for (key,), part in groups(group, over).items()}
        reference = members.pop(first, [])
        for key, own in members.items():
            named: dict[str, Label] = {**dict(zip(others, rest, strict=True)), over: key}
            measured = {c.name: _difference(own, reference, c.name) for c in columns}
            if any(measured.values()):
                found[tuple(named[n] for n in labels)] = {**measured, "": probability(own, reference, score)}
    if not found:
        return None
    heading = next((c.heading for c in columns if c.name == score), score)
    shown = [replace(c, published={}) for c in columns if any(line[c.name] for line in found.values())]
    shown.append(Column("", f"P(better {heading})", digits=2))
    lines = [Line(key, tuple(line[c.name] for c in shown), (None,) * len(shown)) for key, line in found.items()]
    return Table(f"Difference from {first}, paired over seeds", tuple(labels), tuple(shown), tuple(lines))


def probability(first: Sequence[Row], second: Sequence[Row], score: str) -> Measured | None:
    """That a run of the first has a better score than a run of the second; None below two runs of each."""
    a, b = column(first, score), column(second, score)
    if min(len(a), len(b)) < 2:
        return None
    metric = Metric.members().get(metric_of(score))
    sign = -1 if metric and metric.lower_is_better else 1
    found = probability_of_improvement([sign * v for v in a], [sign * v for v in b])
    return Measured(found.value, found.interval.low, found.interval.high, min(len(a), len(b)))


def wins(rows: Sequence[Row], score: str, heading: str) -> dict[str, Any]:
    """A figure for each data set: the probability that a run of the line has a better score than one of the column."""
    from hatchel.study.figures import heat

    drawn: dict[str, Any] = {}
    for ending, group in _by_data(rows):
        found: dict[str, list[Row]] = {}
        for row in group:
            found.setdefault(joined(row), []).append(row)
        lines = {name: members for name, members in found.items() if len(column(members, score)) > 1}
        if len(lines) > 2:  # of two, the table of differences says it
            better = {(a, b): probability(lines[a], lines[b], score) for a in lines for b in lines if a != b}
            matrix = [[m.value if (m := better.get((a, b))) else None for b in lines] for a in lines]
            name = f"Probability of a better {heading}, line against column{ending}"
            drawn[name] = heat(matrix, list(lines), list(lines))
    return drawn


def agreement(rows: Sequence[Row], headings: Mapping[str, str]) -> dict[str, Any]:
    """A figure for each data set: Spearman's rank correlation of scores over all its runs (Locatello et al. 2019)."""
    from hatchel.study.figures import heat

    drawn: dict[str, Any] = {}
    for ending, group in _by_data(rows):
        # What most runs lack, such as the score of a layer that one method has, would leave the others out.
        counts = {name: sum(name in row.values for row in group) for name in headings}
        present = {name: text for name, text in headings.items() if 2 * counts[name] > len(group)}
        whole = [row for row in group if all(name in row.values for name in present)]
        if len(present) > 2 and len(whole) >= RUNS:
            found = rank_correlation({name: [row.values[name] for row in whole] for name in present})
            matrix = np.where(np.eye(len(present)) > 0, np.nan, found.matrix).tolist()
            texts = list(present.values())
            drawn[f"Rank correlation of the scores over {found.runs} runs{ending}"] = heat(matrix, texts, texts)
    return drawn


def joined(row: Row) -> str:
    """All labels of a row in one."""
    return " · ".join(f"{v:g}" if isinstance(v, float) else str(v) for v in row.labels.values())


def _by_data(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """Rows of each data set, without that label, and what to add to a name: scores on two of them do not compare."""
    found = groups(rows, "data")
    return [
        (f", {data}" if len(found) > 1 else "", [replace(r, labels=_without(r.labels, "data")) for r in group])
        for (data,), group in found.items()
    ]


def _without(labels: Mapping[str, Label], name: str) -> dict[str, Label]:
    return {label: value for label, value in labels.items() if label != name}


def _difference(first: Sequence[Row], second: Sequence[Row], name: str) -> Measured | None:
    pairs = paired(first, second, name)
    if len(pairs) < 2:
        return None
    found = paired_difference([a for a, _ in pairs], [b for _, b in pairs])
    return Measured(found.value, found.interval.low, found.interval.high, len(pairs))
