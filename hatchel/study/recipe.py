"""Recipe: a method's name and changes to its symbols and to any field of the run, made into a RunSpec."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from hatchel.core.errors import HatchelError, unknown
from hatchel.core.spec import from_dict, to_dict, updated
from hatchel.data.source import Source
from hatchel.methods.method import Method
from hatchel.study.store import Label
from hatchel.training.spec import RunSpec


@dataclass(frozen=True)
class Change:
    """A field and its value, and the place that asks for it, which an error names."""

    field: str
    value: Any
    where: str = ""


def described(method: str, data: Source, changes: Sequence[Change], where: str = "") -> RunSpec:
    """The run of a method on data; later changes win. A key is one of the method's symbols, or a field of the run."""
    member = _method(method, where)
    symbols = [f.name for f in dataclasses.fields(member)]
    fields = [f.name for f in dataclasses.fields(RunSpec)]
    for change in changes:
        if change.field == "seed":
            raise HatchelError(f"{change.where}.seed: comes from `seeds`; leave it out")
        if change.field not in symbols and change.field.split(".")[0] not in fields:
            place = change.where if change.where == where else f"{change.where} (for {method})"
            raise unknown("field", change.field, [*symbols, *fields], where=place)
    own = {c.field: c for c in changes if c.field in symbols}
    rest = [c for c in changes if c.field not in symbols]
    try:
        made = from_dict(Method, {"kind": method, **{k: c.value for k, c in own.items()}}).run(data)
        return updated(made, _in_order(rest))
    except HatchelError as error:
        raise _placed(member, data, own, rest, error) from None


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
    return values if nested or not _holds_list(_method(method, where), field) else [values]


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


def _method(name: str, where: str) -> type[Method]:
    members = Method.members()
    if name not in members:
        raise unknown("preset", name, members, where=where)
    return members[name]


def _in_order(changes: Sequence[Change]) -> dict[str, Any]:
    """The last of a name wins, at the last one's place: `latent.dim` after `latent` is a field of the new one."""
    result: dict[str, Any] = {}
    for change in changes:
        result.pop(change.field, None)
        result[change.field] = change.value
    return result


def _placed(
    member: type[Method], data: Source, own: Mapping[str, Change], rest: Sequence[Change], error: HatchelError
) -> HatchelError:
    """The error at the place that causes it: the first change that fails by itself, after those before it."""
    for change in own.values():
        try:
            from_dict(Method, {"kind": member.kind, change.field: change.value})
        except HatchelError as found:
            return _said(change, found)
    for count, change in enumerate(rest, 1):
        try:
            made = from_dict(Method, {"kind": member.kind, **{k: c.value for k, c in own.items()}}).run(data)
            updated(made, _in_order(rest[:count]))
        except HatchelError as found:
            return _said(change, found)
    return error


def _said(change: Change, error: HatchelError) -> HatchelError:
    """`set.latent.dim: ...`: the section, then what the field's own error says."""
    text = str(error)
    return HatchelError(f"{change.where}{'.' if text.startswith(change.field.split('.')[0]) else ': '}{text}")


def _holds_list(member: type[Method], field: str) -> bool:
    hints = typing.get_type_hints(member)
    if field in hints:
        kinds = (hints[field], *typing.get_args(hints[field]))
        return any(typing.get_origin(kind) in (tuple, list, Sequence) for kind in kinds)
    return isinstance(default_of(member.kind, field), list)


def default_of(method: str, field: str) -> Any:
    """What a symbol of a method, or a field of its run, is if nobody sets it; None where that is not known.

    >>> default_of("factor_vae", "gamma"), default_of("factor_vae", "latent.dim"), default_of("vae", "encoder.width")
    (10.0, 10, None)
    """
    from hatchel.data.xy_squares import XYSquares

    member = _method(method, "")
    symbols = {f.name: f.default for f in dataclasses.fields(member)}
    if field in symbols:
        return None if symbols[field] is dataclasses.MISSING else to_dict(symbols[field])
    try:
        node: Any = to_dict(from_dict(Method, {"kind": method}).run(XYSquares()))
    except HatchelError:  # a method with a symbol that has no default
        return None
    for name in field.split("."):
        node = cast(dict[str, Any], node).get(name) if isinstance(node, dict) else None
    return node
