"""Comparison page: one self-contained HTML file about several runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hatchel.core.estimate import Estimate
from hatchel.report.findings import HEADLINES
from hatchel.report.panels.panel import DrawnPanel
from hatchel.study.comparison import Comparison, Group, best, differences, estimate
from hatchel.study.comparison_figures import comparison_panels, score_keys
from hatchel.study.frame import select, values
from hatchel.study.report import rendered


@dataclass(frozen=True)
class Value:
    """A number of a group as text."""

    value: str
    interval: str
    each: str
    """Run by run, where there are several."""
    best: bool

    @classmethod
    def of(cls, found: Estimate | None, runs: Sequence[float], best: bool) -> Value:
        """Three decimals, or a dash."""
        if found is None:
            return cls("–", "", "", False)
        each = ", ".join(f"{v:.3f}" for v in runs) if len(runs) > 1 else ""
        ends = f"{found.low:.3f} – {found.high:.3f}" if found.has_interval else ""
        return cls(f"{found.value:.3f}", ends, each, best)


@dataclass(frozen=True)
class ScoreRow:
    """A score of all groups."""

    label: str
    meaning: str
    values: tuple[Value, ...]


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
            "rows": score_rows(comparison),
            "one_data": comparison.one_data,
            "intervals": bool(comparison.frame["low"].notna().any()),
            "seeds": any(len(g.members) > 1 for g in groups),
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


def score_rows(comparison: Comparison) -> list[ScoreRow]:
    """Headlines, then R² of the factors; one that beats all others on the same data is marked."""
    known = {h.key: h for h in HEADLINES}
    rows: list[ScoreRow] = []
    for key, label in score_keys(comparison).items():
        lower = key in known and known[key].lower_is_better
        meaning = known[key].meaning if key in known else "of the factor and the one dimension that explains it best"
        marked = best(comparison.frame, key, lower)
        parts = {g.label: select(comparison.frame, run=g.label) for g in comparison.groups}
        cells = tuple(Value.of(estimate(p, key), values(p, key), name in marked) for name, p in parts.items())
        rows.append(ScoreRow(label, f"{meaning}; {'lower' if lower else 'higher'} is better", cells))
    return rows
