"""Layout: the sites of a latent, where each lies in z, and how they group; known without running a network."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hatchel.core.cached import cached, remembered
from hatchel.core.errors import HatchelError

LARGEST = 100_000
"""Coordinates of a latent: far more than any data need, and still quickly listed."""
Block = tuple[int, ...]
"""Sites taken together, by number."""
Partition = tuple[Block, ...]
"""Disjoint blocks; every divergence of the field compares a joint with a product over a partition."""

NEEDS_REAL = "needs real coordinates and this latent has discrete sites; set latent=diagonal"
"""The end of the answer to what a discrete site cannot have."""
LAYERED = (
    "of layers drawn one given another a part has a density only together with all layers above it; set latent=diagonal"
)
"""The end of the answer to what a part of such layers cannot have."""


@dataclass(frozen=True)
class Site:
    """One real coordinate, or one whole discrete variable."""

    name: str
    """`z3`; in a latent of named groups `z12 style`, or `z0-9 class` for a variable of ten classes."""
    columns: tuple[int, ...]
    """Its columns of z: one for a real coordinate, K for K classes."""
    group: str = "z"

    @property
    def discrete(self) -> bool:
        """Whether it is a class and not a real coordinate."""
        return len(self.columns) > 1

    @property
    def classes(self) -> int:
        """K; 0 of a real coordinate."""
        return len(self.columns) if self.discrete else 0


@dataclass(frozen=True)
class Layout:
    """The sites of a latent in the order of z's columns, and the partitions of them that terms compare.

    >>> layout = Layout.of({"class": (3,), "style": (1, 1)})
    >>> [site.name for site in layout.sites], layout.groups
    (['z0-2 class', 'z3 style', 'z4 style'], ((0,), (1, 2)))
    >>> layout.columns((0, 2)), layout.real
    ([0, 1, 2, 4], [3, 4])
    """

    sites: tuple[Site, ...]
    nesting: tuple[Partition, ...]
    """The groups, then their parts, and so on: each partition refines the one before it."""
    levels: int = 1
    """Spaces of a hierarchy, each of which has these sites."""
    layered: bool = False
    """Whether each group is a layer that is drawn given the groups before it."""
    closed_kl: bool = True
    """Whether KL(q(z|x) || p(z)) is a sum over sites in closed form, for the posteriors and the prior of the latent."""

    given_class: bool = False
    """Whether the real coordinates are drawn given the class, so that alone they have no density given x."""

    @staticmethod
    def of(
        groups: Mapping[str, Sequence[int]],
        nesting: tuple[Partition, ...] = (),
        *,
        layered: bool = False,
        closed_kl: bool = True,
        given_class: bool = False,
    ) -> Layout:
        """From how many columns each site of each named group has; `nesting` left out: the groups have no parts."""
        sites: list[Site] = []
        blocks: list[Block] = []
        column, plain = 0, list(groups) == ["z"]
        for group, sizes in groups.items():
            blocks.append(tuple(range(len(sites), len(sites) + len(sizes))))
            for size in sizes:
                place = f"z{column}" if size == 1 else f"z{column}-{column + size - 1}"
                sites.append(Site(place if plain else f"{place} {group}", tuple(range(column, column + size)), group))
                column += size
        return Layout(
            tuple(sites), nesting or (tuple(blocks),), layered=layered, closed_kl=closed_kl, given_class=given_class
        )

    @property
    def groups(self) -> Partition:
        """The named groups; one with all sites where the latent has no finer structure."""
        return self.nesting[0]

    @cached
    def names(self) -> tuple[str, ...]:
        return tuple(self.sites[group[0]].group for group in self.groups)

    @cached
    def whole(self) -> Block:
        return tuple(range(len(self.sites)))

    @cached
    def singles(self) -> Partition:
        """Every site by itself."""
        return tuple((s,) for s in self.whole)

    @cached
    def width(self) -> int:
        """D, how many columns z has."""
        return sum(len(site.columns) for site in self.sites)

    @cached
    def coordinates(self) -> Block:
        """The sites that are real coordinates."""
        return tuple(s for s, site in enumerate(self.sites) if not site.discrete)

    @cached
    def discrete(self) -> Block:
        """The sites that are classes."""
        return tuple(s for s, site in enumerate(self.sites) if site.discrete)

    @cached
    def real(self) -> list[int]:
        """The columns of z that hold real coordinates."""
        return self.columns(self.coordinates)

    @cached
    def numbers(self) -> dict[int, int]:
        """The sites that are real coordinates, numbered among themselves."""
        return {s: i for i, s in enumerate(self.coordinates)}

    @cached
    def runs(self) -> tuple[Block, ...]:
        """The sites in order, in runs of real coordinates or of classes."""
        return tuple(tuple(run) for _, run in itertools.groupby(self.whole, self.numbers.__contains__))

    @cached
    def starts(self) -> list[int]:
        """Where each site's numbers begin among an encoder's that gives two for a coordinate and K for K classes."""
        return [0, *itertools.accumulate(site.classes or 2 for site in self.sites)]

    @property
    def continuous(self) -> bool:
        """Whether every site is a real coordinate (moments and covariances then mean something)."""
        return not self.discrete

    def columns(self, block: Block) -> list[int]:
        """The columns of z of some sites."""
        return list(block) if self.continuous else [c for s in block for c in self.sites[s].columns]

    def group(self, name: str) -> Block:
        return self.groups[self.names.index(name)]

    def has_marginal(self, block: Block) -> bool:
        """Whether `log_prob` of a block is a marginal density, of a posterior as of the prior.

        Of layers drawn one given another, only that of a block with all layers above its lowest; else it is
        conditional.
        """
        if not self.layered:
            return True
        lowest = max(i for i, group in enumerate(self.groups) if set(group) & set(block))
        return all(set(group) <= set(block) for group in self.groups[:lowest])


@remembered(64)
def plain_layout(dim: int) -> Layout:
    """Of `dim` real coordinates in one group."""
    if dim > LARGEST:
        raise HatchelError(f"dim: at most {LARGEST:,} coordinates, got {dim}")
    return Layout.of({"z": (1,) * dim})
