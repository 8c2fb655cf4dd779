"""The frame: what a study's tasks found as one tidy pandas table, a row for every value.

Columns: study, scale, task (its digest), seed; the study's labels by their names (`label.NAME` where another column has
that name); metric, which is BASE.PART@REPRESENTATION as in the records, and the three apart (part is empty for the
score itself, representation is `mean` for the posterior means); value; low, high and n of its interval, where the
record has one; seconds, which the task took; details, the task's curves and matrices (the same object in all its rows).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from hatchel.core.estimate import Estimate
from hatchel.study.statistics import mean_of
from hatchel.study.task import Label

if TYPE_CHECKING:
    Frame = Any  # pandas brings no types: a checker would take every selection for any of five things
else:
    Frame = pd.DataFrame

KEYS = ("study", "scale", "task", "seed")
MEASURED = ("metric", "base", "part", "representation", "value", "low", "high", "n", "seconds", "details")
RESERVED = {*KEYS, *MEASURED}
NAME = re.compile(r"(?P<base>[^@.(]+(?:\([^)]*\))?)(?:\.(?P<part>[A-Za-z_][^@]*))?(?:@(?P<representation>.+))?")


def split_name(name: str) -> tuple[str, str, str]:
    """Base, part and representation of a value.

    >>> split_name("dci.completeness@sample"), split_name("disintegration(by=r2)"), split_name("accuracy 0.2")
    (('dci', 'completeness', 'sample'), ('disintegration(by=r2)', '', 'mean'), ('accuracy 0.2', '', 'mean'))
    """
    found = NAME.fullmatch(name)
    return (found["base"], found["part"] or "", found["representation"] or "mean") if found else (name, "", "mean")


def build(
    records: Iterable[tuple[Mapping[str, Label], int, Mapping[str, Any]]], study: str = "", scale: str = ""
) -> Frame:
    """The frame of (labels, seed, record) triples; a record is what the store keeps of a task."""
    body: list[dict[str, Any]] = []
    for labels, seed, record in records:
        head = {"study": study, "scale": scale, "task": record["digest"], "seed": seed}
        head |= {column(label): value for label, value in labels.items()}
        tail = {"seconds": float(record.get("seconds", 0.0)), "details": record.get("details", {})}
        intervals = record.get("intervals", {})
        for name, value in record["values"].items():
            base, part, representation = split_name(name)
            low, high, n = intervals.get(name, (float("nan"), float("nan"), 0))
            body.append(
                {**head, "metric": name, "base": base, "part": part, "representation": representation,
                 "value": float(value), "low": low, "high": high, "n": n, **tail}
            )  # fmt: skip
    labels = list(dict.fromkeys(c for row in body for c in row if c not in RESERVED))
    made = pd.DataFrame(body, columns=pd.Index([*KEYS, *labels, *MEASURED]))
    for name in labels:  # numbers stay Python's own, and a label that a task lacks is empty
        made[name] = pd.Series([row.get(name, "") for row in body], dtype=object)
    return made


def column(label: str) -> str:
    """The column of a label."""
    return f"label.{label}" if label in RESERVED else label


def labels_of(frame: Frame) -> list[str]:
    """The study's labels."""
    return [str(c).removeprefix("label.") for c in frame.columns if c not in RESERVED]


def select(frame: Frame, **labels: Label) -> Frame:
    """The rows with these labels."""
    for label, value in labels.items():
        name = column(label)
        frame = frame[frame[name] == value] if name in frame else frame.iloc[:0]
    return frame


def groups(frame: Frame, *labels: str) -> dict[tuple[Label, ...], Frame]:
    """Rows by the values of some labels, in the order in which they first come."""
    known = [column(label) for label in labels if column(label) in frame]
    if not known:
        return {("",) * len(labels): frame} if len(frame) else {}
    found: dict[tuple[Label, ...], Frame] = {}
    for key, rows in frame.groupby(known, sort=False):
        values = dict(zip(known, cast(tuple[Label, ...], key), strict=True))
        found[tuple(values.get(column(label), "") for label in labels)] = rows
    return found


def values(frame: Frame, name: str) -> list[float]:
    """One value of every task that has it, by seed."""
    return frame[frame["metric"] == name].sort_values("seed", kind="stable")["value"].tolist()


def estimate(frame: Frame, name: str) -> Estimate | None:
    """The mean of a value over the tasks, with a 95 % interval over seeds; None where no task has it."""
    found = values(frame, name)
    return mean_of(found) if found else None


def paired(first: Frame, second: Frame, name: str) -> list[tuple[float, float]]:
    """A value of the first and of the second, for every seed of both."""
    found = (frame[frame["metric"] == name] for frame in (first, second))
    a, b = (dict(zip(rows["seed"], rows["value"], strict=True)) for rows in found)
    return [(a[seed], b[seed]) for seed in sorted(a.keys() & b.keys())]


def tasks(frame: Frame) -> Frame:
    """One row for each task: its labels, seed, seconds and details."""
    return frame.drop_duplicates(["task", *map(column, labels_of(frame))]).drop(columns=[*MEASURED[:-2]])


def wide(frame: Frame, names: Iterable[str]) -> Frame:
    """One row for each task, with these values as columns; NaN where a task lacks one."""
    chosen = [*names]
    result = tasks(frame)
    keys = ["task", *map(column, labels_of(frame))]
    for name in chosen:
        found = frame[frame["metric"] == name][[*keys, "value"]].rename(columns={"value": name})
        result = result.merge(found, on=keys, how="left")
    return result


def with_value(frame: Frame, name: str, of: Callable[[Any], float], names: Iterable[str] = ()) -> Frame:
    """The frame with one more value of each task: `of` its row of `wide(frame, names)`."""
    rows = wide(frame, names)
    base, part, representation = split_name(name)
    new = rows[[c for c in frame.columns if c in rows]].assign(
        metric=name, base=base, part=part, representation=representation, low=float("nan"), high=float("nan"), n=0,
        value=[of(row) for _, row in rows.iterrows()],
    )  # fmt: skip
    return pd.concat([frame, new[frame.columns]], ignore_index=True)
