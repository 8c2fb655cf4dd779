"""From a method, data and changes to the run they describe: the one way to a RunSpec, for every caller."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from hatchel.core.errors import HatchelError, unknown
from hatchel.core.spec import Spec, changed, from_dict, to_dict, updated
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
HABITS = {"epochs": "--epochs 20", "learning_rate": "lr", "z_dim": "latent.dim", "latent_size": "latent.dim"}
"""Names that other libraries have for fields."""


def resolve(
    method: str | Method, data: str | Path | Source = "dsprites", changes: Changes = (), *, where: str = ""
) -> RunSpec:
    """The run of a method on data. A change is of one of the method's parameters or a field of the run; the last wins.

    A training of fewer steps than the paper's shortens the method's schedules, except those that are set here.

    >>> spec = resolve("control_vae", "xy_squares", {"weight.kp": 0.02, "latent.dim": 5, "steps": 3000})
    >>> weight = spec.objective["kl"].weight
    >>> spec.latent, weight.kp, weight.steps, weight.ki
    (Diagonal(dim=5), 0.02, 1000, 0.1)
    """
    if isinstance(changes, Mapping):
        changes = [Change(field, value, where) for field, value in changes.items()]
    member = type(method) if isinstance(method, Method) else method_named(method, where)
    own, rest = _sorted(member, changes, where)
    start = to_dict(method) if isinstance(method, Method) else _defaults(member)
    fixed = {name for c in own for name in _chosen(c.value, c.field)}
    fixed |= set(_chosen(method, "")) if isinstance(method, Method) else set()
    source = data if isinstance(data, Source) else from_dict(Source, str(data), "data")

    def spec(own: Sequence[Change], rest: Sequence[Change]) -> RunSpec:
        made = from_dict(Method, changed(dict(start), _in_order(own)))
        run = updated(_run(made, source), _in_order(rest))
        shorter = made if run.steps >= member.paper_steps else _shortened(made, run.steps, fixed)
        if shorter != made:
            run = updated(_run(shorter, source), _in_order(rest))
        return _scheduled(run, {name for c in rest for name in _chosen(c.value, c.field)})

    try:
        return spec(own, rest).with_fields(typed=_typed(changes))
    except HatchelError as error:
        # At the place that causes it: the first change that fails by itself, or after those before it.
        needed = [c for c in own if c.field.split(".")[0] not in start]
        for attempt in [([*needed, c], []) for c in own] + [(own, rest[: n + 1]) for n in range(len(rest))]:
            try:
                spec(*attempt)
            except HatchelError as found:
                change = (attempt[1] or attempt[0])[-1]
                raise _placed(change, found) from None
        raise error from None


def method_named(name: str, where: str = "") -> type[Method]:
    """The class of a method, or what it might have been."""
    members = Method.members()
    if name not in members:
        raise unknown("method", name, members, where=where)
    return members[name]


def default_of(method: str, field: str) -> Any:
    """What a parameter of a method, or a field of its run, is if nobody sets it; None where that is not known.

    >>> default_of("factor_vae", "gamma"), default_of("factor_vae", "latent.dim"), default_of("vae", "encoder.width")
    (10.0, 10, None)
    >>> default_of("control_vae", "climb")
    100000
    """
    member = method_named(method)
    field = member.shorthands.get(field, (field,))[0]
    node: Any = _defaults(member)
    if field.split(".")[0] not in _parameters(member):
        try:
            node = to_dict(_run(from_dict(Method, node), from_dict(Source, "xy_squares")))
        except HatchelError:  # a method with a parameter that has no default
            return None
    for name in field.split("."):
        node = cast(dict[str, Any], node).get(name) if isinstance(node, dict) else None
    return node


def holds_list(method: str, field: str) -> bool:
    """Whether a list is one value of the field, not a choice of values.

    >>> holds_list("de_vae", "betas"), holds_list("beta_vae", "beta"), holds_list("vae", "latent.dim")
    (True, False, False)
    """
    hints = typing.get_type_hints(method_named(method))
    if field in _parameters(method_named(method)):
        kinds = (hints[field], *typing.get_args(hints[field]))
        return any(typing.get_origin(kind) in (tuple, list, Sequence) for kind in kinds)
    return isinstance(default_of(method, field), list)


def _run(method: Method, data: Source) -> RunSpec:
    return from_dict(RunSpec, {"name": method.kind, "data": data, "objective": method.terms(), **method.parts()})


def _shortened(method: Method, steps: int, fixed: set[str]) -> Method:
    try:
        return method.shortened(steps, method.paper_steps, fixed)
    except HatchelError as error:
        raise HatchelError(f"{error}; what is not set is shortened to {steps} of {method.paper_steps} steps") from None


def _typed(changes: Sequence[Change]) -> str:
    """`beta=4 latent.dim=16`: what makes one run another, without data, length, seed, and where it runs."""
    outside = {f.name for f in dataclasses.fields(RunSpec) if not f.metadata.get("identity", True)}
    outside |= {"data", "steps", "batch_size", "seed"}
    shown = {c.field: c.value for c in changes if c.field.split(".")[0] not in outside}
    return " ".join(f"{name}={_word(value)}" for name, value in shown.items())


def _word(value: Any) -> str:
    """A Spec by its kind, a mapping as `ramp(end=10)`, anything else as it is."""
    if not isinstance(value, Mapping):
        return value.kind if isinstance(value, Spec) else str(value)
    fields = {str(k): v for k, v in cast(Mapping[Any, Any], value).items()}
    return f"{fields.pop('kind', '')}({', '.join(f'{k}={_word(v)}' for k, v in fields.items())})"


def _scheduled(run: RunSpec, fixed: set[str]) -> RunSpec:
    """With schedules of the learning rate as long as the run; their defaults are for 300,000 steps."""
    names = [name for name in ("optimizer", "critic_optimizer") if getattr(run, name).schedule is not None]
    fitted = {n: getattr(run, n).shortened(run.steps, Method.paper_steps, fixed, f"{n}.") for n in names}
    return run.with_fields(**fitted) if fitted else run


def _parameters(member: type[Method]) -> list[str]:
    return [f.name for f in dataclasses.fields(member)]


def _defaults(member: type[Method]) -> dict[str, Any]:
    """The method as a dictionary, without the parameters that have no default."""
    found: dict[str, Any] = {"kind": member.kind}
    for field in dataclasses.fields(member):
        if field.default is not dataclasses.MISSING:
            found[field.name] = to_dict(field.default)
        elif field.default_factory is not dataclasses.MISSING:
            found[field.name] = to_dict(field.default_factory())
    return found


def _sorted(member: type[Method], changes: Sequence[Change], where: str) -> tuple[list[Change], list[Change]]:
    """Those of the method, with shorthands written out, and those of the run."""
    parameters, fields = _parameters(member), [f.name for f in dataclasses.fields(RunSpec)]
    own: list[Change] = []
    rest: list[Change] = []
    for change in changes:
        head = change.field.split(".")[0]
        if change.field in member.shorthands:
            own += [dataclasses.replace(change, field=name) for name in member.shorthands[change.field]]
        elif head in parameters:
            own.append(change)
        elif head in fields:
            rest.append(change)
        else:
            place = change.where if change.where == where else f"{change.where} (for {member.kind})"
            raise unknown("field", change.field, [*parameters, *fields], place, _inside(member, change.field))
    return own, rest


def _inside(member: type[Method], name: str) -> list[str]:
    """Fields inside those of the run that a name may mean.

    >>> _inside(method_named("vae"), "lr"), _inside(method_named("vae"), "latent_dim")
    (['optimizer.lr', 'critic_optimizer.lr'], ['latent.dim'])
    """
    meant = HABITS.get(name, name)
    if meant.startswith("--"):
        return [meant]
    heads = ("optimizer", "critic_optimizer", "latent", "encoder", "decoder")
    inner = {head: default_of(member.kind, head) for head in heads}
    found = [f"{head}.{field}" for head, fields in inner.items() for field in fields or ()]
    return [path for path in found if meant in (path, path.replace(".", "_"), path.partition(".")[2])]


def _chosen(value: Any, path: str) -> Iterator[str]:
    """The dotted names that a value sets: a mapping's keys; of a Spec, the fields that are not at their defaults."""
    if isinstance(value, Spec):
        found = {f.name: (f.default, getattr(value, f.name)) for f in dataclasses.fields(value)}
        value = {name: now for name, (default, now) in found.items() if now != default}
    if not isinstance(value, Mapping):
        yield path
        return
    for name, part in cast(Mapping[str, Any], value).items():
        yield from _chosen(part, f"{path}.{name}" if path else str(name))


def _in_order(changes: Sequence[Change]) -> dict[str, Any]:
    """The last of a name wins, at the last one's place: `latent.dim` after `latent` is a field of the new one."""
    result: dict[str, Any] = {}
    for change in changes:
        result.pop(change.field, None)
        result[change.field] = str(change.value) if isinstance(change.value, Path) else change.value
    return result


def _placed(change: Change, error: HatchelError) -> HatchelError:
    """`set.latent.dim: ...`: the place, then what the field's own error says."""
    text = str(error)
    if not change.where:
        return error
    return HatchelError(f"{change.where}{'.' if text.startswith(change.field.split('.')[0]) else ': '}{text}")
