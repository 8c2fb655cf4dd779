"""Recipe: a method's name and changes to its symbols and to any field of the run, made into a RunSpec."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from hatchel.core.errors import HatchelError
from hatchel.core.spec import to_dict
from hatchel.data.source import Source
from hatchel.methods.resolve import Change, default_of, holds_list, method_named, resolve
from hatchel.study.store import Label
from hatchel.training.spec import RunSpec

__all__ = ["Change", "default_of", "described", "labelled", "options_of"]


def described(method: str, data: Source, changes: Sequence[Change], where: str = "") -> RunSpec:
    """The run of a method on data; later changes win."""
    for change in changes:
        if change.field == "seed":
            raise HatchelError(f"{change.where}.seed: comes from `seeds`; leave it out")
    return resolve(method, data, changes, where=where)


def options_of(method: str, field: str, value: Any, where: str = "") -> list[Any]:
    """The values a field is to take: a list is a choice, but where the field itself holds a list, a list of lists is.

    >>> options_of("beta_vae", "beta", [1, 4]), options_of("de_vae", "betas", [1, 10, 40])
    ([1, 4], [[1, 10, 40]])
    """
    if not isinstance(value, list | tuple):
        return [value]
    values = list(cast(Sequence[Any], value))
    if not values:
        raise HatchelError(f"{where}.{field}: the grid is empty; it needs at least one value")
    nested = all(isinstance(v, list | tuple) for v in values)
    return values if nested or not (method_named(method, where) and holds_list(method, field)) else [values]


def labelled(value: Any) -> Label:
    """A value as a label: numbers stay numbers, so that a figure can have them along an axis.

    >>> labelled("1e-4"), labelled([1, 10]), labelled({"kind": "split", "width": 8}), labelled(True)
    (0.0001, '1, 10', 'split(width=8)', 'true')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return value
    plain = to_dict(value)
    if isinstance(plain, list):
        return ", ".join(str(labelled(v)) for v in cast(list[Any], plain))
    if isinstance(plain, dict):
        body = {str(k): v for k, v in cast(dict[Any, Any], plain).items()}
        kind = str(body.pop("kind", ""))
        inner = ", ".join(f"{k}={labelled(v)}" for k, v in body.items())
        return f"{kind}({inner})" if inner else kind
    try:
        return float(plain)
    except (TypeError, ValueError):
        return str(plain)
