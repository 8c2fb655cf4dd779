"""RecurD, Fig. 7 left: digits from the representation, with more and more labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hatchel.data.mnist import MNIST
from hatchel.metrics._downstream import Downstream
from hatchel.presets.preset import preset
from hatchel.spec import Count, Share, updated
from hatchel.study.budget import NETWORK
from hatchel.study.cell import Cell, Place, Record
from hatchel.study.cells.digits import linear_classifier
from hatchel.study.cells.trained import Trained
from hatchel.study.claims import higher
from hatchel.study.rows import where
from hatchel.study.store import Entry, Row
from hatchel.study.study import Claim, Scale, Study
from hatchel.study.table import Column, Table, table

SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
METHODS: dict[str, tuple[str, dict[str, Any], Mapping[str, Any]]] = {
    "RecurD": ("recurd", {}, {"decoder": "deconv"}),
    "beta-VAE": ("beta_vae", {"beta": 4}, NETWORK),
    "VAE": ("vae", {}, NETWORK),
}
STEPS = {"smoke": 2, "laptop": 2_000, "paper": 100_000}


class Pixels(Cell):
    """A single-layer network on the pixels: the paper's dotted line."""

    items: Count = 15_000
    """Images, two thirds of them for training."""
    shares: tuple[Share, ...] = SHARES
    """Of the training images that are labelled."""

    def compute(self, place: Place) -> Record:
        """Test accuracy by share."""
        data = MNIST().load()
        chosen = np.random.default_rng(self.seed).choice(len(data), min(self.items, len(data)), replace=False)
        pixels = data.images(chosen).reshape(len(chosen), -1) / np.float32(255)
        factors = data.factors(chosen)
        assert factors is not None
        half = len(chosen) * 2 // 3
        values: dict[str, float] = {}
        for share in self.shares:
            n = round(share * half)
            net = linear_classifier(pixels[:n], factors[:n, 0])
            values[f"accuracy {share:g}"] = float(net.score(pixels[half:], factors[half:, 0]))
        return Record(values)


class DownstreamMNIST(Study, kind="downstream-mnist"):
    """Accuracy of a linear classifier on the representation with 20 to 100 % of the labels, and on the pixels."""

    paper = "000 Fig. 7 left"
    scales = {
        "smoke": "2 steps of 16 images, 300 of them measured",
        "laptop": "2,000 steps of 64 images at 32 px, learning rate 1e-3, 10,000 labels at most, 3 seeds",
        "paper": "100,000 steps of 64 images at 32 px, 10,000 labels at most, 5 seeds",
    }

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """Each method; and the pixels themselves."""
        count = seeds or {"smoke": 1, "laptop": 3, "paper": 5}[scale]
        items = 300 if scale == "smoke" else 15_000
        own = {"steps": STEPS[scale], "batch_size": 16 if scale == "smoke" else 64, "optimizer.lr": 1e-3}
        measures = tuple(Downstream(share=s) for s in SHARES)
        result = [Entry({"representation": "pixels"}, Pixels(seed, items)) for seed in range(count)]
        for label, (method, symbols, fields) in METHODS.items():
            run = updated(preset(method, data=MNIST(), **symbols), own | dict(fields))
            result += [
                Entry({"representation": label}, Trained(seed=seed, run=run, metrics=measures, items=items))
                for seed in range(count)
            ]
        return result

    def tables(self, rows: Sequence[Row]) -> list[Table]:
        """By share of the labels."""
        columns = [Column(f"accuracy {s:g}", f"{100 * s:g} % of labels") for s in SHARES]
        return [table("Test accuracy of a linear classifier", [_named(r) for r in rows], ("representation",), columns)]

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """Accuracy against the share."""
        from hatchel.study.figures import lines

        points = [
            Row({**r.labels, "share": s}, r.seed, r.digest, {"accuracy": r.values[f"accuracy {s:g}"]}, {}, 0.0)
            for r in map(_named, rows)
            for s in SHARES
            if f"accuracy {s:g}" in r.values
        ]
        return {
            "Accuracy by labels": lines(points, "share", "accuracy", "representation", ("share of labels", "accuracy"))
        }

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Section 6.4: RecurD is above beta-VAE at every share."""
        named = [_named(r) for r in rows]
        own, other = (where(named, representation=m) for m in ("RecurD", "beta-VAE"))
        return [
            higher(
                f"RecurD's accuracy with {100 * s:g} % of the labels is above beta-VAE's.",
                own,
                other,
                f"accuracy {s:g}",
            )
            for s in SHARES
        ]


def _named(row: Row) -> Row:
    """With the accuracies under one name, whichever kind of cell they come from."""
    names = {Downstream(share=s).variant: f"accuracy {s:g}" for s in SHARES}
    values = {names.get(k, k): v for k, v in row.values.items()}
    return Row(row.labels, row.seed, row.digest, values, row.details, row.seconds)
