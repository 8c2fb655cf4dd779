"""Errors meant for people: one line that says what was wrong, where, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class HatchelError(Exception):
    """A mistake in the input, not in Hatchel. The command line prints it in one line and exits with its code."""

    exit_code = 2


def shortened(value: Any, most: int = 80) -> str:
    """What was given, as an error shows it: in one line that is not too long.

    >>> shortened([1, "a"]), shortened("x" * 100, most=10)
    ("[1, 'a']", "'xxxxxxxx...")
    """
    try:
        text = " ".join(repr(value).split())
    except (ValueError, RecursionError):  # a number of thousands of digits
        text = f"a {type(value).__name__}"
    return text if len(text) <= most else f"{text[: most - 1]}..."


def unknown(noun: str, name: str, known: Iterable[str], where: str = "", meant: Iterable[str] = ()) -> HatchelError:
    """The answer to a name nobody knows: what was `meant` or near matches first, then everything there is.

    >>> print(unknown("method", "factorvae", ["vae", "factor_vae"]))
    unknown method 'factorvae'. Did you mean 'factor_vae'? Known: factor_vae, vae
    """
    names = sorted(known)
    near = list(meant) or difflib.get_close_matches(name[:200], names, n=3, cutoff=0.6)
    hint = f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
    if near and "." in near[0]:
        hint += f" (In Python: {near[0].replace('.', '__')}=...)"
    place = f"{where}: " if where else ""
    return HatchelError(f"{place}unknown {noun} {shortened(name)}.{hint} Known: {', '.join(names) or 'none'}")
