"""Table: what was measured, with the paper's figure beside it; as Markdown, LaTeX or plain rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hatchel.study.rows import Measured, groups, measured
from hatchel.study.store import Label, Row


@dataclass(frozen=True)
class Column:
    """A value of the records."""

    name: str
    """Its name there."""
    heading: str
    published: Mapping[tuple[Label, ...], float] = field(default_factory=dict[tuple[Label, ...], float])
    """The paper's own figures, by the labels of the line; shown as the paper's."""
    digits: int = 3


@dataclass(frozen=True)
class Line:
    """A line: its labels, then for each column ours and the paper's."""

    labels: tuple[Label, ...]
    ours: tuple[Measured | None, ...]
    paper: tuple[float | None, ...]


@dataclass(frozen=True)
class Table:
    """Lines by labels; the mean over seeds with a 95 % bootstrap interval."""

    title: str
    by: tuple[str, ...]
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]

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

    def cells(self) -> list[list[str]]:
        """As text; a dash where nothing was measured or published."""
        result: list[list[str]] = []
        for line in self.lines:
            texts = [f"{label:g}" if isinstance(label, float) else str(label) for label in line.labels]
            for column, ours, paper in zip(self.columns, line.ours, line.paper, strict=True):
                texts.append(ours.text(column.digits) if ours else "–")
                if column.published:
                    texts.append("–" if paper is None else f"{paper:.{column.digits}f}")
            result.append([*texts, str(max((m.seeds for m in line.ours if m), default=0))])
        return result

    def markdown(self) -> str:
        """For a README or a page of docs."""
        head, *body = [
            f"| {' | '.join(t.replace('|', chr(92) + '|') for t in row)} |" for row in (self.headings, *self.cells())
        ]
        return "\n".join([head, f"|{' --- |' * len(self.headings)}", *body])

    def latex(self) -> str:
        """A booktabs tabular."""
        rows = [self.headings, *self.cells()]
        head, *body = [" & ".join(_escaped(t) for t in row) + r" \\" for row in rows]
        form = "l" * len(self.by) + "r" * (len(self.headings) - len(self.by))
        return "\n".join(
            [rf"\begin{{tabular}}{{{form}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
        )


def table(title: str, rows: Sequence[Row], by: Sequence[str], columns: Sequence[Column]) -> Table:
    """A line for every combination of the labels."""
    lines = [
        Line(key, tuple(measured(group, c.name) for c in columns), tuple(c.published.get(key) for c in columns))
        for key, group in groups(rows, *by).items()
    ]
    return Table(title, tuple(by), tuple(columns), tuple(lines))


LATEX = str.maketrans(
    {sign: f"\\{sign}" for sign in "&%_#${}"}
    | {sign: f"${sign}$" for sign in "<>|"}
    | {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}", "–": "--", "²": "$^2$", "±": r"$\pm$", "·": r"$\cdot$"}
)


def _escaped(text: str) -> str:
    return text.translate(LATEX)
