"""Errors meant for people: one line that says what was wrong, where, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class HatchelError(Exception):
    """A mistake in the input, not in Hatchel. The command line prints it in one line and exits with its code."""

    exit_code = 2


def unknown(noun: str, name: str, known: Iterable[str], where: str = "") -> HatchelError:
    """The answer to a name nobody knows: near matches first, then everything there is.

    >>> print(unknown("method", "factorvae", ["vae", "factor_vae"]))
    unknown method 'factorvae'. Did you mean 'factor_vae'? Known: factor_vae, vae
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    hint = f" Did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
    place = f"{where}: " if where else ""
    return HatchelError(f"{place}unknown {noun} {name!r}.{hint} Known: {', '.join(names) or 'none'}")
