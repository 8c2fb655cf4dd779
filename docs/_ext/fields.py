"""Docstrings and fields of a class as Markdown, and docstrings as reStructuredText."""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
import typing
from typing import Any

CODE = re.compile(r"(`[^`]+`)")


def prose(text: str) -> str:
    """A docstring as Markdown: its formulas are no emphasis, its indented lines and doctests are code."""
    blocks = []
    for block in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if block.startswith(">>>"):
            blocks.append(f"```pycon\n{block}\n```")
        elif block.startswith((" ", "\t")):
            blocks.append(f"```text\n{block}\n```")
        else:
            blocks.append("".join(p if CODE.fullmatch(p) else escaped(p) for p in CODE.split(block)))
    return "\n\n".join(blocks)


def escaped(text: str) -> str:
    """With nothing left that Markdown would read as its own."""
    return re.sub(r"([\\*_|<>\[\]$#~^])", r"\\\1", text)


def restructured(lines: list[str]) -> None:
    """The same for autodoc, which reads reStructuredText: changed in place."""
    made: list[str] = []
    for block in re.split(r"\n\s*\n", "\n".join(lines).strip()):
        if block.startswith(">>>"):
            made += [*block.splitlines(), ""]
        elif "\n " in block or block.startswith(" "):
            made += ["::", "", *(f"    {line}" for line in block.splitlines()), ""]
        else:
            parts = CODE.split(block)
            plain = (f"`{p}`" if CODE.fullmatch(p) else re.sub(r"([\\*|_`])", r"\\\1", p) for p in parts)
            made += [*"".join(plain).splitlines(), ""]
    lines[:] = made


def type_words(hint: Any) -> str:
    """A field's type as one says it: `number > 0`, `drawn or summed`, a family's name."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        limits = [
            f"{sign} {getattr(m, name):g}"
            for m in hint.__metadata__
            for name, sign in (("gt", ">"), ("ge", "≥"), ("lt", "<"), ("le", "≤"))
            if getattr(m, name, None) is not None and abs(getattr(m, name)) < 1e12
        ]
        return " ".join([type_words(arguments[0]), *limits])
    if origin is typing.Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(type_words(a) for a in arguments if a is not type(None))
    if origin is tuple:
        return f"several of: {type_words(arguments[0])}"
    if origin is not None and len(arguments) == 2:
        return f"names to: {type_words(arguments[1])}"
    plain = {float: "number", int: "whole number", str: "text", bool: "yes or no"}
    return plain.get(hint) or getattr(hint, "family", "") or getattr(hint, "__name__", str(hint))


def default_words(field: dataclasses.Field[Any]) -> str:
    """A field's default; of a part, its kind and what differs from that kind's defaults."""
    from hatchel.core.spec import Spec

    value = field.default
    if value is dataclasses.MISSING:
        return "" if field.default_factory is dataclasses.MISSING else f"`{field.default_factory()}`"
    if value is None or value == "":
        return "left out"
    if isinstance(value, Spec):
        inner = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        own = {f.name: inner[f.name] for f in dataclasses.fields(value) if inner[f.name] != f.default}
        return f"`{' '.join([value.kind, *(f'{k}={v}' for k, v in own.items())])}`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def fields_table(member: type[Any]) -> str:
    """Every field: type, default, help."""
    hints, helps = typing.get_type_hints(member, include_extras=True), member.help()
    rows = [
        f"| `{f.name}` | {type_words(hints[f.name])} | {default_words(f)} | {_cell(helps.get(f.name, ''))} |"
        for f in dataclasses.fields(member)
    ]
    if not rows:
        return "It has no parameters."
    return "\n".join(["| parameter | type | default | meaning |", "| --- | --- | --- | --- |", *rows])


def _cell(text: str) -> str:
    return " ".join(prose(text).split())
