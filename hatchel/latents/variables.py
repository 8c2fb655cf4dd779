"""Variables: what the groups of a mixed latent are made of, and how they nest."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated

from annotated_types import Ge

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count, Spec
from hatchel.latents.layout import Partition


class Variable(Spec, ABC, family="variable", home="hatchel.latents.variables"):
    """A group of latent sites, or a group of such groups."""

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, ...]:
        """How many numbers of the code each site takes: 1 for a Gaussian coordinate, K for K classes."""

    @property
    def depth(self) -> int:
        """How often it can be taken apart into named parts."""
        return 0

    def blocks(self, depth: int, first: int) -> Partition:
        """Its parts `depth` levels down, its own sites numbered from `first`."""
        return (tuple(range(first, first + len(self.sizes))),)


class Gaussian(Variable):
    """Real coordinates with normal posteriors: two parameters each, mean and log-variance."""

    dim: Count = 10
    """How many."""

    @property
    def sizes(self) -> tuple[int, ...]:
        return (1,) * self.dim


class Concrete(Variable):
    """Discrete variables, relaxed: K parameters each, unnormalised log-probabilities."""

    classes: Annotated[int, Ge(2)] = 10
    """K."""
    count: Count = 1
    """How many such variables the group has."""

    @property
    def sizes(self) -> tuple[int, ...]:
        return (self.classes,) * self.count


class Group(Variable):
    """Named parts, to nest deeper: `Group({"shape": Gaussian(4), "colour": Gaussian(3)})`."""

    parts: Mapping[str, Variable] = dataclasses.field(default_factory=lambda: {"a": Gaussian(2), "b": Gaussian(2)})
    """Sites come in alphabetical order of the names, so that the order in a file does not matter."""

    def check(self) -> None:
        if not self.parts:
            raise HatchelError("parts: a group needs at least one part")

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(size for _, part in in_order(self.parts) for size in part.sizes)

    @property
    def depth(self) -> int:
        return 1 + max(part.depth for part in self.parts.values())

    def blocks(self, depth: int, first: int) -> Partition:
        return super().blocks(0, first) if depth == 0 else partition(self.parts, depth - 1, first)


def in_order(parts: Mapping[str, Variable]) -> list[tuple[str, Variable]]:
    """By name."""
    return sorted(parts.items())


def partition(parts: Mapping[str, Variable], depth: int, first: int = 0) -> Partition:
    """The blocks of named parts, `depth` levels further down.

    >>> parts = {"what": Group({"class": Concrete(3), "size": Gaussian(2)}), "where": Gaussian(2)}
    >>> partition(parts, 0), partition(parts, 1)
    (((0, 1, 2), (3, 4)), ((0,), (1, 2), (3, 4)))
    """
    found: Partition = ()
    for _, part in in_order(parts):
        found += part.blocks(depth, first)
        first += len(part.sizes)
    return found
