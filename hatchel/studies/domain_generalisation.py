"""RecurD, Fig. 7 right: MNIST-Rotation, one angle left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hatchel.data.mnist import ANGLES, MNISTRotation
from hatchel.studies.downstream_mnist import METHODS, by_share, runs
from hatchel.study.cells.classified import SHARES, Classified, accuracy
from hatchel.study.claims import higher
from hatchel.study.rows import groups, where
from hatchel.study.store import Entry, Row
from hatchel.study.study import Claim, Scale, Study
from hatchel.study.table import Column, Table, table
from hatchel.training.spec import RunSpec

STEPS = {"smoke": 2, "laptop": 1_000, "paper": 1_000}
LEFT_OUT = {"smoke": (0,), "laptop": (0, 75), "paper": ANGLES}


class DomainGeneralisation(Study, kind="domain-generalisation"):
    """Digits of an angle that neither the representation nor its classifier has seen."""

    paper = "Chen et al. 2022, Fig. 7 right"
    scales = {
        "smoke": "2 steps of 16 images, 0 degrees left out",
        "laptop": "1,000 steps of 64 images at 32 px, learning rate 1e-3, three methods, 0 and 75 degrees left out, "
        "3 seeds",
        "paper": "the paper's six methods and a VAE, each of the six angles left out; 1,000 steps of 64 of the 5,000 "
        "images (13 epochs) at 32 px, learning rate 1e-3 (the paper prints neither), 3 seeds",
    }

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """Each method and the pixels, each angle; all of one seed before the next."""
        result: list[Entry] = []
        for seed in range(seeds or (1 if scale == "smoke" else 3)):
            for angle in LEFT_OUT[scale]:
                train, test = (MNISTRotation(angles=a) for a in (tuple(b for b in ANGLES if b != angle), (angle,)))
                found: dict[str, RunSpec | None] = {"pixels": None, **runs(train, STEPS[scale], scale)}
                result += [
                    Entry({"method": label, "angle": angle}, Classified(seed, train, test, run))
                    for label, run in found.items()
                ]
        return result

    def tables(self, rows: Sequence[Row]) -> list[Table]:
        """By method, averaged over the angles; and by angle, with all labels."""
        means, angles = over_angles(rows), sorted({int(r.labels["angle"]) for r in rows})
        shares = [Column(accuracy(s), f"{100 * s:g} % of labels") for s in SHARES]
        single = [Column(f"angle {a}", f"{a}°") for a in angles]
        return [
            table("Accuracy on the angle left out, averaged over the angles", means, ("method",), shares),
            table("The same with all labels, by the angle left out", means, ("method",), single),
        ]

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """Accuracy by share, averaged over the angles, and by angle."""
        from hatchel.study.figures import lines

        return {
            "Accuracy by labels": by_share(over_angles(rows), "method"),
            "Accuracy by angle left out": lines(rows, "angle", accuracy(1.0), "method", ("angle", "accuracy")),
        }

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Section 5.2: RecurD above the baselines, on the average over the angles."""
        means = over_angles(rows)
        own = where(means, method="RecurD")
        return [
            higher(f"RecurD is above {other} on the angle left out, {words} of the labels, averaged over the angles.",
                   own, where(means, method=other), accuracy(share))
            for other in METHODS
            if other not in ("RecurD", "VAE") and where(means, method=other)
            for share, words in ((SHARES[0], "20 %"), (SHARES[-1], "all"))
        ]  # fmt: skip


def over_angles(rows: Sequence[Row]) -> list[Row]:
    """A row for each method and seed: its accuracy at each angle, and the mean where no angle is missing."""
    angles = {r.labels["angle"] for r in rows}
    result: list[Row] = []
    for (method, seed), group in _of_a_seed(rows).items():
        values = {f"angle {r.labels['angle']}": r.values[accuracy(1.0)] for r in group}
        if len(group) == len(angles):
            values |= {name: float(np.mean([r.values[name] for r in group])) for name in map(accuracy, SHARES)}
        result.append(Row({"method": method}, seed, group[0].digest, values, {}, 0.0))
    return result


def _of_a_seed(rows: Sequence[Row]) -> dict[tuple[str, int], list[Row]]:
    return {
        (str(method), seed): [r for r in group if r.seed == seed]
        for (method,), group in groups(rows, "method").items()
        for seed in sorted({r.seed for r in group})
    }
