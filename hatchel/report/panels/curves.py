"""Curves: the loss and its terms, and the mutual information with each factor, over training."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file

from hatchel.metrics.information import Float
from hatchel.metrics.probe import Probe
from hatchel.objective.independent import blind_critics
from hatchel.report.dimensions import Dimensions
from hatchel.report.findings import Findings
from hatchel.report.panels.panel import Drawing, panel
from hatchel.report.style import ACCENT, INK, LEGEND, OTHERS, SMALL, over_steps, title
from hatchel.training.checkpoint import checkpoints
from hatchel.training.events import read_events
from hatchel.training.model import System

ITEMS = 3000
"""Encoded at each checkpoint."""
LINES = 3
"""Dimensions that have a colour and a name: those that know most at the end."""
LETTERS = 40
"""Of a title over half a figure; a longer one would run into its neighbour."""
SETTLED = 0.05
"""The share of a run after which the range of a curve is read: the first steps are off any useful scale."""


@panel("Loss and terms over the steps", place=60)
def losses(found: Findings) -> Drawing | None:
    """What training reported of itself."""
    events = read_events(found.run.folder) if found.run.steps else []
    if not events:
        return None
    symbols = {name: entry.term.symbol() for name, entry in found.run.spec.objective.items()}
    first = f"the first {SETTLED:.0%} of the steps may leave the frame"
    caption = f"Unweighted batch means in nats per item; {first}."
    return Drawing({"losses": losses_figure(events, symbols)}, caption)


def curves(events: Sequence[Mapping[str, Any]]) -> dict[str, tuple[Float, Float]]:
    """The loss, its terms and the critics by name, each as (steps, values); a value that was not finite is NaN."""
    seen = dict.fromkeys(name for event in events for name in event)
    names = [n for n in seen if n == "loss" or n.startswith(("term/", "critic/"))]
    return {name.removeprefix("term/"): _curve(events, name) for name in names}


def _curve(events: Sequence[Mapping[str, Any]], name: str) -> tuple[Float, Float]:
    points = [(e["step"], math.nan if e[name] is None else e[name]) for e in events if name in e]
    steps, values = np.array(points, dtype=np.float64).reshape(-1, 2).T
    return steps, values


def losses_figure(events: Sequence[Mapping[str, Any]], symbols: Mapping[str, str]) -> Figure:
    """The loss and every term over the steps, a panel each; `symbols` says what a term's name stands for."""
    drawn = curves(events)
    figure, panels = over_steps(len(drawn), 1.3, margin=0.25)
    for axes, (name, (steps, values)) in zip(panels, drawn.items(), strict=True):
        alone = "o" if len(steps) == 1 else None  # a line needs two points
        axes.plot(
            steps, values, color=INK if name == "loss" else ACCENT, linewidth=1.3, marker=alone, clip_on=not alone
        )
        axes.set_xlim(0, steps[-1])
        settled_range(axes, values[steps >= SETTLED * steps[-1]])
        text = textwrap.shorten(f"{name} = {symbols[name]}" if name in symbols else name, LETTERS, placeholder=" …")
        title(axes, text, SMALL)
    return figure


def settled_range(axes: Axes, values: Float) -> None:
    """Show the range of these values, with a margin; nothing where none is finite."""
    finite = values[np.isfinite(values)]
    if len(finite):
        margin = max(0.08 * np.ptp(finite), 1e-3 * abs(finite).max(), 1e-9)
        axes.set_ylim(finite.min() - margin, finite.max() + margin)


@panel("Critics over the steps", place=62)
def critics(found: Findings) -> Drawing | None:
    """What each critic read, and an independent reading of the same."""
    events = read_events(found.run.folder) if found.run.steps else []
    drawn = readings(events)
    if not drawn:
        return None
    caption = (
        "What each critic read, and the same quantity without a network, from its recent samples: of codes the total "
        "correlation as if they were Gaussian, of features a lower bound of their information by histograms. Nats."
    )
    blind = [f"{line[0].upper()}{line[1:]}." for line in blind_critics(events)]
    return Drawing({"critics": critics_figure(drawn)}, " ".join([caption, *blind]))


def readings(events: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, tuple[Float, Float]]]:
    """For each critic that has both, what it `read` and an `independent` reading, each as (steps, values)."""
    names = dict.fromkeys(n.partition("/")[2] for event in events for n in event if n.startswith("independent/"))
    return {
        n: {"read": _curve(events, f"reading/{n}"), "independent": _curve(events, f"independent/{n}")} for n in names
    }


def critics_figure(drawn: Mapping[str, Mapping[str, tuple[Float, Float]]]) -> Figure:
    """A panel a critic with its reading and the independent one."""
    figure, panels = over_steps(len(drawn), 1.3, margin=0.25)
    for axes, (name, lines) in zip(panels, drawn.items(), strict=True):
        for (label, (steps, values)), colour in zip(lines.items(), (ACCENT, INK), strict=True):
            axes.plot(steps, values, color=colour, linewidth=1.3, label=label)
        axes.legend(loc="best", **LEGEND)
        title(axes, name, SMALL)
    return figure


