"""HFVAE, Fig. 9: thick sevens and narrow zeros that training never showed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hatchel.data.mnist import MNIST
from hatchel.data.pruned_mnist import PrunedMNIST
from hatchel.presets.preset import preset
from hatchel.spec import Count, updated
from hatchel.studies.hfvae_discrete import BATCH, METHODS, NETS
from hatchel.study.cell import Cell, Place, Record
from hatchel.study.cells.trained import Trained
from hatchel.study.rows import groups, measured, where
from hatchel.study.store import Entry, Row
from hatchel.study.study import Claim, Scale, Study
from hatchel.study.table import Column, Table, table
from hatchel.training.spec import RunSpec

STEPS = {"smoke": 2, "laptop": 2_000, "paper": 24_000}


class ZeroShot(Cell):
    """A run's reconstruction error on the images that were taken out, and on those that were left."""

    run: RunSpec
    """What is trained; its seed is the cell's."""
    items: Count = 1_000
    """Images of each kind at most."""

    def compute(self, place: Place) -> Record:
        """Nats an image, and some pictures with their reconstructions."""
        run = Trained(seed=self.seed, run=self.run).trained(place)
        values: dict[str, float] = {}
        details: dict[str, Any] = {}
        for part in ("removed", "kept"):
            data = PrunedMNIST(part=part, size=28).load()
            factors = data.factors(np.arange(len(data)))
            assert factors is not None
            chosen = np.flatnonzero(np.isin(factors[:, 0], (0, 7)))
            chosen = np.random.default_rng(self.seed).permutation(chosen)[: self.items]
            images = data.images(np.sort(chosen))
            rebuilt = run.reconstruct(images).clip(1e-6, 1 - 1e-6)
            x = images / np.float32(255)
            values[part] = float(-(x * np.log(rebuilt) + (1 - x) * np.log(1 - rebuilt)).sum(axis=(1, 2, 3)).mean())
            details[part] = [images[:8, ..., 0].tolist(), (rebuilt[:8, ..., 0] * 255).astype(np.uint8).tolist()]
        values["gap"] = values["removed"] - values["kept"]
        return Record(values, details)


class HFVAEZeroShot(Study, kind="hfvae-zero-shot"):
    """Train without the thick sevens and narrow zeros, then reconstruct them; beside a model that saw them."""

    paper = "003 Fig. 9"
    scales = {
        "smoke": "2 steps of 16 images",
        "laptop": "2,000 steps of 256 images, the paper's MLPs, learning rate 1e-3, 25 % of 7s and 0s removed, 1 seed",
        "paper": "24,000 steps of 512 images, a quarter of 7s and 0s removed (the paper prints no share), 10 seeds",
    }

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """HFVAE and beta-VAE, trained on the pruned set and on all."""
        result: list[Entry] = []
        for shown, source in {"pruned": PrunedMNIST(size=28), "all": MNIST(size=28)}.items():
            for label in ("HFVAE", "beta-VAE"):
                method, symbols, fields = METHODS[label]
                own = {"steps": STEPS[scale], "batch_size": BATCH[scale], "optimizer.lr": 1e-3}
                run = updated(preset(method, data=source, **symbols), own | dict(NETS) | fields)
                items = 50 if scale == "smoke" else 1_000
                result += [
                    Entry({"method": label, "trained on": shown}, ZeroShot(seed, run, items))
                    for seed in range(seeds or (10 if scale == "paper" else 1))
                ]
        return result

    def tables(self, rows: Sequence[Row]) -> list[Table]:
        """The error on removed and on kept sevens and zeros."""
        columns = (
            Column("removed", "thick 7s, narrow 0s (nats)", digits=1),
            Column("kept", "the other 7s and 0s (nats)", digits=1),
            Column("gap", "gap", digits=1),
        )
        return [table("Reconstruction error", rows, ("method", "trained on"), columns)]

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """Removed images and what each model makes of them."""
        from hatchel.report.pictures import rows_figure

        first = [r for r in rows if r.seed == 0]
        if not first:
            return {}
        pictures = [np.array(first[0].details["removed"][0], dtype=np.uint8)]
        pictures += [np.array(r.details["removed"][1], dtype=np.uint8) for r in first]
        labels = ["original", *(f"{r.labels['method']}, {r.labels['trained on']}" for r in first)]
        return {"Removed digits, reconstructed": rows_figure(np.stack(pictures)[..., None], labels)}

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Section 6.4: what was never shown is reconstructed nearly as well as by a model that saw it."""
        result: list[Claim] = []
        for (method,), group in groups(rows, "method").items():
            unseen, seen = (measured(where(group, **{"trained on": t}), "removed") for t in ("pruned", "all"))
            if unseen and seen:
                ratio = unseen.value / seen.value
                text = f"{method}: the error on removed digits is within 15 % of that of a model that saw them."
                evidence = f"{unseen.value:.1f} against {seen.value:.1f} nats ({100 * (ratio - 1):+.0f} %)"
                result.append(Claim(text, ratio <= 1.15, evidence))
        return result
