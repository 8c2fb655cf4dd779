"""Named layers in a row, and the two ways an encoder reads its numbers off them."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from hatchel.nets.grid import ToRow
from hatchel.nets.part import Classes, Encoded


class Stack(nn.Module):
    """Layers in a row that can be asked for by name."""

    def __init__(self, layers: Mapping[str, nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleDict(dict(layers))

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        """What each layer says about x: references to values that the backward pass keeps anyway."""
        features: dict[str, Tensor] = {}
        for name, layer in self.layers.items():
            x = layer(x)
            features[name] = x
        return features


class Headed(nn.Module):
    """A stack whose last layer gives the numbers of every site."""

    def __init__(self, layers: Mapping[str, nn.Module], head: nn.Module) -> None:
        super().__init__()
        self.stack = Stack(layers)
        self.head = head

    def forward(self, x: Tensor) -> Encoded:
        """The numbers of q(z|x) and the layers on the way."""
        features = self.stack(x)
        return Encoded(self.head(next(reversed(features.values()), x)), features)


class Branched(nn.Module):
    """A stack whose last layer gives the real sites; the one before gives the discrete ones."""

    index: Tensor

    def __init__(
        self,
        layers: Mapping[str, nn.Module],
        sizes: tuple[int, int],  # values in the last layer but one, and in the last
        widths: tuple[int, ...],
    ) -> None:
        super().__init__()
        *trunk, before, last = layers
        others = sum(w for w in widths if isinstance(w, Classes))
        # Without a real site nothing would read the last layer.
        names = [*trunk, before, last] if others < sum(widths) else [*trunk, before]
        self.stack = Stack({name: layers[name] for name in names})
        self.before, self.last = before, last
        self.side = nn.Sequential(ToRow(), nn.Linear(sizes[0], others)) if others else None
        self.head = nn.Linear(sizes[1], sum(widths) - others) if others < sum(widths) else None
        self.register_buffer("index", _order(widths, others), persistent=False)

    def forward(self, x: Tensor) -> Encoded:
        """The numbers of q(z|x), site by site, and the layers on the way."""
        features = self.stack(x)
        parts: list[Tensor] = []
        if self.side is not None:
            parts.append(self.side(features[self.before]))
        if self.head is not None:
            parts.append(self.head(features[self.last]))
        return Encoded(torch.cat(parts, 1).index_select(1, self.index), features)


def _order(widths: tuple[int, ...], others: int) -> Tensor:
    """Where each site's numbers stand when those of the side branch come first."""
    side, head = 0, others
    order: list[int] = []
    for width in widths:
        discrete = isinstance(width, Classes)
        start = side if discrete else head
        order.extend(range(start, start + width))
        head, side = (head, side + width) if discrete else (head + width, side)
    return torch.tensor(order)
