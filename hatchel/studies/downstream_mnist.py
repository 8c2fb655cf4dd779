"""RecurD, Fig. 7 left: digits from the representation, with more and more labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hatchel.data.mnist import MNIST
from hatchel.data.source import Source
from hatchel.methods.resolve import resolve
from hatchel.study.budget import NETWORK
from hatchel.study.cells.classified import SHARES, Classified, accuracy
from hatchel.study.claims import higher
from hatchel.study.rows import where
from hatchel.study.store import Entry, Row
from hatchel.study.study import Claim, Scale, Study
from hatchel.study.table import Column, Table, table
from hatchel.training.spec import RunSpec

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "RecurD": ("recurd", {}),
    "beta-VAE": ("beta_vae", {"beta": 4}),
    "VAE": ("vae", {}),  # ours: what the penalties take away
    "AnnealedVAE": ("annealed_vae", {"gamma": 1000}),
    "FactorVAE": ("factor_vae", {"gamma": 6.4}),
    "beta-TCVAE": ("beta_tcvae", {"beta": 4}),
    "DIP-VAE": ("dip_vae_i", {"od": 100, "d": 10}),
}
COUNT = {"smoke": 7, "laptop": 3, "paper": 7}
"""How many of the methods, from the first."""
STEPS = {"smoke": 2, "laptop": 2_000, "paper": 2_000}
LABELS = {"smoke": 200, "laptop": 10_000, "paper": 60_000}


def runs(data: Source, steps: int, scale: Scale) -> dict[str, RunSpec]:
    """The methods of a scale on some data, with the network of the paper's Table 3 (RecurD: its own encoder)."""
    own = {"steps": steps, "batch_size": 16 if scale == "smoke" else 64, "optimizer.lr": 1e-3}
    return {
        label: resolve(method, data, own | symbols | ({"decoder": "deconv"} if method == "recurd" else dict(NETWORK)))
        for label, (method, symbols) in list(METHODS.items())[: COUNT[scale]]
    }


class DownstreamMNIST(Study, kind="downstream-mnist"):
    """Accuracy of a linear classifier on the representation with 20 to 100 % of the labels, and on the pixels."""

    paper = "Chen et al. 2022, Fig. 7 left"
    scales = {
        "smoke": "2 steps of 16 images, 200 labels",
        "laptop": "2,000 steps of 64 images at 32 px, learning rate 1e-3, three methods, 10,000 labels, 3 seeds",
        "paper": "the paper's six methods and a VAE, all 60,000 labels, the 10,000 test images; 2,000 steps of 64 "
        "images at 32 px, learning rate 1e-3 (the paper prints neither), 3 seeds",
    }

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """Each method; and the pixels themselves."""
        train, test = MNIST(), MNIST(part="test")
        found: dict[str, RunSpec | None] = {"pixels": None, **runs(train, STEPS[scale], scale)}
        return [
            Entry({"representation": label}, Classified(seed, train, test, run, LABELS[scale]))
            for label, run in found.items()
            for seed in range(seeds or (1 if scale == "smoke" else 3))
        ]

    def tables(self, rows: Sequence[Row]) -> list[Table]:
        """By share of the labels."""
        columns = [Column(accuracy(s), f"{100 * s:g} % of labels") for s in SHARES]
        return [table("Test accuracy of a linear classifier", rows, ("representation",), columns)]

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """Accuracy against the share."""
        return {"Accuracy by labels": by_share(rows, "representation")}

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Section 5.2: RecurD is above the baselines at every share; these are below the single-layer network."""
        result = [
            higher(
                f"RecurD's accuracy with {100 * s:g} % of the labels is above {other}'s.",
                where(rows, representation="RecurD"),
                where(rows, representation=other),
                accuracy(s),
            )
            for other in METHODS
            if other not in ("RecurD", "VAE")
            for s in (SHARES[0], SHARES[-1])
            if where(rows, representation=other)
        ]
        pixels, others = where(rows, representation="pixels"), where(rows, representation="beta-VAE")
        text = "The single-layer network on pixels is above beta-VAE with all labels."
        return [*result, higher(text, pixels, others, accuracy(1.0))]


def by_share(rows: Sequence[Row], label: str) -> Any:
    """A line for each value of a label: accuracy against the share of labels."""
    from hatchel.study.figures import lines

    points = [
        Row({label: r.labels[label], "share": s}, r.seed, r.digest, {"accuracy": r.values[accuracy(s)]}, {}, 0.0)
        for r in rows
        for s in SHARES
        if accuracy(s) in r.values
    ]
    return lines(points, "share", "accuracy", label, ("share of labels", "accuracy"))
