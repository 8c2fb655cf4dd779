"""Comparison page: one self-contained HTML file about several runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hatchel.core.files import write_text
from hatchel.report.comparison import Comparison, Entry, Group, best, differences, entry
from hatchel.report.comparison_figures import comparison_panels, score_keys
from hatchel.report.findings import HEADLINES
from hatchel.report.page import checked_file, rendered
from hatchel.report.panels.panel import DrawnPanel


@dataclass(frozen=True)
class Value:
    """A number of a group as text."""

    value: str
    interval: str
    each: str
    """Run by run, where there are several."""
    best: bool

    @classmethod
    def of(cls, found: Entry | None, best: bool) -> Value:
        """Three decimals, or a dash."""
        if found is None:
            return cls("–", "", "", False)
        ends = found.interval
        each = ", ".join(f"{v:.3f}" for v in found.each) if len(found.each) > 1 else ""
        return cls(f"{found.value:.3f}", f"{ends.low:.3f} – {ends.high:.3f}" if ends else "", each, best)


@dataclass(frozen=True)
class Row:
    """A score of all groups."""

    label: str
    meaning: str
    values: tuple[Value, ...]


def write_comparison(comparison: Comparison, path: Path) -> Path:
    """Write the page in one rename; the path."""
    checked_file(path)
    write_text(path, comparison_page(comparison))
    return path


def comparison_page(comparison: Comparison, panels: Sequence[DrawnPanel] | None = None) -> str:
    """The page's text. `panels`: already drawn ones."""
    groups = comparison.groups
    names = list(dict.fromkeys(g.first.run.data.name for g in groups))
    count = sum(len(g.members) for g in groups)
    return rendered(
        "comparison.html.j2",
        {
            "title": f"{count} runs on {' and '.join(names)}",
            "groups": groups,
            "runs": [run_line(g) for g in groups],
            "rows": score_rows(groups),
            "one_data": comparison.one_data,
            "intervals": any(e.interval for g in groups for e in [entry(g, "tc_mean")] if e),
            "seeds": any(len(g.members) > 1 for g in groups),
            "pairs": [g.label for g in groups if len(g.members) == 2],
            "items": groups[0].first.probe.n,
            "panels": comparison_panels(comparison) if panels is None else panels,
            "differences": differences(groups),
        },
    )


def run_line(group: Group) -> str:
    """Data, seeds, steps and what was minimised."""
    run = group.first.run
    seeds = ", ".join(map(str, group.seeds))
    word = "seed" if len(group.seeds) == 1 else "seeds"
    done = f"{run.steps:,}" if run.steps == run.spec.steps else f"{run.steps:,} of {run.spec.steps:,}"
    return f"{run.data.name}, {word} {seeds}, {done} steps, batch {run.spec.batch_size}: {run.spec.formula()}"


def score_rows(groups: Sequence[Group]) -> list[Row]:
    """Headlines, then R² of the factors; the best is marked where intervals do not overlap."""
    known = {h.key: h for h in HEADLINES}
    data = [g.fingerprint for g in groups]
    rows: list[Row] = []
    for key, label in score_keys(groups).items():
        lower = key in known and known[key].lower_is_better
        meaning = known[key].meaning if key in known else "of the factor and the one dimension that explains it best"
        entries = [entry(g, key) for g in groups]
        marks = best(entries, data, lower)
        values = tuple(Value.of(e, mark) for e, mark in zip(entries, marks, strict=True))
        rows.append(Row(label, f"{meaning}; {'lower' if lower else 'higher'} is better", values))
    return rows