@panel("Information over training", place=61)
def diffusion(found: Findings) -> Drawing | None:
    """How the information about each factor moves between dimensions while the run trains."""
    if found.dimensions.shares is None or not found.run.steps or not len(found.probe.varying):
        return None
    shares = information_over_steps(found)
    kept = [step for step in shares.steps.tolist() if step]
    caption = (
        f"I(z_d; v_k) / H(v_k) at the steps of which weights are at hand: 0 (rebuilt from the seed) and the kept "
        f"checkpoints, {', '.join(f'{s:,}' for s in kept)}"
    )
    caption += (
        "; older ones were not kept, so the way between is not known (keep_checkpoints=20 keeps more). "
        if len(kept) <= 2
        else ". "
    )
    caption += f"In colour: the {LINES} dimensions that know most of a factor at the end."
    terms = information_terms(found)
    if terms:
        caption += " Last: the information terms of the loss at every logged step, in nats."
    return Drawing({"information_over_training": diffusion_figure(found.dimensions, shares, terms)}, caption)


@dataclass(frozen=True)
class Shares:
    """I(z_d; v_k) / H(v_k) at several steps."""

    steps: NDArray[np.int64]  # (T,)
    values: Float  # (T, S, K)


def information_over_steps(found: Findings) -> Shares:
    """At the initial weights, every readable checkpoint and the run itself, on the same items."""
    run = found.run
    system = run.spec.build(run.shape)
    rows = slice(None, None, max(1, math.ceil(found.probe.n / ITEMS)))
    items = found.encoded.items[rows]
    values = {0: _shares(found, _means(found, system, items, 0), items)}
    for place in reversed(checkpoints(run.folder)):
        step = int(place.name.removeprefix("step-"))
        if step < run.steps and _filled(system, place):
            values[step] = _shares(found, _means(found, system, items, step), items)
    values[run.steps] = _shares(found, found.encoded.mean[rows], items)
    return Shares(np.array(list(values)), np.stack(list(values.values())))


def information_terms(found: Findings) -> Mapping[str, tuple[Float, Float]]:
    """The curves of the loss's terms other than the reconstruction's."""
    kinds = {name: weighted.term.kind for name, weighted in found.run.spec.objective.items()}
    drawn = curves(read_events(found.run.folder))
    return {name: line for name, line in drawn.items() if kinds.get(name, "reconstruction") != "reconstruction"}


def _filled(system: System, place: Path) -> bool:
    """Whether the weights of a checkpoint could be read."""
    try:
        system.load_state_dict(load_file(str(place / "model.safetensors")))
    except (SafetensorError, OSError, RuntimeError):  # damaged, or of another shape: the others are still shown
        return False
    return True


def _means(found: Findings, system: System, items: NDArray[np.int64], step: int) -> NDArray[np.float32]:
    read = found.run.data.reader("cpu")
    model = system.model.cpu().eval()
    with torch.inference_mode():
        means = [model.encode(read(part), step)[0].mean for part in torch.from_numpy(items).split(512)]
    return torch.cat(means).numpy()


def _shares(found: Findings, codes: NDArray[np.float32], items: NDArray[np.int64]) -> Float:
    space, factors = found.run.data.space, found.run.data.factors(items)
    assert space is not None
    probe = Probe(codes, factors, names=space.names, continuous=False, seed=found.probe.seed)
    shares = Dimensions.of(probe, found.dimensions.information, found.dimensions.sites).shares
    assert shares is not None
    return shares


def diffusion_figure(dimensions: Dimensions, shares: Shares, terms: Mapping[str, tuple[Float, Float]]) -> Figure:
    """A panel a factor, a line a dimension; then the terms."""
    varying = [k for k in range(len(dimensions.factors)) if not np.isnan(shares.values[-1, :, k]).all()]
    figure, panels = over_steps(len(varying) + bool(terms), 1.5, margin=0.2)
    legend = dict(LEGEND) | {"fontsize": SMALL - 1, "handlelength": 1.0}
    for axes, k in zip(panels, varying, strict=False):
        order = np.argsort(-shares.values[-1, :, k], kind="stable").tolist()
        for d in order[LINES:]:
            axes.plot(shares.steps, shares.values[:, d, k], color=INK, alpha=0.25, linewidth=0.8)
        for d, colour in zip(order[:LINES], (ACCENT, *OTHERS[1:]), strict=False):
            axes.plot(shares.steps, shares.values[:, d, k], "o-", color=colour, linewidth=1.4, markersize=2.5,
                      label=dimensions.name(d))  # fmt: skip
        axes.legend(loc="upper left", **legend)
        axes.set_ylim(0, max(0.1, 1.35 * float(np.nanmax(shares.values[:, :, k]))))
        title(axes, dimensions.factors[k], SMALL)
    if terms:
        for (name, (steps, values)), colour in zip(terms.items(), (ACCENT, *OTHERS), strict=False):
            panels[-1].plot(steps, values, color=colour, linewidth=1.2, label=name)
        panels[-1].legend(loc="best", **legend)
        title(panels[-1], "terms of the loss, nats", SMALL)
    return figure
