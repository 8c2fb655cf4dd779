"""Panels: functions from findings to a drawing, each registered with a title and a place on the page."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure

from hatchel.core.errors import HatchelError
from hatchel.core.plugins import load_installed
from hatchel.report.findings import Findings
from hatchel.report.style import styled, svg


@dataclass(frozen=True)
class Drawing:
    """What a panel shows."""

    figures: Mapping[str, Figure]
    """By file name; the page shows them all unless there is a `body`."""
    caption: str
    body: Markup | None = None
    """HTML of its own, such as images in their own pixels."""

    @property
    def html(self) -> Markup:
        if self.body is not None:
            return self.body
        return Markup("\n").join(Markup(svg(figure, name)) for name, figure in self.figures.items())


Draw = Callable[[Findings], Drawing | None]
"""None where a run has nothing to show."""


@dataclass(frozen=True)
class Panel:
    """A registered function."""

    title: str
    place: int
    """Panels come in ascending order; those below 10 at the top of the page, beside the scores."""
    wide: bool
    """A section of its own, as wide as the page, behind the others."""
    draw: Draw

    def __init_subclass__(cls) -> None:
        raise HatchelError(
            f"{cls.__name__}: a panel is a function now: @panel(title, place=...) above `def draw(found)`"
        )


PANELS: dict[str, Panel] = {}
"""By the function's name."""


def panel(title: str, *, place: int, wide: bool = False) -> Callable[[Draw], Draw]:
    """Register a function as a panel of every report."""

    def register(draw: Draw) -> Draw:
        drawn: Any = styled(draw)
        PANELS[draw.__name__] = Panel(title, place, wide, drawn)
        return drawn

    return register


def all_panels() -> dict[str, Panel]:
    """Every panel by name, plug-ins included, in their order."""
    import hatchel.report.panels as home

    for module in pkgutil.iter_modules(home.__path__):
        importlib.import_module(f"{home.__name__}.{module.name}")
    load_installed()
    return dict(sorted(PANELS.items(), key=lambda item: (item[1].place, item[0])))


@dataclass(frozen=True)
class DrawnPanel:
    """A panel with what it drew."""

    anchor: str
    """Its id on the page."""
    title: str
    wide: bool
    drawing: Drawing
    first: bool = False
    """At the top of the page."""


def draw_panels(found: Findings) -> list[DrawnPanel]:
    """All panels that have something to show, in their order."""
    drawn = [(name, panel, panel.draw(found)) for name, panel in all_panels().items()]
    return [
        DrawnPanel(name.replace("_", "-"), p.title, p.wide, d, p.place < 10) for name, p, d in drawn if d is not None
    ]
