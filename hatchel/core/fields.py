"""Fields in YAML and JSON: plain values from texts and files of any size and origin, and their dotted names."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from hatchel.core.errors import HatchelError

NODES, DEPTH = 100_000, 40
"""Of a configuration at most: values, and levels of lists and fields inside each other."""


def parse_yaml(text: str) -> Any:
    """Plain values in YAML or JSON text, of which a HatchelError says what is wrong; dates stay text.

    >>> parse_yaml("{by: mws, name: 2020-01-01, steps: 10}")
    {'by': 'mws', 'name': '2020-01-01', 'steps': 10}
    """
    import yaml

    try:
        return _plain(yaml.load(text, _loader()))
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        raise HatchelError(f"is not YAML or JSON ({problem or 'a sign that cannot be in a text'}{line})") from None
    except RecursionError:
        raise HatchelError("is not YAML or JSON (too deep)") from None
    except (ValueError, TypeError, AttributeError, KeyError, OverflowError) as error:
        raise HatchelError(f"is not YAML or JSON ({str(error).splitlines()[0][:80]})") from None


def read_fields(path: Path, example: str) -> dict[str, Any]:
    """The fields and values in a YAML or JSON file, or an error that names it; `example`: of what is expected."""
    try:
        body = parse_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise HatchelError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise HatchelError(f"{path}: is not a text file in UTF-8; save it as such") from None
    except HatchelError as error:
        raise HatchelError(f"{path}: {error}") from None
    if not isinstance(body, dict):
        raise HatchelError(f"{path}: expected fields and values, such as {example}")
    return cast(dict[str, Any], body)


def dotted(body: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Nested fields as one mapping by their dotted names.

    >>> dotted({"run": {"latent": {"dim": 3}, "seed": 0}, "metrics": ["mig"]})
    {'run.latent.dim': 3, 'run.seed': 0, 'metrics': ['mig']}
    """
    found: dict[str, Any] = {}
    for name, part in body.items():
        nested = isinstance(part, Mapping) and part
        found |= dotted(cast(Mapping[str, Any], part), f"{path}{name}.") if nested else {f"{path}{name}": part}
    return found


@functools.cache
def _loader() -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        """Without dates, which no field has."""

    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in found if not tag.endswith(":timestamp")]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return Loader


def _plain(value: Any, depth: int = 0, left: list[int] | None = None) -> Any:
    """The value, or an error if aliases make it endless or too large: a short text can stand for billions of items."""
    left = [NODES] if left is None else left
    left[0] -= 1
    if left[0] < 0 or depth > DEPTH:
        raise HatchelError(f"is too large: at most {NODES:,} values, at most {DEPTH} inside each other")
    if isinstance(value, dict):
        pairs = cast(dict[Any, Any], value).items()
        return {k if isinstance(k, str) else str(k): _plain(v, depth + 1, left) for k, v in pairs}
    if isinstance(value, list):
        return [_plain(v, depth + 1, left) for v in cast(list[Any], value)]
    if isinstance(value, set | bytes | tuple):
        raise HatchelError(f"holds a {type(value).__name__}; write numbers, words, [lists] or {{field: value}}")
    return value
