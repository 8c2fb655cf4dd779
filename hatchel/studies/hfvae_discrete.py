"""HFVAE, section 6.3: does the discrete variable find the classes?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hatchel.data.mnist import MNIST, FashionMNIST
from hatchel.data.source import Source
from hatchel.presets.preset import preset
from hatchel.spec import updated
from hatchel.study.cells.digits import Digits
from hatchel.study.cells.trained import metrics
from hatchel.study.claims import higher
from hatchel.study.rows import measured, where
from hatchel.study.store import Entry, Row
from hatchel.study.study import Claim, Scale, Study
from hatchel.study.table import Column, Table, table

MEASURED = metrics("clustering", "elbo_terms", "reconstruction", "gaussian_tc")
NETS: Mapping[str, Any] = {"encoder": "hfvae_mnist", "decoder": "hfvae_mnist_decoder"}
METHODS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "HFVAE": ("hf_vae", {}, {}),
    "beta-SVAE": ("beta_svae", {"beta": 4}, {}),
    "beta-VAE": ("beta_vae", {"beta": 4}, {"latent": {"kind": "diagonal", "dim": 10}}),
}
STEPS = {"smoke": 2, "laptop": 2_000, "paper": 24_000}
SEEDS = {"smoke": 1, "laptop": 2, "paper": 10}
BATCH = {"smoke": 16, "laptop": 256, "paper": 512}


def data(scale: Scale) -> dict[str, Source]:
    """MNIST, and Fashion-MNIST beyond the laptop."""
    both: dict[str, Source] = {"MNIST": MNIST(size=28), "F-MNIST": FashionMNIST(size=28)}
    return both if scale == "paper" else {"MNIST": both["MNIST"]}


class HFVAEDiscrete(Study, kind="hfvae-discrete"):
    """Clustering accuracy and NMI of the discrete variable, and whether a traversal of style keeps the digit."""

    paper = "003 §6.3, Figs. 5-7"
    scales = {
        "smoke": "2 steps of 16 images",
        "laptop": "2,000 steps of 256 images (8.5 epochs), the paper's MLPs, learning rate 1e-3, MNIST, 2 seeds",
        "paper": "24,000 steps of 512 images (200 epochs), MNIST and F-MNIST, 10 seeds",
    }

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """Three methods on each data set."""
        result: list[Entry] = []
        for name, source in data(scale).items():
            for label, (method, symbols, fields) in METHODS.items():
                run = preset(method, data=source, **symbols)
                own = {"steps": STEPS[scale], "batch_size": BATCH[scale], "optimizer.lr": 1e-3}
                run = updated(run, own | dict(NETS) | fields)
                size = {"items": 400, "traversed": 4} if scale == "smoke" else {}
                result += [
                    Entry({"data": name, "method": label}, Digits(seed, run, MEASURED, **size))
                    for seed in range(seeds or SEEDS[scale])
                ]
        return result

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
        own = where(rows, data="MNIST", method="HFVAE")
        other = where(rows, data="MNIST", method="beta-SVAE")
        result = [higher("HFVAE's clustering accuracy is above beta-SVAE's.", own, other, "clustering")]
        text = "HFVAE's dimensions are either used (I above 0.5 nats) or off (below 0.05)."
        found = measured(own, "between")
        if found:
            result.append(Claim(text, found.value == 0, f"{found.value:g} of 10 dimensions lie between, on average"))
        return result


def strips_figure(strips: Mapping[str, Any]) -> Any:
    """Rows of traversals, labelled with their dimension."""
    from hatchel.report.pictures import rows_figure

    images = np.concatenate([np.array(rows, dtype=np.uint8) for rows in strips.values()])  # (rows, stops, H, W)
    labels = [f"{name}" for name, rows in strips.items() for _ in rows]
    return rows_figure(images[..., None], labels)
