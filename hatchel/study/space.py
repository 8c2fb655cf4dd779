"""What a field may be in a search: a range of numbers, or one of a few values."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hatchel.core.errors import HatchelError
from hatchel.core.fields import parse_yaml
from hatchel.methods.resolve import default_of
from hatchel.study.file import options_of

if TYPE_CHECKING:
    import optuna

NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"


@dataclass(frozen=True)
class Range:
    """Numbers from low to high, both possible; `log`: as many between 1 and 10 as between 10 and 100."""

    field: str
    low: float
    high: float
    log: bool = False

    @property
    def values(self) -> tuple[Any, ...]:
        """The ends, which must be possible values of the field."""
        return (self.low, self.high)

    def suggest(self, trial: optuna.Trial) -> Any:
        """A number for a trial; a whole one where the ends are."""
        if isinstance(self.low, int) and isinstance(self.high, int):
            return trial.suggest_int(self.field, self.low, self.high, log=self.log)
        return trial.suggest_float(self.field, self.low, self.high, log=self.log)

    def read(self, kept: Any) -> Any:
        return kept

    def text(self) -> str:
        """As it is written on the command line."""
        return f"{'log:' * self.log}{self.field}={self.low!r}..{self.high!r}"


@dataclass(frozen=True)
class Choice:
    """One of a few values. Optuna keeps plain values only, so they go by their JSON."""

    field: str
    values: tuple[Any, ...]

    def suggest(self, trial: optuna.Trial) -> Any:
        return self.read(trial.suggest_categorical(self.field, [json.dumps(v) for v in self.values]))

    def read(self, kept: Any) -> Any:
        return json.loads(str(kept))

    def text(self) -> str:
        """As it is written on the command line."""
        return f"{self.field}={json.dumps(self.values)}"


Dimension = Range | Choice


def dimension(method: str, argument: str) -> Dimension | None:
    """`beta=1..16`, `log:optimizer.lr=1e-4..1e-2`, `latent.dim=[5, 10]`; None for any other argument.

    A range is of whole numbers where the field is one, or where its kind is not known and both ends are written so.

    >>> dimension("beta_vae", "beta=1..16"), dimension("beta_vae", "latent.dim=2..8")
    (Range(field='beta', low=1.0, high=16.0, log=False), Range(field='latent.dim', low=2, high=8, log=False))
    >>> dimension("beta_vae", "latent.dim=[5, 10]"), dimension("beta_vae", "steps=100")
    (Choice(field='latent.dim', values=(5, 10)), None)
    """
    key, _, text = argument.partition("=")
    log, name = key.startswith("log:"), key.removeprefix("log:")
    found = re.fullmatch(rf"({NUMBER})\.\.({NUMBER})", text.strip())
    if found:
        return _range(method, name, found[1], found[2], log)
    if log:
        raise HatchelError(f"{argument!r}: log: needs a range, such as log:{name}=1e-4..1e-2")
    if not text.startswith("["):
        return None
    try:
        values = parse_yaml(text)
    except HatchelError:
        raise HatchelError(f"{argument!r}: is not a list, such as {name}=[5, 10]") from None
    options = options_of(method, name, values)
    return Choice(name, tuple(options)) if len(options) > 1 else None


def _range(method: str, name: str, first: str, last: str, log: bool) -> Range:
    default, written = default_of(method, name), all(re.fullmatch(r"[+-]?\d+", end) for end in (first, last))
    whole = written and not isinstance(default, float)
    low, high = (int(first), int(last)) if whole else (float(first), float(last))
    if low >= high:
        raise HatchelError(f"{name}={first}..{last}: the range is empty; the lower end comes first")
    if log and low <= 0:
        raise HatchelError(f"log:{name}={first}..{last}: a range on a log scale starts above 0")
    return Range(name, low, high, log)


def every_point(space: Sequence[Dimension]) -> list[dict[str, Any]]:
    """All points of a space of choices, as Optuna keeps them; none where a range makes them endless."""
    choices = [d for d in space if isinstance(d, Choice)]
    if len(choices) < len(space):
        return []
    return [
        {choice.field: json.dumps(value) for choice, value in zip(choices, values, strict=True)}
        for values in itertools.product(*(choice.values for choice in choices))
    ]
