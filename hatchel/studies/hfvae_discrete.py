"""HFVAE, section 6.3: does the discrete variable find the classes?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hatchel.core.spec import updated
from hatchel.data.mnist import MNIST, FashionMNIST
from hatchel.data.source import Source
from hatchel.methods.method import preset
from hatchel.studies.hfvae_scores import HFVAEScores
from hatchel.study.cells.digits import Digits
from hatchel.study.cells.trained import Trained, metrics
from hatchel.study.claims import higher, inside
from hatchel.study.rows import column, groups, where
from hatchel.study.store import Entry, Row
from hatchel.study.study import Claim, Scale, Study
from hatchel.study.table import Column, Table, table
from hatchel.training.spec import RunSpec

MEASURED = metrics("clustering", "elbo_terms", "reconstruction", "gaussian_tc")
NETS: Mapping[str, Any] = {"encoder": "hfvae_mnist", "decoder": "hfvae_mnist_decoder"}
METHODS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "HFVAE": ("hf_vae", {}, {}),
    "beta-SVAE": ("beta_svae", {"beta": 4}, {}),
    "beta-VAE": ("beta_vae", {"beta": 4}, {"latent": {"kind": "diagonal", "dim": 10}}),
}
STEPS = {"smoke": 2, "laptop": 2_000, "paper": 2_400}
SEEDS = {"smoke": 1, "laptop": 3, "paper": 3}
SNAPSHOTS = {"smoke": 2, "laptop": 5, "paper": 6}
BATCH = {"smoke": 16, "laptop": 256, "paper": 512}
DIGITS: dict[str, Source] = {"MNIST": MNIST(size=28), "F-MNIST": FashionMNIST(size=28)}


def run_of(method: str, source: Source, scale: Scale) -> RunSpec:
    """One of the three methods on digits or clothes."""
    name, symbols, fields = METHODS[method]
    own = {"steps": STEPS[scale], "batch_size": BATCH[scale], "optimizer.lr": 1e-3}
    return updated(preset(name, data=source, **symbols), own | dict(NETS) | fields)


def on_sprites(scale: Scale) -> dict[tuple[str, str], RunSpec]:
    """HFVAE and beta-SVAE with three classes for the three shapes of dSprites: the runs of hfvae-scores."""
    return {
        ("dSprites", str(e.labels["method"])): e.cell.run
        for e in HFVAEScores().entries(scale, 1)
        if isinstance(e.cell, Trained) and e.labels["method"] in ("HFVAE", "beta-SVAE")
    }


def looked_at(run: RunSpec, scale: Scale, seeds: int, snapshots: int) -> list[Digits]:
    """A run measured at its end or on its way too: on digits the cells of hfvae-discrete and of hfvae-features."""
    size = {"items": 400, "traversed": 4} if scale == "smoke" else {}
    return [Digits(seed, run, MEASURED, snapshots=snapshots, **size) for seed in range(seeds)]


class HFVAEDiscrete(Study, kind="hfvae-discrete"):
    """Clustering accuracy and NMI of the discrete variable, and whether a traversal of style keeps the digit."""

    paper = "Esmaeili et al. 2019, §6.3, Figs. 5-7"
    scales = {
        "smoke": "2 steps of 16 images",
        "laptop": "2,000 steps of 256 images (8.5 epochs), the paper's MLPs, learning rate 1e-3, 3 seeds; "
        "dSprites at 32 px in batches of 128",
        "paper": "2,400 steps of 512 images (20 epochs; the paper prints no number), the paper's MLPs, rate 1e-3, "
        "3 seeds; dSprites: 100,000 steps of 1,024",
    }

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """Three methods on each data set; on dSprites the two with a discrete variable."""
        runs = {(name, label): run_of(label, DIGITS[name], scale) for name in DIGITS for label in METHODS}
        runs |= on_sprites(scale)
        return [
            Entry({"data": name, "method": label}, cell)
            for (name, label), run in runs.items()
            for cell in looked_at(run, scale, seeds or SEEDS[scale], SNAPSHOTS[scale] if name in DIGITS else 1)
        ]

    def tables(self, rows: Sequence[Row]) -> list[Table]:
        """Accuracy with what it is worth: how sure the classes are."""
        columns = (
            Column("clustering", "clustering accuracy"),
            Column("clustering.nmi", "NMI"),
            Column("confidence", "mean top class probability"),
            Column("kept", "digit kept along style"),
            Column("judge", "judge's own accuracy"),
            Column("unused", "dimensions with I < 0.05", digits=1),
            Column("between", "with I from 0.05 to 0.5", digits=1),
            Column("reconstruction", "reconstruction (nats)", digits=1),
        )
        return [table("Discrete variable and style", rows, ("data", "method"), columns)]

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """Traversals of the first seed, and the information of every dimension."""
        from hatchel.report.style import ACCENT
        from hatchel.study.figures import grid_of

        result: dict[str, Any] = {}
        first = [r for r in rows if r.seed == 0 and r.labels["data"] == "MNIST"]

        def bars(axes: Any, row: Row) -> None:
            values = row.details["information"]
            axes.bar(range(len(values)), values, color=ACCENT)
            axes.set_xlabel("real dimension, by information")
            axes.set_ylabel("I(x; z_d), nats")

        if first:
            panels = {str(r.labels["method"]): r for r in first}
            result["Information of each dimension"] = grid_of(panels, bars, across=3, height=2.3, width=9.0)
        for row in first:
            strips = row.details.get("strips")
            if strips:
                result[f"{row.labels['method']}: style traversed"] = strips_figure(strips)
        return result

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Section 6: against beta-SVAE; unused dimensions are off."""
        result: list[Claim] = []
        for (data,), group in groups(rows, "data").items():
            own, other = (where(group, method=m) for m in ("HFVAE", "beta-SVAE"))
            text = f"{data}: HFVAE's clustering accuracy is above beta-SVAE's."
            result.append(higher(text, own, other, "clustering"))
            text = f"{data}: HFVAE's dimensions are used (I above 0.5 nats) or off (below 0.05), none between (count)."
            result.append(inside(text, column(own, "between"), 0, 0))
        return result


def strips_figure(strips: Mapping[str, Any]) -> Any:
    """Rows of traversals, labelled with their dimension."""
    from hatchel.report.pictures import rows_figure

    images = np.concatenate([np.array(rows, dtype=np.uint8) for rows in strips.values()])  # (rows, stops, H, W)
    labels = [f"{name}" for name, rows in strips.items() for _ in rows]
    return rows_figure(images[..., None], labels)
