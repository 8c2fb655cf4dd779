"""RecurD, Fig. 7 right: MNIST-Rotation, one angle left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hatchel.data.memory import Memory
from hatchel.data.mnist_rotation import ANGLES, MNISTRotation
from hatchel.metrics.linear import logistic_regression
from hatchel.presets.preset import preset
from hatchel.spec import updated
from hatchel.studies.downstream_mnist import METHODS
from hatchel.study.cell import Cell, Place, Record
from hatchel.study.claims import higher
from hatchel.study.rows import where
from hatchel.study.store import Entry, Row
from hatchel.study.study import Claim, Scale, Study
from hatchel.study.table import Column, Table, table
from hatchel.training.spec import RunSpec

STEPS = {"smoke": 2, "laptop": 1_000, "paper": 20_000}
LEFT_OUT = {"smoke": (0,), "laptop": (0, 75), "paper": ANGLES}


class LeftOut(Cell):
    """A run on five domains, a linear classifier on its codes of them, and its accuracy on the sixth."""

    run: RunSpec
    """What is trained, on images given to it; its seed is the cell's."""
    angle: int
    """The domain left out."""

    def compute(self, place: Place) -> Record:
        """Accuracy on the domain left out, and on the others."""
        from hatchel.run import train

        data = MNISTRotation().load()
        items = np.arange(len(data))
        factors = data.factors(items)
        assert factors is not None
        out = factors[:, 0] == ANGLES.index(self.angle)
        images, digits = data.images(items), factors[:, 1]
        spec = self.run.with_fields(seed=self.seed, threads=place.threads)
        run = train(spec, data=images[~out], out=place.folder / "run", resume=True, progress=False)
        codes = run.encode(images).astype(np.float64)
        centre, spread = codes[~out].mean(axis=0), codes[~out].std(axis=0)
        codes = (codes - centre) / np.where(spread > 0, spread, 1.0)
        named = logistic_regression(codes[~out], digits[~out]).scores(codes).argmax(axis=1)
        right = named == digits
        return Record({"left out": float(right[out].mean()), "others": float(right[~out].mean())})


class DomainGeneralisation(Study, kind="domain-generalisation"):
    """Digits of an angle that neither the representation nor its classifier has seen."""

    paper = "000 Fig. 7 right"
    scales = {
        "smoke": "2 steps of 16 images, 0 degrees left out",
        "laptop": "1,000 steps of 64 images at 32 px, learning rate 1e-3, 0 and 75 degrees left out, 3 seeds",
        "paper": "20,000 steps of 64 images at 32 px, each of the six angles left out, 5 seeds",
    }

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """Each method, each angle."""
        count = seeds or {"smoke": 1, "laptop": 3, "paper": 5}[scale]
        own = {"steps": STEPS[scale], "batch_size": 16 if scale == "smoke" else 64, "optimizer.lr": 1e-3}
        result: list[Entry] = []
        for label, (method, symbols, fields) in METHODS.items():
            run = updated(preset(method, data=Memory(), **symbols), own | dict(fields))
            result += [
                Entry({"method": label, "angle": angle}, LeftOut(seed, run, angle))
                for angle in LEFT_OUT[scale]
                for seed in range(count)
            ]
        return result

    def tables(self, rows: Sequence[Row]) -> list[Table]:
        """By method and angle."""
        columns = (Column("left out", "accuracy, angle left out"), Column("others", "accuracy, angles seen"))
        return [table("Test accuracy of a linear classifier", rows, ("method", "angle"), columns)]

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """Accuracy by angle."""
        from hatchel.study.figures import lines

        return {"Accuracy by angle left out": lines(rows, "angle", "left out", "method", ("angle", "accuracy"))}

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Section 6.4: RecurD above beta-VAE."""
        angles = sorted({int(r.labels["angle"]) for r in rows})
        return [
            higher(f"RecurD is above beta-VAE where {a} degrees are left out.", where(rows, method="RecurD", angle=a),
                   where(rows, method="beta-VAE", angle=a), "left out")
            for a in angles
        ]  # fmt: skip
