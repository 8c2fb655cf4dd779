"""The page of a discovery: the directions along which the data vary, how sure that is, and what was tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from hatchel.core.files import write_bytes, write_json, write_text
from hatchel.core.progress import duration
from hatchel.metrics._udr import rank_correlations
from hatchel.report.findings import Findings, analyse
from hatchel.report.page import rendered, write_report
from hatchel.report.pictures import mosaic, moved, stops, traversed, typical
from hatchel.report.style import ACCENT, OTHERS, WIDE, bare, new_figure, pixels_uri, png, styled, svg
from hatchel.study.discover import Discovery, Standing
from hatchel.study.figures import name_apart
from hatchel.training.run import TrainedRun

SURE, UNSURE = 0.8, 0.5
"""Mean rank correlation with the nearest coordinate of each other seed's model: found again, or not."""
COLUMNS = 5
"""Of a table, those that a direction moves most."""


@dataclass(frozen=True)
class Direction:
    """One coordinate of the chosen model."""

    name: str
    information: float
    """I(x; z_d), in nats."""
    agreement: float
    """Mean over the other seeds of the largest rank correlation with one of their coordinates."""
    follows: str = ""
    """The factor that it stands for, where there are labels; these were not used."""
    picture: str = ""
    moves: str = ""
    """Of a table, what it does to the columns."""

    @property
    def sure(self) -> str:
        return "found by every seed" if self.agreement >= SURE else "unsure" if self.agreement >= UNSURE else "doubtful"


@dataclass(frozen=True)
class Discovered:
    """What is told at the end."""

    directions: tuple[Direction, ...]
    chosen: Standing
    run: Path
    page: Path


def write_discovery(discovery: Discovery) -> Discovered:
    """Choose the run, measure it, and write discover.html, discover.json and the run's own report."""
    standings = discovery.plan.rounds[-1]
    best = standings[0]
    seed = int(np.argmax(best.agreement))
    folder = discovery.folder_of(best.label, seed, best.steps)
    run = TrainedRun.load(folder, step=best.steps, data=discovery.loaded)
    found = analyse(run, items=3_000, bootstrap=0)
    seeds = range(len(best.agreement))
    own, *others = (discovery.codes(best.label, s, best.steps) for s in (seed, *(s for s in seeds if s != seed)))
    directions = tuple(_directions(found, agreement_by_coordinate(own, others)))
    write_report(found, folder / "report.html")
    page = discovery.folder / "discover.html"
    figure = trade_off(discovery.plan.rounds)
    labelled = bool(best.mig)
    write_text(page, rendered("discover.html.j2", {
        "title": f"What varies in {run.data.name}", "directions": directions, "best": best, "standings": standings,
        "tried": [s for ranked in reversed(discovery.plan.rounds) for s in ranked], "labelled": labelled,
        "figure": Markup(svg(figure, "trade")), "run": folder, "report": (folder / "report.html").resolve().as_uri(),
        "time": duration(discovery.plan.spent), "minutes": discovery.minutes, "sure": SURE,
        "rows": not found.pictured, "rounds": len(discovery.plan.rounds),
    }, "hatchel.study"))  # fmt: skip
    write_bytes(discovery.folder / "trade-off.png", png(figure))
    write_json(discovery.folder / "discover.json", {
        "directions": [{k: v for k, v in vars(d).items() if k != "picture"} for d in directions],
        "chosen": best.label, "run": str(folder), "seconds": discovery.plan.spent,
        "rounds": [[vars(s) | {"score": s.score} for s in ranked] for ranked in discovery.plan.rounds],
    })  # fmt: skip
    return Discovered(directions, best, folder, page)


def agreement_by_coordinate(own: NDArray[Any], others: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    """(D,): the mean over the others of the largest |rank correlation| with one of their coordinates.

    >>> z = np.random.default_rng(0).normal(size=(500, 2))
    >>> agreement_by_coordinate(z, [-z[:, ::-1] ** 3]).round(6).tolist()
    [1.0, 1.0]
    """
    return np.mean([rank_correlations(own, other).max(axis=1) for other in others], axis=0)


def _directions(found: Findings, agreement: NDArray[np.float64]) -> list[Direction]:
    dimensions = found.dimensions
    order = [d for d in dimensions.order.tolist() if d in dimensions.active]
    images, counts = traversed(found.run, found, len(order)) if found.pictured and order else (None, [])
    made: list[Direction] = []
    for row, d in enumerate(order):
        picture = "" if images is None else pixels_uri(mosaic(images[row : row + 1], counts=[counts[row]]))
        sure = float(np.mean([agreement[c] for c in dimensions.sites[d].columns]))
        moves = "" if found.pictured else _moves(found, d)
        made.append(
            Direction(
                dimensions.name(d), float(dimensions.information[d]), sure, dimensions.follows(d) or "", picture, moves
            )
        )
    return made


def _moves(found: Findings, d: int) -> str:
    """What a coordinate does to the columns of a table, from one end of its range to the other."""
    start = typical(found.encoded.mean, found.dimensions)
    ends = found.run.decode(moved(start, found.dimensions, d, stops(found.dimensions, d)[[0, -1]]))
    spread = found.run.data.images(found.encoded.items).std(axis=0)
    change = (ends[1] - ends[0]) / np.maximum(spread, 1e-12)
    names = [c.name for c in found.run.data.columns for _ in range(c.width)]
    largest = np.argsort(-np.abs(change))[:COLUMNS]
    return ", ".join(f"{names[i]} {change[i]:+.1f} sd" for i in largest if abs(change[i]) > 0.1)


@styled
def trade_off(rounds: Sequence[Sequence[Standing]]) -> Any:
    """Agreement against what is explained: a line a candidate, from round to round, named where it ended."""
    figure = new_figure(3.8, WIDE)
    axes = bare(figure.subplots(), grid="both")
    ways: dict[str, list[tuple[float, float]]] = {}
    for ranked in rounds:
        for s in ranked:
            ways.setdefault(s.label, []).append((float(np.mean(s.explained)), float(np.mean(s.agreement))))
    last = [s.label for s in rounds[-1]]
    for label, points in ways.items():
        colour = ACCENT if label == last[0] else OTHERS[0]
        axes.plot(*zip(*points, strict=True), "o-", color=colour, markersize=4, linewidth=0.8, alpha=0.5)
        axes.plot(*points[-1], "o", color=colour, markersize=9 if label in last else 5)
    axes.set(xlabel="share of the variance that is reconstructed", ylabel="agreement between seeds (UDR)")
    axes.margins(0.08)
    name_apart(axes, [(f"{k} (chosen)" if k == last[0] else k, *points[-1]) for k, points in ways.items()])
    return figure
