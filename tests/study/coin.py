"""A cell that costs nothing, for tests of what is around cells."""

from __future__ import annotations

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Spec
from hatchel.study.task import Result, Task, Workspace


class Metal(Spec):
    """A part with fields of its own."""

    weight: float = 1.0
    alloy: tuple[str, ...] = ("copper",)


class Coin(Task, kind="test_coin"):
    """heads = bias + seed / 10."""

    bias: float = 0.5
    metal: Metal = Metal()
    broken: bool = False

    def compute(self, workspace: Workspace) -> Result:
        if self.broken:
            raise HatchelError("the coin is broken")
        return Result({"heads": self.bias + self.seed / 10, "tails": 1 - self.bias}, {"curves": {}})
