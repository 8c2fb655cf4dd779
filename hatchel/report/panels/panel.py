"""Panel: the family's root. A member looks at findings and draws something, or has nothing to say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from markupsafe import Markup
from matplotlib.figure import Figure

from hatchel.core.spec import Spec
from hatchel.report.findings import Findings
from hatchel.report.style import svg


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
        """For the page."""
        if self.body is not None:
            return self.body
        return Markup("\n").join(Markup(svg(figure, name)) for name, figure in self.figures.items())


class Panel(Spec, ABC, family="panel", home="hatchel.report.panels"):
    """One thing that a report shows."""

    title: ClassVar[str]
    place: ClassVar[int]
    """Panels come in ascending order."""
    wide: ClassVar[bool] = False
    """A section of its own, as wide as the page, behind the others."""

    @abstractmethod
    def draw(self, found: Findings) -> Drawing | None:
        """None where this run has nothing to show."""


@dataclass(frozen=True)
class Shown:
    """A panel with what it drew."""

    anchor: str
    """Its id on the page."""
    title: str
    wide: bool
    drawing: Drawing


def shown(found: Findings) -> list[Shown]:
    """All panels that have something to show, plug-ins included, in their order."""
    members = sorted(Panel.members().values(), key=lambda m: (m.place, m.kind))
    drawn = [(member, member().draw(found)) for member in members]
    return [Shown(m.kind.replace("_", "-"), m.title, m.wide, d) for m, d in drawn if d is not None]
