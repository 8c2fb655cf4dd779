"""Agreement: how alike the codes of several seeds of a run are, which needs no factors."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge

from hatchel.core.spec import Count
from hatchel.study.cell import Cell, Place, Record
from hatchel.study.cells.trained import Trained
from hatchel.training.spec import RunSpec


class Agreement(Cell):
    """UDR of each seed's model among the others (Duan et al. 2020): `udr` is their mean, `udr.seed_S` each one's.

    The models are the runs of `Trained` cells with these seeds: those that are trained already are not trained again.
    """

    run: RunSpec
    """What is trained; seeds `seed`, `seed` + 1, ..."""
    seeds: Annotated[int, Ge(2)] = 3
    """Models that are compared."""
    items: Count = 5_000
    """Items that all of them encode."""

    def trainings(self) -> tuple[RunSpec, ...]:
        """One of each seed."""
        return tuple(self.run.with_fields(seed=seed) for seed in range(self.seed, self.seed + self.seeds))

    def compute(self, place: Place) -> Record:
        """Encode the same items by every model, then compare each with the rest."""
        from hatchel.evaluation.evaluation import encodings
        from hatchel.metrics import udr

        numbers = [run.seed for run in self.trainings()]
        runs = [Trained(seed=number, run=self.run).trained(place) for number in numbers]
        codes = [encodings(run, self.items, seed=0).mean for run in runs]
        scores = [float(udr(own, [c for j, c in enumerate(codes) if j != i])) for i, own in enumerate(codes)]
        parts = {f"udr.seed_{number}": score for number, score in zip(numbers, scores, strict=True)}
        return Record({"udr": sum(scores) / len(scores), **parts})
