"""Claims: what papers say, each with an id, held against the records by Student's t over seeds.

A study declares its claims; `verdicts` decides any number of them from frames alone, so that a change of statistics
needs no training. A claim is tested by one or several parts: a mean over seeds that it says lies between two limits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hatchel.core.errors import HatchelError
from hatchel.study.frame import Frame, groups, select
from hatchel.study.statistics import MOST, Mean, holm
from hatchel.study.table import shown
from hatchel.study.task import Label

ENOUGH = 5
"""Seeds without which nothing is decided."""
LEVEL = 0.05
NOTHING = "not run"
Where = Mapping[str, Label]
"""Labels of the tasks that are meant."""
Value = str | Callable[[Frame], Mapping[int, float]]
"""A value of the frame by its name, or what makes one number per seed of the rows."""


@dataclass(frozen=True)
class Part:
    """A mean, or a difference of means, that lies between two limits if the claim is true; None: not run."""

    mean: Mean | None
    low: float = -math.inf
    high: float = math.inf
    numbers: str = ""
    """In words."""
    against: str = ""
    """What it is held against, where a claim is about several."""

    @property
    def enough(self) -> bool:
        """Whether there are seeds enough to decide; what is exact needs none."""
        return self.mean is not None and (self.mean.n >= ENOUGH or math.isinf(self.mean.df))


Test = Callable[[Frame], Sequence[Part]]


@dataclass(frozen=True)
class Claim:
    """Something a paper says."""

    paper: str
    """By name and year: claims of one paper are corrected together."""
    id: str
    """A letter and a number, with a suffix where one claim is about several things: R2.mig.shapes3d."""
    where: str
    """Section, table or figure."""
    text: str
    """What should be so, in our words."""
    test: Test
    ours: bool = False
    """Whether it is a claim of ours about the paper's method."""

    def named(self, word: str) -> bool:
        """Whether a word means it: its id, the beginning of it, or part of the paper's name."""
        own, asked = self.id.lower(), word.lower()
        return own == asked or own.startswith(f"{asked}.") or (len(asked) > 3 and asked in self.paper.lower())

    @property
    def order(self) -> tuple[str, int, str]:
        """By which a list is sorted: R2 before R10."""
        letter, number, rest = re.fullmatch(r"(\D*)(\d*)(.*)", self.id).groups()  # pyright: ignore[reportOptionalMemberAccess]
        return letter, int(number or 0), rest


@dataclass(frozen=True)
class Verdict:
    """A claim, and what the records say of it."""

    claim: Claim
    parts: Sequence[Part]
    holds: bool | None
    p: float
    """Of the side it is on; 1 where seeds are too few."""
    corrected: float
    """The same among all claims of the paper (Holm)."""
    needed: int | None
    """Seeds that would decide it at the observed spread; None: decided, more than 100, or not known."""

    @property
    def word(self) -> str:
        """holds, does not hold, undecided, or not run."""
        if all(part.mean is None for part in self.parts):
            return NOTHING
        return {True: "holds", False: "does not hold", None: "undecided"}[self.holds]

    @property
    def seeds(self) -> int:
        """Behind the smallest of its parts."""
        return min((part.mean.n for part in self.parts if part.mean), default=0)

    @property
    def evidence(self) -> str:
        if self.word == NOTHING:
            return NOTHING
        found = [_numbers(self.parts), *self._decision()]
        return "; ".join(text for text in found if text)

    def _decision(self) -> list[str]:
        known = [part for part in self.parts if part.mean]
        if any(math.isinf(part.mean.df) for part in known if part.mean):
            return []
        few = min(part.mean.n for part in known if part.mean)
        result = [f"{few} seed{'s' * (few > 1)}, too few to decide"] if few < ENOUGH else []
        if self.p < 1:
            result.append(f"p = {self.p:.2g}, {self.corrected:.2g} among the paper's claims")
        if self.holds is None and len(known) == len(self.parts) and few > 1:
            result.append(f"{self.needed or f'more than {MOST}'} seeds would decide it")
        return result

    def to_dict(self) -> dict[str, Any]:
        claim = self.claim
        return {
            "id": claim.id, "paper": claim.paper, "where": claim.where, "text": claim.text, "ours": claim.ours,
            "verdict": self.word, "seeds": self.seeds, "p": self.p, "corrected": self.corrected, "needed": self.needed,
            "evidence": self.evidence,
            "parts": [
                {"against": part.against} | {k: v if math.isfinite(v) else None for k,
                v in vars(part.mean.estimate()).items()}
                for part in self.parts if part.mean
            ],
        }  # fmt: skip


