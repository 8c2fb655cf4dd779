"""Pairs: what a critic compares when the joint is not of latent sites but of the features of two layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from hatchel.errors import HatchelError
from hatchel.trace import Posterior

Layers = tuple[tuple[int, int], tuple[int, int]]
"""Members and their width, of the left and of the right layer."""
CODE = "z"
"""The name of the last layer: the drawn code."""


@dataclass(frozen=True)
class Pairs:
    """Every pair (i, j), i != j, of a member of one layer and a member of another; in one layer each pair once."""

    left: str
    """A feature of the encoder, (B, members, ...), or `CODE`."""
    right: str
    shared: bool = True
    """One network for all of these pairs, which is told the pair; else one for each."""
    pooled: bool = True
    """Maps are averaged over space; else flattened."""
    together: int = 1
    """Sites of the code that make one member."""

    def index(self, left: int, right: int) -> Tensor:
        """The pairs, for so many members: (P, 2)."""
        pairs = torch.cartesian_prod(torch.arange(left), torch.arange(right))
        i, j = pairs.unbind(1)
        return pairs[i < j] if self.left == self.right else pairs[i != j]

    def members(self, name: str, q: Posterior, z: Tensor, features: Mapping[str, Tensor]) -> Tensor:
        """Those of the layer of that name: (B, members, width)."""
        if name == CODE:
            sites = q.whole
            blocks = [sites[k : k + self.together] for k in range(0, len(sites), self.together)]
            columns = [q.columns(z, block) for block in blocks]
            width = max(c.shape[1] for c in columns)
            # A narrow member is filled up with zeros, which say nothing.
            return torch.stack([F.pad(c, (0, width - c.shape[1])) for c in columns], 1)
        if name not in features:
            raise HatchelError(
                f"this encoder has no feature {name} (it has {', '.join(features) or 'none'}); set encoder=recursive, "
                "deep enough to have it, or leave `modules` out for pairs of the code alone"
            )
        feature = features[name]
        if feature.ndim < 3:
            raise HatchelError(f"the feature {name} has no members to pair: its shape is {tuple(feature.shape[1:])}")
        flat = feature.flatten(3) if feature.ndim > 3 else feature[..., None]
        # A mean's gradient would be written out as a map; a sum's is the small gradient seen once for each place.
        return flat.sum(3) / flat.shape[3] if self.pooled else flat.flatten(2)
