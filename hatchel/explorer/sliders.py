"""Sliders: what the page offers for each site, a slider for a real coordinate, a row of buttons for a class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hatchel.report.dimensions import Dimensions

REACH = 100.0
"""How many widths of its range beyond the middle a real coordinate may be sent: further out are typing mistakes."""


@dataclass(frozen=True)
class Slider:
    """One latent site: its columns of the code, the range of the data there, its information and its factor."""

    name: str
    columns: tuple[int, ...]
    """One for a real coordinate, one per class for a discrete variable."""
    low: float
    high: float
    information: float
    """I(x; site) in nats."""
    follows: str | None = None
    """The factor it carries most of, if that is enough for a name."""
    active: bool = True

    @property
    def real(self) -> bool:
        """A coordinate, not a choice of classes."""
        return len(self.columns) == 1

    @property
    def bounds(self) -> tuple[float, float]:
        """What a request may ask for.

        >>> Slider("z0", (0,), -1, 1, 0.5).bounds
        (-200.0, 200.0)
        """
        if not self.real:
            return 0.0, 1.0
        middle, width = (self.low + self.high) / 2, max(self.high - self.low, 1.0)
        return middle - REACH * width, middle + REACH * width

    def to_dict(self) -> dict[str, Any]:
        return vars(self) | {"columns": list(self.columns)}


def sliders(dimensions: Dimensions) -> tuple[Slider, ...]:
    """Of every site, the most informative first: the report's names, ranges and factors."""
    found: list[Slider] = []
    for d in dimensions.order.tolist():
        low, high = float(dimensions.low[d]), float(dimensions.high[d])
        if high - low < 1e-3:  # a dead coordinate still needs a slider that can be moved
            low, high = low - 0.5, high + 0.5
        found.append(
            Slider(
                dimensions.name(d),
                dimensions.sites[d].columns,
                low,
                high,
                float(dimensions.information[d]),
                dimensions.follows(d),
                d in dimensions.active,
            )
        )
    return tuple(found)
