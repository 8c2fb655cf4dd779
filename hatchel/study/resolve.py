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
from hatchel.training.spec import RunSpec


@dataclass(frozen=True)
class Change:
    """A field and its value, and the place that asks for it, which an error names."""

    field: str
    value: Any
    where: str = ""


Changes = Mapping[str, Any] | Sequence[Change]
PAPER_STEPS = 300_000
SCHEDULES: Mapping[str, tuple[str, ...]] = {
    "annealed_vae": ("climb",),
    "control_vae": ("climb",),
    "dynamic_vae": ("period", "ramp"),
    "cascade_vae": ("every", "warmup"),
    "nvae_lite": ("warmup",),
}
GAINS: Mapping[str, tuple[str, ...]] = {"control_vae": ("ki",), "dynamic_vae": ("ki",)}


def resolve(method: str, data: Source, changes: Changes = (), *, where: str = "") -> RunSpec:
    """Stands in for `hatchel.methods.resolve` until that is merged."""
    if isinstance(changes, Mapping):
        changes = [Change(k, v, where) for k, v in changes.items()]
    member = method_named(method, where)
    symbols = [f.name for f in dataclasses.fields(member)]
    fields = [f.name for f in dataclasses.fields(RunSpec)]
    for change in changes:
        if change.field not in symbols and change.field.split(".")[0] not in fields:
            place = change.where if change.where == where else f"{change.where} (for {method})"
            raise unknown("field", change.field, [*symbols, *fields], where=place)
    own = {c.field: c for c in changes if c.field in symbols}
    rest = [c for c in changes if c.field not in symbols]
    try:
        made = from_dict(Method, {"kind": method, **{k: c.value for k, c in own.items()}})
        spec = updated(made.run(data), _in_order(rest))
        if spec.steps >= PAPER_STEPS:
            return spec
        plain = member()
        shorter: dict[str, float] = {
            n: max(1, round(getattr(plain, n) * spec.steps / PAPER_STEPS)) for n in SCHEDULES.get(method, ())
        }
        shorter |= {n: getattr(plain, n) * PAPER_STEPS / spec.steps for n in GAINS.get(method, ())}
        body = {"kind": method, **shorter, **{k: c.value for k, c in own.items()}}
        return updated(from_dict(Method, body).run(data), _in_order(rest))
    except HatchelError as error:
        raise _placed(member, data, own, rest, error) from None


def method_named(name: str, where: str = "") -> type[Method]:
    members = Method.members()
    if name not in members:
        raise unknown("method", name, members, where=where)
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


def holds_list(method: str, field: str) -> bool:
    """Whether a list is one value of the field."""
    member = method_named(method, "")
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

    member = method_named(method, "")
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