def verdicts(claims: Iterable[tuple[Claim, Frame]]) -> list[Verdict]:
    """Each claim held against its frame; p values are corrected among the claims of a paper that are given."""
    found = [(claim, claim.test(frame)) for claim, frame in claims]
    sides = [_sides(parts, [p for p in parts if p.enough]) for _, parts in found]
    papers = {claim.paper for claim, _ in found}
    result: dict[int, Verdict] = {}
    for paper in papers:
        tested = [i for i, (c, parts) in enumerate(found) if c.paper == paper and any(p.enough for p in parts)]
        corrected = dict(zip(tested, holm([min(sides[i]) for i in tested]), strict=True))
        for i, (claim, parts) in enumerate(found):
            if claim.paper == paper:
                right, wrong = sides[i]
                sure = corrected.get(i, 1.0) <= LEVEL
                others = sum(min(sides[j]) >= min(right, wrong) for j in tested if j != i)
                needed = None if sure else _needed(parts, LEVEL / (1 + others))
                holds = (right < wrong) if sure else None
                result[i] = Verdict(claim, parts, holds, min(right, wrong), corrected.get(i, 1.0), needed)
    return [result[i] for i in range(len(found))]


def outcome(parts: Sequence[Part]) -> bool | None:
    """Whether it holds against each of them, or fails against one, without regard to other claims; None: undecided."""
    right, wrong = _sides(parts, [p for p in parts if p.enough])
    return None if min(right, wrong) > LEVEL else right < wrong


def higher(
    value: Value, first: Where, *seconds: Where, beside: Value = "", by: float = 0.0, exact: bool = False
) -> Test:
    """`value` of the first is above that of each second (or above their `beside`), seed by seed, `by` so much at least.

    Paired over the seeds that both have; where they share none, by Welch's test. `exact`: it has no seeds.
    """
    return lambda frame: [_difference(frame, value, first, s, beside, by, math.inf, exact) for s in seconds]


def lower(
    value: Value, first: Where, *seconds: Where, beside: Value = "", by: float = 0.0, exact: bool = False
) -> Test:
    """The other way round."""
    return lambda frame: [_difference(frame, value, first, s, beside, -math.inf, -by, exact) for s in seconds]


def near(value: Value, first: Where, *seconds: Where, within: float, beside: Value = "") -> Test:
    """`value` of the first differs by at most `within` from that of each second."""
    return lambda frame: [_difference(frame, value, first, s, beside, -within, within, False) for s in seconds]


def inside(value: Value, where: Where, low: float = -math.inf, high: float = math.inf, exact: bool = False) -> Test:
    """The mean over seeds lies between two limits."""

    def test(frame: Frame) -> list[Part]:
        found = list(per_seed(select(frame, **where), value).values())
        mean = _mean(found, exact)
        words = f"{shown(mean.estimate(), 3)}" + (f" over {mean.n} seeds" if mean.n > 1 else "") if mean else ""
        return [Part(mean, low, high, words)]

    return test


def each(tests: Mapping[str, Test]) -> Test:
    """All of them at once: it holds if each does, and does not if one does not."""
    return lambda frame: [
        replace(part, against=", ".join(filter(None, (name, part.against))))
        for name, test in tests.items()
        for part in test(frame)
    ]


