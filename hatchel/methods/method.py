"""The family of methods: a paper is a small Spec whose fields are the paper's parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from hatchel.core.spec import Spec
from hatchel.objective.objective import Weighted
from hatchel.objective.term import Term

Terms = Mapping[str, Term | Weighted]
"""Names and terms; a bare term has weight 1."""
Parts = Mapping[str, Any]
"""Fields of RunSpec by name."""


class Method(Spec, ABC, family="method", home="hatchel.methods"):
    """A method by its paper's name and parameters; `hatchel.methods.resolve` makes a run of it.

    A parameter that is a number of training steps is declared with `in_steps(default=...)`, one that adds up from step
    to step with `per_step(default=...)`: a training shorter than `paper_steps` shortens them in proportion.
    """

    paper: ClassVar[str]
    """Authors and year."""
    verified: ClassVar[str]
    """What a test or a study of this project checked of it."""
    paper_steps: ClassVar[int] = 300_000
    """Steps of the paper's own training, which its schedules are made for."""
    shorthands: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Other names of parameters: {"target": ("weight.target",)}."""

    @abstractmethod
    def terms(self) -> Terms:
        """The objective."""

    def parts(self) -> Parts:
        """Fields of RunSpec in which the paper differs from the defaults."""
        return {}
