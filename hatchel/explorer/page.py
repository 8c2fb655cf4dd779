"""Page: the HTML around the one script and the one style sheet, for the server and for a folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup


def asset(name: str) -> str:
    """A file of the page, by a name from the code, never from a request."""
    return resources.files("hatchel.explorer").joinpath("web", name).read_text(encoding="utf-8")


def page(about: dict[str, Any], scripts: Sequence[str] = (), policy: str | None = None) -> str:
    """The page; `scripts` come before its own, `policy` is a content security policy for where no server sends one."""
    environment = Environment(
        loader=PackageLoader("hatchel.explorer", "web"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("explorer.html.j2").render(
        about=about, data=script_json(about), scripts=scripts, policy=policy
    )


def script_json(value: Any) -> Markup:
    """JSON that can stand inside a script element: no `<` can end it.

    >>> "</script>" in script_json({"name": "</script>"})
    False
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))
