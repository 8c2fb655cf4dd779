"""Callbacks: who hears of a run while it trains, and when it has trained enough."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count, NonNegative, Spec
from hatchel.objective.objective import Loss

if TYPE_CHECKING:
    from hatchel.data.dataset import Dataset
    from hatchel.training.run import TrainedRun
    from hatchel.training.spec import RunSpec


class Callback:
    """Hears of a run while it trains; any object with some of these methods is one too.

    `run` is the model as it is at that moment: encode, decode and measure it, but do not keep it. Of several processes
    only the first tells.
    """

    def on_start(self, run: TrainedRun, step: int) -> None:
        """Before the first step, or the first after a resume."""

    def on_step(self, step: int, values: Mapping[str, float]) -> None:
        """Every `log_every` steps, with what events.jsonl gets: the means since the last time."""

    def on_checkpoint(self, run: TrainedRun, step: int) -> None:
        """After a checkpoint was written."""

    def on_end(self) -> None:
        """When training ends, for whatever reason."""


HOOKS = tuple(name for name in vars(Callback) if name.startswith("on_"))


def checked(callbacks: Sequence[object] | object) -> Sequence[object]:
    """The same, one as a list of one, or a HatchelError that names what is no callback."""
    callbacks = callbacks if isinstance(callbacks, Sequence) else (callbacks,)
    for i, callback in enumerate(callbacks):
        if isinstance(callback, type) or not any(callable(getattr(callback, hook, None)) for hook in HOOKS):
            raise HatchelError(
                f"callbacks[{i}]: {callback!r} is not an object with a method {', '.join(HOOKS[:-1])} or {HOOKS[-1]}"
            )
    return callbacks


def notify(callbacks: Sequence[object], hook: str, *arguments: Any) -> None:
    """Call a method of all that have it."""
    for callback in callbacks:
        getattr(callback, hook, lambda *_: None)(*arguments)


class Tracker(Spec, ABC, family="tracker", home="hatchel.report.trackers"):
    """A program that shows runs while they train."""

    @abstractmethod
    def open(self) -> Callback:
        """What tells it of one run; HatchelError where it is not installed."""


class Stop(Spec, ABC, family="stop", home="hatchel.evaluation"):
    """When to end a training that no longer gets better."""

    every: Count = 500
    """Steps between two looks."""
    patience: Count = 5
    """Looks without a gain after which it ends."""

    @abstractmethod
    def problem(self, spec: RunSpec, data: Dataset) -> str:
        """Why it does not fit a run, with a remedy; empty where it does."""

    def reads(self, loss: Loss) -> Tensor | None:
        """What is averaged between two looks, if anything is."""
        return None

    @abstractmethod
    def value(self, mean: float, run: TrainedRun) -> float:
        """What is looked at, the smaller the better; `mean`: of what it reads."""

    @abstractmethod
    def limit(self, best: float) -> float:
        """Below this a value is a gain."""


class Plateau(Stop):
    """Ends where the mean of the loss, or of one term, over `every` steps falls no more."""

    of: str = "loss"
    """`loss`, or the name of a term of the objective, such as rec."""
    gain: NonNegative = 0.001
    """The share of the best value by which it has to fall."""

    def problem(self, spec: RunSpec, data: Dataset) -> str:
        names = ("loss", *spec.objective)
        return "" if self.of in names else f"stop.of: {self.of!r} is no part of the loss; use one of {', '.join(names)}"

    def reads(self, loss: Loss) -> Tensor | None:
        return loss.objective if self.of == "loss" else loss.terms[self.of]

    def value(self, mean: float, run: TrainedRun) -> float:
        return mean

    def limit(self, best: float) -> float:
        return best - self.gain * abs(best)


class Watch:
    """Looks at a run by its `stop`; kept in every checkpoint, so that a resumed run ends where it would have."""

    def __init__(self, stop: Stop | None, state: Mapping[str, Any]) -> None:
        self._stop = stop
        self._state: dict[str, Any] = {"best": None, "step": 0, "waited": 0, "sum": 0.0, "count": 0, **state}
        self._sum: Tensor | float = self._state["sum"]

    def add(self, loss: Loss) -> None:
        read = self._stop.reads(loss) if self._stop else None
        if read is not None:
            self._sum = read.detach().double() + self._sum
            self._state["count"] += 1

    def due(self, done: int) -> bool:
        return self._stop is not None and done % self._stop.every == 0

    def enough(self, run: TrainedRun) -> bool:
        """Look: whether training ends here."""
        stop, state = self._stop, self._state
        assert stop is not None
        value = stop.value(float(self._sum) / max(1, state["count"]), run)
        if state["best"] is None or value < stop.limit(state["best"]):
            state |= {"best": value, "step": run.steps, "waited": 0}
        else:
            state["waited"] += 1
        self._sum, state["count"] = 0.0, 0
        return ended_early(self.state(), stop)

    def read(self) -> dict[str, float]:
        """For an event: the best value so far, and the step that had it."""
        best = self._state["best"]
        return {} if best is None else {"stop/best": best, "stop/step": self._state["step"]}

    def state(self) -> dict[str, Any]:
        """For a checkpoint; nothing without a `stop`."""
        return {"stop": {**self._state, "sum": float(self._sum)}} if self._stop else {}


def ended_early(meter: Mapping[str, Any], stop: Stop | None) -> bool:
    """Whether what a checkpoint has of the watch says that the run is at its end."""
    return stop is not None and meter.get("stop", {}).get("waited", 0) >= stop.patience
