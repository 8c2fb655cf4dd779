"""The family of methods: a paper is a preset, a small Spec whose fields are the paper's symbols."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from hatchel.core.spec import Spec, from_dict
from hatchel.data.source import Source
from hatchel.objective.objective import Weighted
from hatchel.objective.term import Term
from hatchel.training.spec import RunSpec

Terms = Mapping[str, Term | Weighted]
"""Names and terms; a bare term has weight 1."""
Parts = Mapping[str, Any]
"""Fields of RunSpec by name."""


class Method(Spec, ABC, family="method", home="hatchel.methods"):
    """A method by its paper's name and symbols."""

    paper: ClassVar[str]
    """Authors, year, and the number of the paper here, if any."""
    verified: ClassVar[str]
    """What a test or a study of this project checked of it."""

    @abstractmethod
    def terms(self) -> Terms:
        """The objective."""

    def parts(self) -> Parts:
        """Fields of RunSpec in which the paper differs from the defaults."""
        return {}

    def run(self, data: Source) -> RunSpec:
        """The whole run."""
        return from_dict(RunSpec, {"name": self.kind, "data": data, "objective": self.terms(), **self.parts()})


def preset(name: str, /, *, data: str | Source = "dsprites", **fields: Any) -> RunSpec:
    """The run that a method stands for, with some of its symbols set: `preset("factor_vae", gamma=10)`."""
    method = from_dict(Method, {"kind": name, **fields})
    source = data if isinstance(data, Source) else from_dict(Source, data, "data")
    return method.run(source)
