"""Table: what was measured, with the paper's figure beside it; as Markdown, LaTeX or plain rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hatchel.core.estimate import Estimate
from hatchel.metrics.metric import Metric
from hatchel.study.frame import Frame, estimate, groups, labels_of, paired, split_name, values
from hatchel.study.statistics import paired_difference, probability_of_improvement
from hatchel.study.task import Label


@dataclass(frozen=True)
class Column:
    """A value of the frame."""

    name: str
    """The frame's `metric`: BASE.PART@REPRESENTATION."""
    heading: str
    published: Mapping[tuple[Label, ...], float] = field(default_factory=dict[tuple[Label, ...], float])
    """The paper's own figures, by the labels of the row; shown as the paper's."""
    digits: int = 3


@dataclass(frozen=True)
class TableRow:
    """Its labels, then for each column ours and the paper's."""

    labels: tuple[Label, ...]
    ours: tuple[Estimate | None, ...]
    paper: tuple[float | None, ...]


@dataclass(frozen=True)
class Table:
    """Rows by labels; the mean over seeds with a 95 % interval."""

    title: str
    by: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]

    @property
    def headings(self) -> list[str]:
        """Of all columns; a paper's own only where it has figures."""
        result = list(self.by)
        for column in self.columns:
            result += [column.heading, f"{column.heading} (paper)"] if column.published else [column.heading]
        return [*result, "seeds"]

    @property
    def sides(self) -> list[str]:
        """What each column of the text is: `label`, `ours`, `paper` or `seeds`."""
        result = ["label"] * len(self.by)
        for column in self.columns:
            result += ["ours", "paper"] if column.published else ["ours"]
        return [*result, "seeds"]

    def texts(self) -> list[list[str]]:
        """A dash where nothing was measured or published."""
        result: list[list[str]] = []
        for row in self.rows:
            texts = [f"{label:g}" if isinstance(label, float) else str(label) for label in row.labels]
            for column, ours, paper in zip(self.columns, row.ours, row.paper, strict=True):
                texts.append(shown(ours, column.digits))
                if column.published:
                    texts.append("–" if paper is None else f"{paper:.{column.digits}f}")
            result.append([*texts, str(max((e.n for e in row.ours if e), default=0))])
        return result

    def markdown(self) -> str:
        """For a README or a page of docs."""
        head, *body = [
            f"| {' | '.join(t.replace('|', chr(92) + '|') for t in row)} |" for row in (self.headings, *self.texts())
        ]
        return "\n".join([head, f"|{' --- |' * len(self.headings)}", *body])

    def latex(self) -> str:
        head, *body = [" & ".join(t.translate(LATEX) for t in row) + r" \\" for row in (self.headings, *self.texts())]
        form = "l" * len(self.by) + "r" * (len(self.headings) - len(self.by))
        return "\n".join(
            [rf"\begin{{tabular}}{{{form}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
        )


LATEX = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%_#${}"}
    | {sign: f"${sign}$" for sign in "<>|"}
    | {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}", "–": "--", "²": "$^2$", "±": r"$\pm$", "·": r"$\cdot$"}
)


def shown(found: Estimate | None, digits: int = 3) -> str:
    """An estimate as a table shows it: what no seed changes, such as a closed form, has no interval to show.

    >>> shown(Estimate(0.25, 0.2, 0.31, 3)), shown(Estimate(0.25, n=1), 2), shown(Estimate(0.25, 0.25, 0.25, 3))
    ('0.250 [0.200, 0.310]', '0.25', '0.250')
    """
    if found is None:
        return "–"
    constant = math.isclose(found.low, found.high, rel_tol=1e-9)
    return f"{found.value:.{digits}f}" if constant else found.format(digits)


def table(title: str, frame: Frame, by: Sequence[str], columns: Sequence[Column]) -> Table:
    """A row for every combination of the labels."""
    rows = [
        TableRow(key, tuple(estimate(group, c.name) for c in columns), tuple(c.published.get(key) for c in columns))
        for key, group in groups(frame, *by).items()
    ]
    return Table(title, tuple(by), tuple(columns), tuple(rows))


def differences(frame: Frame, over: str, columns: Sequence[Column], score: str) -> Table | None:
    """Every value of a label less the first one, paired over the seeds; None where no two seeds are shared.

    The last column is the probability that a run of it has a better `score` than a run of the first.
    """
    labels = labels_of(frame)
    others = [label for label in labels if label != over]
    first = next(iter(groups(frame, over)))[0]
    found: dict[tuple[Label, ...], dict[str, Estimate | None]] = {}
    for rest, group in groups(frame, *others).items():
        members = {key: part for (key,), part in groups(group, over).items()}
        reference = members.pop(first, frame.iloc[:0])
        for key, own in members.items():
            named: dict[str, Label] = {**dict(zip(others, rest, strict=True)), over: key}
            measured = {c.name: difference(own, reference, c.name) for c in columns}
            if any(measured.values()):
                found[tuple(named[n] for n in labels)] = {**measured, "": probability(own, reference, score)}
    if not found:
        return None
    heading = next((c.heading for c in columns if c.name == score), score)
    kept = [replace(c, published={}) for c in columns if any(row[c.name] for row in found.values())]
    kept.append(Column("", f"P(better {heading})", digits=2))
    rows = [TableRow(key, tuple(row[c.name] for c in kept), (None,) * len(kept)) for key, row in found.items()]
    return Table(f"Difference from {first}, paired over seeds", tuple(labels), tuple(kept), tuple(rows))


def difference(first: Frame, second: Frame, name: str) -> Estimate | None:
    """A value of the first less that of the second, paired over seeds; None below two of them."""
    pairs = paired(first, second, name)
    return paired_difference([a for a, _ in pairs], [b for _, b in pairs]) if len(pairs) > 1 else None


def probability(first: Frame, second: Frame, score: str) -> Estimate | None:
    """That a run of the first has a better score than a run of the second; None below two runs of each."""
    a, b = values(first, score), values(second, score)
    if min(len(a), len(b)) < 2:
        return None
    metric = Metric.members().get(kind_of(score))
    sign = -1 if metric and metric.lower_is_better else 1
    found = probability_of_improvement([sign * v for v in a], [sign * v for v in b])
    return replace(found, n=min(len(a), len(b)))


def kind_of(name: str) -> str:
    """The kind of metric behind a value of the frame.

    >>> kind_of("dci.completeness@sample"), kind_of("disintegration(by=r2)")
    ('dci', 'disintegration')
    """
    return split_name(name)[0].partition("(")[0]
