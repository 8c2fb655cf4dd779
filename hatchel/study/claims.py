"""Claims: what a paper says, decided by paired differences over seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hatchel.metrics.statistics import over_seeds, paired_difference
from hatchel.study.rows import Measured, measured, paired
from hatchel.study.store import Row
from hatchel.study.study import Claim

NOTHING = "no cells"
"""The evidence where nothing was computed."""
ENOUGH = 3
"""Seeds without which nothing is decided: the bootstrap of two values knows only these two."""


def higher(text: str, first: Sequence[Row], second: Sequence[Row], value: str, beside: str | None = None) -> Claim:
    """`value` of the first is above that of the second (or above its `beside`), seed by seed.

    It holds, or does not, where the 95 % interval of the mean difference leaves out 0; else it is undecided, as it is
    with fewer than three seeds.
    """
    return _decided(text, first, second, value, beside or value, lambda low, high: low > 0, lambda low, high: high < 0)


def lower(text: str, first: Sequence[Row], second: Sequence[Row], value: str, beside: str | None = None) -> Claim:
    """The other way round."""
    return _decided(text, first, second, value, beside or value, lambda low, high: high < 0, lambda low, high: low > 0)


def near(text: str, first: Sequence[Row], second: Sequence[Row], value: str, beside: str, within: float) -> Claim:
    """`value` of the first differs by at most `within` from the second's `beside`, seed by seed."""
    return _decided(
        text, first, second, value, beside,
        lambda low, high: -within <= low and high <= within, lambda low, high: low > within or high < -within,
    )  # fmt: skip


def every(text: str, found: Mapping[str, Claim]) -> Claim:
    """A claim against several others at once: it holds if it holds against each, and does not if it fails against one.

    One that was not run leaves it undecided.

    >>> every("A is best.", {"B": Claim("", True, "3 to 1"), "C": Claim("", None, "3 to 2")}).evidence
    'so against B; undecided against C'
    """
    known = {name: claim for name, claim in found.items() if claim.evidence != NOTHING}
    if not known:
        return Claim(text, None, NOTHING)
    outcomes = {claim.holds for claim in found.values()}
    parts: list[str] = []
    for holds, words in ((True, "so against"), (False, "not so against"), (None, "undecided against")):
        # The numbers of what speaks against it; the others' are in the table of differences.
        names = [f"{n} ({c.evidence})" if holds is False else n for n, c in known.items() if c.holds is holds]
        parts += [f"{words} {', '.join(names)}"] if names else []
    missing = [name for name in found if name not in known]
    parts += [f"not run: {', '.join(missing)}"] if missing else []
    return Claim(text, False if False in outcomes else None if None in outcomes else True, "; ".join(parts))


def inside(text: str, values: Sequence[float], low: float, high: float) -> Claim:
    """The mean of one number a seed lies between two limits, with all of its interval; or outside with all of it."""
    if not values:
        return Claim(text, None, NOTHING)
    count = f"{len(values)} seed{'s' if len(values) > 1 else ''}"
    if len(values) < ENOUGH:
        return Claim(text, None, f"{', '.join(f'{v:.3g}' for v in values)}; {count}, too few to decide")
    found = over_seeds(values)
    least, most = found.interval.low, found.interval.high
    holds = True if low <= least and most <= high else False if most < low or least > high else None
    return Claim(text, holds, f"{found.value:.3g} [{least:.3g}, {most:.3g}] over {count}")


def _decided(
    text: str,
    first: Sequence[Row],
    second: Sequence[Row],
    value: str,
    beside: str,
    holds: Callable[[float, float], bool],
    fails: Callable[[float, float], bool],
) -> Claim:
    pairs = paired(first, second, value, beside)
    if not pairs:
        return Claim(text, None, NOTHING)
    ours, theirs = measured(first, value), measured(second, beside)
    shown = f"{_text(ours)} against {_text(theirs)}"
    if len(pairs) < ENOUGH:
        return Claim(text, None, f"{shown}; {len(pairs)} seed{'s' if len(pairs) > 1 else ''}, too few to decide")
    found = paired_difference([a for a, _ in pairs], [b for _, b in pairs])
    low, high = found.interval.low, found.interval.high
    evidence = f"{shown}; difference {found.value:.3f} [{low:.3f}, {high:.3f}] over {len(pairs)} seeds"
    return Claim(text, True if holds(low, high) else False if fails(low, high) else None, evidence)


def _text(found: Measured | None) -> str:
    return found.text() if found else "–"