def best(value: str, over: str, lower: bool = False) -> Value:
    """The value at the best setting of a label, which for each seed is chosen by the mean over the *other* seeds."""

    def chosen(frame: Frame) -> dict[int, float]:
        by = {key: per_seed(group, value) for (key,), group in groups(frame, over).items()}
        result: dict[int, float] = {}
        for seed in sorted({seed for found in by.values() for seed in found}):
            others = {k: [v for s, v in found.items() if s != seed] for k, found in by.items() if seed in found}
            means = {k: sum(v) / len(v) for k, v in others.items() if v}
            if means:
                result[seed] = by[(min if lower else max)(means, key=means.__getitem__)][seed]
        return result

    return chosen


def of_each(make: Callable[[Frame], float | None]) -> Value:
    """A number made of all rows of a seed; seeds of which it is None are left out."""

    def made(frame: Frame) -> dict[int, float]:
        found = {int(seed): make(frame[frame["seed"] == seed]) for seed in sorted({*frame["seed"]})}
        return {seed: number for seed, number in found.items() if number is not None}

    return made


def per_seed(frame: Frame, value: Value) -> Mapping[int, float]:
    """One number for each seed."""
    if not isinstance(value, str):
        return value(frame) if len(frame) else {}
    rows = frame[frame["metric"] == value].sort_values("seed", kind="stable")
    if rows["seed"].duplicated().any():
        raise HatchelError(f"{value}: several tasks of one seed; a claim has to name the labels that tell them apart")
    return dict(zip(map(int, rows["seed"]), map(float, rows["value"]), strict=True))


def _difference(
    frame: Frame, value: Value, first: Where, second: Where, beside: Value, low: float, high: float, exact: bool
) -> Part:
    a, b = per_seed(select(frame, **first), value), per_seed(select(frame, **second), beside or value)
    differing = [v for label, v in second.items() if v != "" and first.get(label) != v]
    name = " ".join(f"{v:g}" if isinstance(v, float) else str(v) for v in differing)
    if not a or not b:
        return Part(None, low, high, against=name)
    shared = sorted(a.keys() & b.keys())
    if not shared and min(len(a), len(b)) > 1:
        mean = Mean.welch([*a.values()], [*b.values()])
    else:
        mean = _mean([a[seed] - b[seed] for seed in shared], exact)
    means = " against ".join(shown(Mean.of([*found.values()]).estimate()) for found in (a, b))
    paired = f"; difference {mean.estimate().format(3)} over {mean.n} seeds" if mean and mean.n > 1 else ""
    return Part(mean, low, high, means + paired, name)


def _mean(found: Sequence[float], exact: bool) -> Mean | None:
    return (Mean(found[0], 0.0, math.inf, 1) if exact else Mean.of(found)) if found else None


def _sides(parts: Sequence[Part], known: Sequence[Part]) -> tuple[float, float]:
    """p of holding against each part, and of failing against one of them; 1 of what is not known."""
    found = [part.mean.p(part.low, part.high) for part in known if part.mean]
    right = max(p for p, _ in found) if found and len(found) == len(parts) else 1.0
    return right, min([1.0, *(len(parts) * p for _, p in found)])


def _needed(parts: Sequence[Part], level: float) -> int | None:
    known = [(part.mean, part.low, part.high) for part in parts if part.mean]
    against = [m.needed(low, high, level / len(parts)) for m, low, high in known if not low <= m.value <= high]
    if against:
        return max(ENOUGH, min(found)) if (found := [n for n in against if n]) else None
    wanted = [m.needed(low, high, level) for m, low, high in known]
    return None if len(known) < len(parts) or None in wanted else max([ENOUGH, *(n for n in wanted if n)])


def _numbers(parts: Sequence[Part]) -> str:
    """Of one part its numbers; of several which hold, with the differences."""
    if len(parts) == 1:
        return parts[0].numbers
    words: list[str] = []
    for holds, start in ((True, "so"), (False, "not so"), (None, "undecided")):
        found = [part for part in parts if part.mean and outcome([part]) is holds]
        names = [f"{part.against} {part.mean.estimate().format(3)}" for part in found if part.mean]
        words += [f"{start}: {', '.join(names)}"] if names else []
    missing = [part.against for part in parts if part.mean is None]
    return "; ".join([*words, *([f"not run: {', '.join(missing)}"] if missing else [])])
