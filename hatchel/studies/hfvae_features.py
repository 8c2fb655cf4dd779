"""HFVAE, Figs. 5, 6, 7, 11: features of digits and clothes, and their information over training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hatchel.studies.hfvae_discrete import DIGITS, METHODS, SEEDS, SNAPSHOTS, looked_at, run_of, strips_figure
from hatchel.study.cells.digits import OFF
from hatchel.study.cells.strokes import Strokes
from hatchel.study.claims import higher, inside
from hatchel.study.rows import column, groups, where
from hatchel.study.store import Entry, Row
from hatchel.study.study import Claim, Scale, Study
from hatchel.study.table import Column, Table, table


class HFVAEFeatures(Study, kind="hfvae-features"):
    """Traversals on MNIST and Fashion-MNIST, I(x; z_d) over training, and the thickness of each digit traversed."""

    paper = "Esmaeili et al. 2019, Figs. 5, 6, 7, 11"
    scales = {
        "smoke": "2 steps of 16 images",
        "laptop": "2,000 steps of 256 images, the paper's MLPs, rate 1e-3, HFVAE on MNIST and F-MNIST, 3 seeds",
        "paper": "the runs of hfvae-discrete: 2,400 steps of 512 images (20 epochs; the paper prints no number), the "
        "paper's MLPs, rate 1e-3, three methods, 3 seeds",
    }

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """HFVAE on both data sets, with the others at the paper's scale; the thickness of all three."""
        count = seeds or SEEDS[scale]
        methods = METHODS if scale == "paper" else ("HFVAE",)
        result = [
            Entry({"data": name, "method": label, "what": "training"}, cell)
            for name, source in DIGITS.items()
            for label in methods
            for cell in looked_at(run_of(label, source, scale), scale, count, SNAPSHOTS[scale])
        ]
        for label in METHODS:
            run = run_of(label, DIGITS["MNIST"], scale)
            size = {"items": 400, "each": 2} if scale == "smoke" else {}
            labels = {"data": "MNIST", "method": label, "what": "thickness"}
            result += [Entry(labels, Strokes(seed, run, **size)) for seed in range(count)]
        return result

    def tables(self, rows: Sequence[Row]) -> list[Table]:
        """How many dimensions are used, and what they leave alone."""
        widths = (
            Column("known", "R² of thickness"),
            Column("grows", "thickest : thinnest", digits=2),
            Column("kept", "digit kept"),
        )
        columns = (
            Column("unused", "dimensions with I < 0.05", digits=1),
            Column("between", "with I from 0.05 to 0.5", digits=1),
            Column("kept", "class kept along style"),
            Column("confidence", "mean top class probability"),
            Column("reconstruction", "reconstruction (nats)", digits=1),
        )
        best = "The coordinate that knows the stroke's thickness best, from -3 to 3"
        kinds = (("training", "Features", columns), ("thickness", best, widths))
        return [
            table(title, chosen, ("data", "method"), shown)
            for what, title, shown in kinds
            if (chosen := where(rows, what=what))
        ]

    def figures(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """Curves of I(x; z_d), and traversals."""
        from hatchel.study.figures import COLOURS, KEY, grid_of

        zero = [r for r in rows if r.seed == 0]
        first = {f"{r.labels['method']} on {r.labels['data']}": r for r in where(zero, what="training")}

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

        def widths(axes: Any, row: Row) -> None:
            for i, (digit, means) in enumerate(row.details["thickness"].items()):
                colour, style = COLOURS[i % len(COLOURS)], ("-", "--")[i // len(COLOURS) % 2]
                axes.plot(row.details["stops"], means, style, color=colour, label=digit)
            axes.set_xlabel(f"z{row.details['coordinate']}")
            axes.set_ylabel("thickness, pixels")

        stroked = {str(r.labels["method"]): r for r in where(zero, what="thickness")}
        if stroked:
            figure = grid_of(stroked, widths, across=3, height=2.5, width=9.0)
            figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=10, **KEY)
            result["Thickness of each digit"] = figure
        for name, row in stroked.items():
            result[f"{name}: thickness traversed"] = strips_figure(row.details["strips"])
        return result

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Fig. 7: the information of unused dimensions falls to 0."""
        result: list[Claim] = []
        for (data,), group in groups(where(rows, method="HFVAE", what="training"), "data").items():
            text = f"{data}: some of HFVAE's ten dimensions are unused, with I(x; z_d) below {OFF} nats (how many)."
            result.append(inside(text, column(group, "unused"), 1, 10))
        stroked = where(rows, what="thickness")
        own, other = (where(stroked, method=m) for m in ("HFVAE", "beta-VAE"))
        if own or other:
            result.append(higher("HFVAE keeps more digits than beta-VAE as thickness changes.", own, other, "kept"))
        return result
