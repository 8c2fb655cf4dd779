"""The family of methods: a paper is a preset, a small Spec whose fields are the paper's symbols."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from hatchel.data.source import Source
from hatchel.objective import Weighted
from hatchel.spec import Spec, decode
from hatchel.terms.term import Term
from hatchel.training.spec import RunSpec

Terms = Mapping[str, Term | Weighted]
"""Names and terms; a bare term has weight 1."""
Parts = Mapping[str, Any]
"""Fields of RunSpec by name."""


class Preset(Spec, ABC, family="method", home="hatchel.presets"):
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
        return decode(RunSpec, {"name": self.kind, "data": data, "objective": self.terms(), **self.parts()})


def preset(name: str, /, *, data: str | Source = "dsprites", **fields: Any) -> RunSpec:
    """The run that a method stands for, with some of its symbols set: `preset("factor_vae", gamma=10)`."""
    method = decode(Preset, {"kind": name, **fields})
    source = data if isinstance(data, Source) else decode(Source, data, "data")
    return method.run(source)
