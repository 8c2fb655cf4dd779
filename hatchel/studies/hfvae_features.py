"""HFVAE, Figs. 5, 6, 7, 11: features of digits and clothes, and their information over training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hatchel.data.mnist import MNIST, FashionMNIST
from hatchel.presets.preset import preset
from hatchel.spec import updated
from hatchel.studies.hfvae_discrete import BATCH, METHODS, NETS, strips_figure
from hatchel.study.cells.digits import OFF, Digits, used
from hatchel.study.cells.trained import metrics
from hatchel.study.rows import column, groups
from hatchel.study.store import Entry, Row
from hatchel.study.study import Claim, Scale, Study
from hatchel.study.table import Column, Table, table

MEASURED = metrics("elbo_terms", "reconstruction")
STEPS = {"smoke": 2, "laptop": 2_000, "paper": 24_000}
SNAPSHOTS = {"smoke": 2, "laptop": 5, "paper": 20}


class HFVAEFeatures(Study, kind="hfvae-features"):
    """Traversals on MNIST and Fashion-MNIST, and I(x; z_d) of every dimension over training."""

    paper = "003 Figs. 5, 6, 7, 11"
    scales = {
        "smoke": "2 steps of 16 images",
        "laptop": "2,000 steps of 256 images, the paper's MLPs, learning rate 1e-3, HFVAE on MNIST and F-MNIST, 1 seed",
        "paper": "24,000 steps of 512 images, three methods, 10 seeds",
    }

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """HFVAE on both data sets; beta-SVAE and beta-VAE at the paper's scale."""
        sources = {"MNIST": MNIST(size=28), "F-MNIST": FashionMNIST(size=28)}
        methods = METHODS if scale == "paper" else {"HFVAE": METHODS["HFVAE"]}
        size = {"items": 400, "traversed": 4} if scale == "smoke" else {}
        result: list[Entry] = []
        for name, source in sources.items():
            for label, (method, symbols, fields) in methods.items():
                own = {"steps": STEPS[scale], "batch_size": BATCH[scale], "optimizer.lr": 1e-3}
                run = updated(preset(method, data=source, **symbols), own | dict(NETS) | fields)
                result += [
                    Entry({"data": name, "method": label}, Digits(s, run, MEASURED, snapshots=SNAPSHOTS[scale], **size))
                    for s in range(seeds or (10 if scale == "paper" else 1))
                ]
        return result

    def tables(self, rows: Sequence[Row]) -> list[Table]:
        """How many dimensions are used, and what they leave alone."""
        columns = (
            Column("unused", "dimensions with I < 0.05", digits=1),
            Column("between", "with I from 0.05 to 0.5", digits=1),
            Column("kept", "class kept along style"),
            Column("confidence", "mean top class probability"),
            Column("reconstruction", "reconstruction (nats)", digits=1),
        )
        return [table("Features", rows, ("data", "method"), columns)]

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """Curves of I(x; z_d), and traversals."""
        from hatchel.study.figures import COLOURS, grid_of

        first = {f"{r.labels['method']} on {r.labels['data']}": r for r in rows if r.seed == 0}

        def panel(axes: Any, row: Row) -> None:
            curves = {k: v for k, v in row.details["curves"].items() if "per_dimension.z" in k and "@sample" not in k}
            for colour, points in zip(COLOURS * 3, curves.values(), strict=False):
                axes.plot([p[0] for p in points], [p[1] for p in points], color=colour)
            axes.set_xlabel("steps")
            axes.set_ylabel("I(x; z_d), nats")

        result: dict[str, Any] = {}
        if first:
            result["Information over training"] = grid_of(first, panel, across=2, height=2.4)
        for name, row in first.items():
            if row.details.get("strips"):
                result[f"{name}: style traversed"] = strips_figure(row.details["strips"])
        return result

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Fig. 7: the information of unused dimensions falls to 0."""
        result: list[Claim] = []
        for (data,), group in groups([r for r in rows if r.labels["method"] == "HFVAE"], "data").items():
            unused = column(group, "unused")
            least = min(min(used(dict(r.values))) for r in group)
            text = f"{data}: some of HFVAE's ten dimensions are unused, with I(x; z_d) below {OFF} nats."
            evidence = f"{', '.join(f'{u:g}' for u in unused)} unused; the smallest I is {least:.3f} nats"
            result.append(Claim(text, all(u > 0 for u in unused), evidence))
        return result
