"""Spec: a frozen dataclass that is both the configuration and the thing configured.

A *family* is a root class such as `Term` or `Metric`; subclassing it registers a member, so that a plug-in edits
no list. Every Spec goes to JSON and back as {"kind": name, field: value, ...}; errors carry the field's path. The
digest of the canonical JSON is a run's identity.

>>> class Fruit(Spec, family="fruit"):
...     "Something sweet."
>>> class Apple(Fruit):
...     "Round."
...     weight: Positive = 100.0
...     "Grams."
>>> to_dict(Apple(80))
{'kind': 'apple', 'weight': 80.0}
>>> from_dict(Fruit, {"kind": "apple", "weight": -1})
Traceback (most recent call last):
hatchel.core.errors.HatchelError: weight: input should be greater than 0, got -1
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import hashlib
import importlib
import inspect
import itertools
import json
import pkgutil
import re
import textwrap
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self, TypeVar, Union, cast, dataclass_transform

from annotated_types import Ge, Gt, Le

from hatchel.core.errors import HatchelError, shortened, unknown

Positive = Annotated[float, Gt(0)]
NonNegative = Annotated[float, Ge(0)]
Share = Annotated[float, Ge(0), Le(1)]
Count = Annotated[int, Gt(0), Le(10**12)]

S = TypeVar("S", bound="Spec")

FAMILIES: dict[str, type[Spec]] = {}
"""Family name to root class, filled by subclassing."""


def local(*, default: Any) -> Any:
    """A field that does not enter the digest: where or how fast a thing runs, not what it computes."""
    return dataclasses.field(default=default, metadata={"identity": False})


def added(*, default: Any) -> Any:
    """A field that came with a later version: at its default it does not enter the digest, which stays what it was."""
    return dataclasses.field(default=default, metadata={"added": True})


def in_steps(*, default: int) -> Any:
    """A number of training steps, as long as in the paper: `Spec.shortened` makes it shorter for a shorter training."""
    return dataclasses.field(default=default, metadata={"scale": 1})


def per_step(*, default: float) -> Any:
    """What adds up from step to step, such as an integral gain: of a shorter training, each step does more."""
    return dataclasses.field(default=default, metadata={"scale": -1})


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field, local, added, in_steps, per_step))
class Spec:
    """The parent of everything that can be configured; see the module's docstring."""

    kind: ClassVar[str] = ""
    family: ClassVar[str] = ""
    home: ClassVar[str] = ""
    _members: ClassVar[dict[str, type[Any]]]
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    def __init_subclass__(cls, *, family: str = "", home: str = "", kind: str = "") -> None:
        super().__init_subclass__()
        dataclasses.dataclass(frozen=True)(cls)
        cls.kind = kind or snake(cls.__name__)
        if family:
            cls.family, cls.home, cls._members = family, home, {}
            FAMILIES[family] = cls
        elif cls.family:
            _register(cls)

    def __post_init__(self) -> None:
        hints = _hints(type(self))
        for field in dataclasses.fields(self):
            value = _convert(hints[field.name], getattr(self, field.name), field.name)
            object.__setattr__(self, field.name, value)
        self.check()

    def check(self) -> None:
        """Raise HatchelError where fields, each right by itself, do not fit together."""

    @classmethod
    def members(cls) -> dict[str, type[Self]]:
        """Every concrete member of this family (or of this branch of it) by kind, plug-ins included."""
        _import_home(cls.home)
        return {k: m for k, m in sorted(cls._members.items()) if issubclass(m, cls) and not inspect.isabstract(m)}

    @classmethod
    def coerce(cls, value: Any) -> Any:
        """What a plain value stands for where a member is wanted: by default a string is a kind with its defaults."""
        if isinstance(value, str) and cls.family:
            return _member(cls, value, "")()
        return value

    def digest(self) -> str:
        """Twelve hex digits of the canonical JSON: equal specs, equal digest, on every machine."""
        text = json.dumps(to_dict(self, identity=True), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def with_fields(self, **changes: Any) -> Self:
        """A copy with some fields changed, checked as if it had been built so."""
        return dataclasses.replace(self, **changes)

    def shortened(self, steps: int, of: int, keep: Collection[str] = (), path: str = "") -> Self:
        """For a training of `steps` steps where the paper has `of`: what is `in_steps` or `per_step` follows.

        `keep` are the dotted fields that stay as they are; Specs inside are shortened too.
        """
        changes: dict[str, Any] = {}
        for field in dataclasses.fields(self):
            value, name = getattr(self, field.name), f"{path}{field.name}"
            scale = 0 if name in keep else field.metadata.get("scale")
            if isinstance(value, Spec):
                changes[field.name] = value.shortened(steps, of, keep, f"{name}.")
            elif scale == 1:
                changes[field.name] = max(min(1, value), round(value * steps / of))
            elif scale == -1:
                changes[field.name] = value * of / steps
        return self.with_fields(**changes) if changes else self

    @classmethod
    def help(cls) -> dict[str, str]:
        """The docstring under each field, for help texts and the docs' tables."""
        return _attribute_docs(cls)


def to_dict(value: Any, identity: bool = False) -> Any:
    """A Spec (or what it holds) as plain JSON values; `identity` leaves out what does not enter the digest."""
    if isinstance(value, Spec):
        fields = [f for f in dataclasses.fields(value) if not (identity and _outside(f, getattr(value, f.name)))]
        body = {f.name: to_dict(getattr(value, f.name), identity) for f in fields}
        return {"kind": value.kind, **body} if value.family else body
    if isinstance(value, Mapping):
        return {str(k): to_dict(v, identity) for k, v in cast(Mapping[Any, Any], value).items()}
    if isinstance(value, tuple | list):
        return [to_dict(v, identity) for v in cast(tuple[Any, ...], value)]
    return value


def _outside(field: dataclasses.Field[Any], value: Any) -> bool:
    return not field.metadata.get("identity", True) or (field.metadata.get("added", False) and value == field.default)


def from_dict(cls: type[S], data: Any, path: str = "") -> S:
    """The Spec that `data` (parsed JSON or YAML) describes, or a HatchelError that names the field."""
    if not isinstance(data, Mapping):
        try:
            return cast(S, _expect(cls, cls.coerce(data), path))
        except HatchelError as error:
            raise _at(path, error) from None
    body = {str(k): v for k, v in cast(Mapping[Any, Any], data).items()}
    if cls.family:
        if "kind" not in body and inspect.isabstract(cls):
            article = "an" if cls.family[0] in "aeio" else "a"
            raise HatchelError(
                f"{_place(path)}{article} {cls.family} needs a 'kind'. Known: {', '.join(cls.members())}"
            )
        kind = str(body.pop("kind", cls.kind))
        whole = None if kind in cls.members() else _meant(cls, kind)  # `data=./photos data.size=32`
        cls = _member(cls, kind if whole is None else whole.kind, path)
        body = {**(vars(whole) if whole is not None else {}), **body}
    hints = _hints(cls)
    names = [f.name for f in dataclasses.fields(cls)]
    for key in body:
        if key not in names:
            raise unknown(f"field of {cls.__name__}", key, names, where=path)
    missing = [f.name for f in dataclasses.fields(cls) if _required(f) and f.name not in body]
    if missing:
        raise HatchelError(f"{_place(path)}{cls.__name__} needs the field {missing[0]!r}")
    values = {k: _convert(hints[k], v, f"{path}.{k}" if path else k) for k, v in body.items()}
    try:
        return cls(**values)
    except HatchelError as error:
        raise _at(path, error) from None


def updated(spec: S, changes: Mapping[str, Any]) -> S:
    """`spec` with dotted fields changed: {"latent.dim": 16, "objective.tc.weight": 3}.

    A new `kind` starts from that kind's own defaults; a new name adds an entry where a field is a mapping.
    """
    return from_dict(type(spec), changed(to_dict(spec), changes))


def changed(data: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The same for a spec's dictionary, in place."""
    for path, value in changes.items():
        *parents, last = path.split(".")
        node, where = data, ""
        for name in parents:
            where = f"{where}.{name}" if where else name
            # A new name may be a new entry of a mapping; if it is not, decoding names the near matches.
            parent = node
            node = parent.setdefault(name, {})
            if isinstance(node, str):  # `latent=correlated latent.dim=3`: a kind, then its fields
                node = parent[name] = {"kind": node}
            elif node is None:  # what was left out has its own defaults, but for this
                node = parent[name] = {}
            if not isinstance(node, dict):
                raise HatchelError(f"{path}: {where} has no fields of its own; set {where}=... instead")
            node = cast(dict[str, Any], node)
        if last == "kind" and node.get("kind") != value:
            node.clear()
        value, now = to_dict(value), node.get(last)
        if isinstance(now, dict) and "kind" in now and isinstance(value, dict) and "kind" not in value:
            value = {**cast(dict[str, Any], now), **value}  # `latent: {dim: 16}`: fields of what is there
        node[last] = value
    return data


def snake(name: str) -> str:
    """A class's name as a kind: `BetaVAE` is `beta_vae`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _register(cls: type[Spec]) -> None:
    known = cls._members.get(cls.kind)  # pyright: ignore[reportPrivateUsage]
    if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise HatchelError(
            f"two {cls.family}s are called {cls.kind!r}: {known.__module__}.{known.__qualname__} and "
            f"{cls.__module__}.{cls.__qualname__}. Rename one, or give it kind='...'"
        )
    cls._members[cls.kind] = cls  # pyright: ignore[reportPrivateUsage]


@functools.cache
def _import_home(home: str) -> None:
    """Import every module of the family's folder, so that a new file there needs no list; then installed plug-ins."""
    if home:
        package = importlib.import_module(home)
        for module in pkgutil.iter_modules(getattr(package, "__path__", ())):
            importlib.import_module(f"{home}.{module.name}")
    from hatchel.core.plugins import load_installed

    load_installed()


def _meant(cls: type[S], text: str) -> S | None:
    """What a text that is no kind stands for, if it does for anything."""
    try:
        found = cls.coerce(text)
    except HatchelError:
        return None
    return found if isinstance(found, cls) else None


def _member(cls: type[Spec], kind: str, path: str) -> type[Any]:
    members = cls.members()
    if kind not in members:
        raise unknown(cls.family, kind, members, where=path)
    return members[kind]


@functools.cache
def _hints(cls: type[Spec]) -> dict[str, Any]:
    return typing.get_type_hints(cls, include_extras=True)


def _required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _place(path: str) -> str:
    return f"{path}: " if path else ""


def _at(path: str, error: HatchelError) -> HatchelError:
    message = str(error)
    if not path or message.startswith(path):
        return error
    head = message.split(":", 1)[0]
    joint = "." if re.fullmatch(r"[\w.]+", head) and ":" in message else ": "
    return HatchelError(f"{path}{joint}{message}")


def _expect(cls: type[Spec], value: Any, path: str) -> Any:
    if not isinstance(value, cls):
        raise HatchelError(f"{_place(path)}expected a {cls.family or cls.__name__}, got {shortened(value)}")
    return value


def _convert(hint: Any, value: Any, path: str) -> Any:
    """`value` as the annotated type: Specs by their family, containers of them item by item, the rest by pydantic."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if isinstance(hint, type) and issubclass(hint, Spec):
        return value if isinstance(value, hint) else from_dict(hint, value, path)
    if origin in (Union, types.UnionType) and _holds_spec(hint):
        if value is None and type(None) in arguments:
            return None
        plain = next((a for a in arguments if not _holds_spec(a) and a is not type(None)), None)
        if plain is not None and not isinstance(value, Spec | Mapping):  # a number, where a Spec may stand too
            try:
                return _checked(plain, value, path)
            except HatchelError:
                if not isinstance(value, str):
                    raise
        return _convert(next(a for a in arguments if _holds_spec(a)), value, path)
    if _holds_spec(hint) and origin is tuple:
        if isinstance(value, str) or not isinstance(value, Sequence):  # one, where there may be several
            value = (value,)
        return tuple(_convert(arguments[0], v, f"{path}[{i}]") for i, v in enumerate(value))
    if _holds_spec(hint) and isinstance(value, Mapping):
        items = cast(Mapping[str, Any], value).items()
        return {k: _convert(arguments[1], v, f"{path}.{k}") for k, v in items}
    return _checked(hint, value, path)


@functools.cache
def _holds_spec(hint: Any) -> bool:
    if isinstance(hint, type) and not typing.get_args(hint):
        return issubclass(hint, Spec)
    return any(_holds_spec(a) for a in typing.get_args(hint))


def _checked(hint: Any, value: Any, path: str) -> Any:
    from pydantic import ValidationError

    try:
        return _adapter(hint).validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join([path, *(str(p) for p in first["loc"])])
        message = first["msg"][0].lower() + first["msg"][1:]
        raise HatchelError(f"{where}: {message}, got {shortened(first['input'])}") from None


@functools.cache
def _adapter(hint: Any) -> Any:
    from pydantic import ConfigDict, TypeAdapter  # slow to import: only when a Spec is built

    # JSON has no infinity: what holds one could not be written down.
    return TypeAdapter(hint, config=ConfigDict(allow_inf_nan=False))


@functools.cache
def _attribute_docs(cls: type[Spec]) -> dict[str, str]:
    docs: dict[str, str] = {}
    fields = {f.name for f in dataclasses.fields(cls)}
    for parent in reversed(cls.__mro__):
        if not issubclass(parent, Spec) or parent is Spec:
            continue
        tree = ast.parse(textwrap.dedent(inspect.getsource(parent)))
        body = cast(ast.ClassDef, tree.body[0]).body
        for field, text in itertools.pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
                name = cast(ast.Name, field.target).id
                if name in fields:
                    docs[name] = inspect.cleandoc(str(text.value.value))
    return docs
