"""Column: how one column of a table lies in a row of encoded values, and what likelihood it asks for."""

from __future__ import annotations

from typing import Literal

from hatchel.core.spec import Count, Spec


class Column(Spec):
    """One column of a table after encoding."""

    name: str
    "As in the table's header."
    kind_of: Literal["gaussian", "bernoulli", "categorical"]
    "gaussian: a scaled number; bernoulli: 0 or 1; categorical: one-hot."
    width: Count = 1
    "How many encoded values it takes in a row."
    mean: float = 0.0
    "What was subtracted from a gaussian column."
    scale: float = 1.0
    "What a gaussian column was divided by."
    values: tuple[str, ...] = ()
    "What the encoded values of a bernoulli or categorical column stand for."
