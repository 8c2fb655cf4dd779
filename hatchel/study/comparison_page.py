"""Comparison page: one self-contained HTML file about several runs, and its figures, a colour for each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hatchel.metrics.score import Score
from hatchel.report.findings import HEADLINES, Findings
from hatchel.report.page import NumberText, rendered
from hatchel.report.panels.curves import SETTLED, curves, settled_range
from hatchel.report.panels.images import strips
from hatchel.report.panels.panel import Drawing, DrawnPanel
from hatchel.report.panels.scores import score_chart
from hatchel.report.pictures import rows_figure, traversal_labels, traversed
from hatchel.report.style import (
    ACCENT,
    LEGEND,
    OTHERS,
    SMALL,
    WIDE,
    bare,
    over_steps,
    small_multiples,
    title,
)
from hatchel.study.comparison import Comparison, Group, best, differences, estimate
from hatchel.study.frame import Frame, select, values
from hatchel.training.events import read_events


@dataclass(frozen=True)
class ScoreRow:
    """A score of all groups."""

    label: str
    meaning: str
    values: tuple[NumberText, ...]


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
        "hatchel.study",
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
        cells = tuple(NumberText.of(_score(p, key), values(p, key), name in marked) for name, p in parts.items())
        rows.append(ScoreRow(label, f"{meaning}; {'lower' if lower else 'higher'} is better", cells))
    return rows


COLOURS = (ACCENT, *OTHERS)
DIMENSIONS = 12
"""Bars of one run."""
ROWS = 6
"""Dimensions traversed of one run."""
RUN = Markup('<div class="run"><h3>{}</h3>\n{}</div>')


def comparison_panels(comparison: Comparison) -> list[DrawnPanel]:
    """Those that there is something to show for."""
    groups = comparison.groups
    drawn = [
        DrawnPanel("chart", "Scores and their intervals", False, _chart(comparison)),
        DrawnPanel("losses", "Loss and terms over the steps", False, _losses(groups)),
        DrawnPanel("information", "Information per dimension", True, _information(groups)),
        DrawnPanel("traversals", "Traversals", True, _traversals(groups)),
    ]
    return [panel for panel in drawn if panel.drawing.figures]


def score_keys(comparison: Comparison) -> dict[str, str]:
    """Scores that a group has, by their names in scores.json, with what they are called: headlines, then R²."""
    parts = [select(comparison.frame, run=group.label) for group in comparison.groups]
    found = {h.key: h.label for h in HEADLINES if any(estimate(part, h.key) for part in parts)}
    return found | {fit.score.name: f"R² {fit.factor}" for g in comparison.groups for fit in g.first.fits}


def _score(group: Frame, key: str) -> Score | None:
    found = estimate(group, key)
    return found and Score(key, found.value, interval=found if found.has_interval else None)


def _chart(comparison: Comparison) -> Drawing:
    lower = {h.key for h in HEADLINES if h.lower_is_better}
    keys = {key: label for key, label in score_keys(comparison).items() if key not in lower}
    if not keys:
        return Drawing({}, "")
    columns: dict[str, list[Score | None]] = {}
    for group in comparison.groups:
        own = select(comparison.frame, run=group.label)
        columns[group.label] = [_score(own, key) for key in keys]
    caption = (
        "Dots are values (means over seeds where there are several), bars 95 % intervals; all lie between 0 and 1, and "
        "higher is better."
    )
    return Drawing({"scores": score_chart(list(keys.values()), columns)}, caption)


def _losses(groups: Sequence[Group]) -> Drawing:
    lines = [
        (curves(read_events(f.run.folder)), COLOURS[i % len(COLOURS)])
        for i, group in enumerate(groups)
        for f in group.members
    ]
    names = list(dict.fromkeys(name for drawn, _ in lines for name in drawn))
    if not names:
        return Drawing({}, "")
    figure, panels = over_steps(len(names), 1.4, margin=0.45)
    for axes, name in zip(panels, names, strict=True):
        settled: list[float] = []
        for drawn, colour in lines:
            if name in drawn:
                steps, values = drawn[name]
                axes.plot(steps, values, color=colour, linewidth=1.2)
                settled += values[steps >= SETTLED * steps[-1]].tolist()
        settled_range(axes, np.array(settled))
        title(axes, name, SMALL)
    handles = [Line2D([], [], color=COLOURS[i % len(COLOURS)], label=g.label) for i, g in enumerate(groups)]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(3, len(groups)), **LEGEND)
    caption = (
        "One line a run. Unweighted batch means in nats per item; the loss itself weighs its terms differently in each "
        "method and is not comparable between methods."
    )
    return Drawing({"losses": figure}, caption)


def _information(groups: Sequence[Group]) -> Drawing:
    members = [(f"{_name(g, f)}", f, COLOURS[i % len(COLOURS)]) for i, g in enumerate(groups) for f in g.members]
    tallest = max(min(DIMENSIONS, len(f.dimensions.order)) for _, f, _ in members)
    widest = max(float(f.dimensions.information.max()) for _, f, _ in members)
    figure, panels = small_multiples(len(members), 3, 0.2 * tallest + 0.6, margin=0, width=WIDE)
    for axes, (name, found, colour) in zip(panels, members, strict=True):
        order = found.dimensions.order[:DIMENSIONS].tolist()
        bare(axes, grid="x")
        axes.barh(range(len(order)), found.dimensions.information[order].clip(0), height=0.68, color=colour)
        axes.set_yticks(range(len(order)), [found.dimensions.label(d) for d in order])
        axes.invert_yaxis()
        axes.set_xlim(0, max(widest, 0.1))
        axes.tick_params(axis="y", length=0)
        title(axes, name)
        axes.set_xlabel("I(x; z_d), nats")
    caption = f"How much each dimension says about the input, on one scale, up to {DIMENSIONS} dimensions a run."
    return Drawing({"information": figure}, caption)


def _traversals(groups: Sequence[Group]) -> Drawing:
    drawn: dict[str, Figure] = {}
    blocks: list[Markup] = []
    for group in groups:
        for found in group.members:
            if not found.pictured:
                continue
            images, counts = traversed(found.run, found, ROWS)
            name = _name(group, found)
            blocks.append(RUN.format(name, strips(found.dimensions, images, counts)))
            drawn[f"traversals {name}"] = rows_figure(images, traversal_labels(found.dimensions, len(images)), counts)
    caption = (
        f"The {ROWS} most informative dimensions of each run, each over the range of that run's own codes, the others "
        "at the code of a typical item."
    )
    return Drawing(drawn, caption, Markup('<div class="beside">{}</div>').format(Markup("\n").join(blocks)))


def _name(group: Group, found: Findings) -> str:
    return f"{group.label}, seed {found.run.spec.seed}"
