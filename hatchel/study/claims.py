"""Claims: what a paper says, decided by paired differences over seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hatchel.study.frame import Frame, estimate, paired
from hatchel.study.statistics import over_seeds, paired_difference
from hatchel.study.table import shown

NOTHING = "not run"
"""The evidence where nothing was computed."""
ENOUGH = 3
"""Seeds without which nothing is decided: the bootstrap of two values knows only these two."""


@dataclass(frozen=True)
class Claim:
    """Something a paper says, and whether it was seen here."""

    text: str
    """What should be so."""
    holds: bool | None
    """None where the tasks do not decide it."""
    evidence: str
    """The numbers, with their intervals."""

    @property
    def verdict(self) -> str:
        """In words."""
        return {True: "holds", False: "does not hold", None: "undecided"}[self.holds]


def higher(text: str, first: Frame, second: Frame, value: str, beside: str | None = None) -> Claim:
    """`value` of the first is above that of the second (or above its `beside`), seed by seed.

    It holds, or does not, where the 95 % interval of the mean difference leaves out 0; else it is undecided, as it is
    with fewer than three seeds.
    """
    return _decided(text, first, second, value, beside or value, lambda low, high: low > 0, lambda low, high: high < 0)


def lower(text: str, first: Frame, second: Frame, value: str, beside: str | None = None) -> Claim:
    """The other way round."""
    return _decided(text, first, second, value, beside or value, lambda low, high: high < 0, lambda low, high: low > 0)


def near(text: str, first: Frame, second: Frame, value: str, beside: str, within: float) -> Claim:
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
    """The mean of one number per seed lies between two limits, with all of its interval; or outside with all of it."""
    if not values:
        return Claim(text, None, NOTHING)
    count = f"{len(values)} seed{'s' if len(values) > 1 else ''}"
    if len(values) < ENOUGH:
        return Claim(text, None, f"{', '.join(f'{v:.3g}' for v in values)}; {count}, too few to decide")
    found = over_seeds(values)
    holds = True if low <= found.low and found.high <= high else False if found.high < low or found.low > high else None
    return Claim(text, holds, f"{found.value:.3g} [{found.low:.3g}, {found.high:.3g}] over {count}")


def _decided(
    text: str,
    first: Frame,
    second: Frame,
    value: str,
    beside: str,
    holds: Callable[[float, float], bool],
    fails: Callable[[float, float], bool],
) -> Claim:
    pairs = paired(first, second, value, beside)
    if not pairs:
        return Claim(text, None, NOTHING)
    means = f"{shown(estimate(first, value))} against {shown(estimate(second, beside))}"
    if len(pairs) < ENOUGH:
        return Claim(text, None, f"{means}; {len(pairs)} seed{'s' if len(pairs) > 1 else ''}, too few to decide")
    found = paired_difference([a for a, _ in pairs], [b for _, b in pairs])
    evidence = f"{means}; difference {found.format(3)} over {len(pairs)} seeds"
    outcome = True if holds(found.low, found.high) else False if fails(found.low, found.high) else None
    return Claim(text, outcome, evidence)
