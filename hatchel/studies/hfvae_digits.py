"""HFVAE (Esmaeili et al. 2019) on digits and clothes: the discrete variable, features, and unseen combinations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hatchel.data.mnist import MNIST, FashionMNIST, PrunedMNIST
from hatchel.data.source import Source
from hatchel.methods.resolve import resolve
from hatchel.studies.common import HFVAE
from hatchel.studies.digits_tasks import FEATURES, OFF, Digits, Strokes, ZeroShot
from hatchel.study.claims import Claim, higher, inside, near, of_each
from hatchel.study.frame import Frame, select, tasks, values
from hatchel.study.grid import Grid, Scale, metrics
from hatchel.study.study import Study, register
from hatchel.study.table import Column, Table, table
from hatchel.study.task import Case
from hatchel.training.spec import RunSpec

MEASURED = metrics("clustering", "elbo_terms", "reconstruction", "gaussian_tc")
NETS: Mapping[str, Any] = {"encoder": "hfvae_mnist", "decoder": "hfvae_mnist_decoder"}
METHODS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "HFVAE": ("hf_vae", {}),
    "beta-SVAE": ("beta_svae", {"beta": 4}),
    "beta-VAE": ("beta_vae", {"beta": 4, "latent": {"kind": "diagonal", "dim": 10}}),
}
BESIDE: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "HFVAE, learned prior": ("hf_vae", {"prior": "whole"}),
    "beta-SVAE, head start": ("beta_svae", {"beta": 4, "head_start": 10}),
    "JointVAE": ("joint_vae", {}),
}
"""Where the discrete variable is measured, what the paper has no figures of: the first is a prior of learned covariance
and class probabilities, as its section 5 allows; the second shares with HFVAE what is ours in it."""
STEPS = {"smoke": 2, "laptop": 2_000, "paper": 2_400}
SEEDS = {"smoke": 1, "laptop": 5, "paper": 5}
SNAPSHOTS = {"smoke": 2, "laptop": 5, "paper": 6}
BATCH = {"smoke": 16, "laptop": 256, "paper": 512}
NOTE = {
    "smoke": "",
    "laptop": "the paper's MLPs",
    "paper": "the paper's MLPs; 20 epochs, for the paper prints no number",
}
DIGITS: Mapping[str, Source] = {"MNIST": MNIST(size=28), "F-MNIST": FashionMNIST(size=28)}


def run_of(label: str, source: Source, scale: Scale) -> RunSpec:
    """One of the methods on digits or clothes."""
    method, fields = {**METHODS, **BESIDE}[label]
    own = {"steps": STEPS[scale], "batch_size": BATCH[scale], "optimizer.lr": 1e-3}
    return resolve(method, source, {**own, **NETS, **fields})


def measured(run: RunSpec, scale: Scale, snapshots: int) -> Digits:
    """A run measured at its end or on its way too: on digits the tasks of hfvae-discrete and of hfvae-features."""
    size = {"items": 400, "traversed": 4} if scale == "smoke" else {}
    return Digits(0, run, MEASURED, snapshots=snapshots, **size)


def discrete_grid(scale: Scale) -> Grid:
    """The methods on each data set."""
    cases = [
        Case({"data": name, "method": label}, measured(run_of(label, source, scale), scale, SNAPSHOTS[scale]))
        for name, source in DIGITS.items()
        for label in (*METHODS, *list(BESIDE)[: 1 if scale == "smoke" else None])
    ]
    return Grid(tuple(cases), SEEDS[scale], NOTE[scale])


def discrete_tables(frame: Frame) -> list[Table]:
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
    found = [table("Discrete variable and style", frame, ("data", "method"), columns)]
    if len(values(frame, "distinct")):  # records of 0.1 have none
        title = "Each class decoded, with style drawn from N(0, I), and named by the judge"
        drawn = (Column("named_alike", "draws named alike"), Column("distinct", "distinct digits", digits=1))
        found.append(table(title, frame, ("data", "method"), drawn))
    return found


def discrete_figures(frame: Frame) -> dict[str, Any]:
    """Traversals of the first seed, and the information of every dimension."""
    from hatchel.report.style import ACCENT
    from hatchel.study.figures import grid_of

    result: dict[str, Any] = {}
    shown = tasks(select(frame, data="MNIST"))
    first = {str(r["method"]): r["details"] for _, r in shown.iterrows() if r["seed"] == shown["seed"].min()}

    def bars(axes: Any, details: Any) -> None:
        found = details["information"]
        axes.bar(range(len(found)), found, color=ACCENT)
        axes.set(xlabel="real dimension, by information", ylabel="I(x; z_d), nats")

    if first:
        result["Information of each dimension"] = grid_of(first, bars, across=3, height=2.3, width=9.0)
    for method, details in first.items():
        if details.get("strips"):
            result[f"{method}: style traversed"] = strips_figure(details["strips"])
    return result


def discrete_claims() -> list[Claim]:
    """Section 6.3; clustering accuracy is ours, and so is beta-SVAE with HFVAE's head start."""
    found: list[Claim] = []
    for data in DIGITS:
        own, suffix = {"data": data, "method": "HFVAE"}, data.replace("-", "").lower()
        for label, name, ours in (("beta-SVAE", "svae", False), ("beta-SVAE, head start", "head", True)):
            them = {"data": data, "method": label}
            found += [
                HFVAE(f"H4.{name}.{suffix}", "Section 6.3", f"{data}: more of HFVAE's classes than of those of "
                      f"{label} give samples of a distinct digit (how many).", higher("distinct", own, them), ours),
                HFVAE(f"H4.clusters.{name}.{suffix}", "Section 6.3", f"{data}: HFVAE's clustering accuracy is above "
                      f"that of {label}.", higher("clustering", own, them), True),
            ]  # fmt: skip
        found += [
            HFVAE(f"H4.alike.{suffix}", "Section 6.3", f"{data}: draws of one class are named as one digit (nine "
                  "tenths of them, ours).", inside("named_alike", own, low=0.9)),
            HFVAE(f"H2.between.{suffix}", "Fig. 6", f"{data}: HFVAE's dimensions are used (I above 0.5 nats) or off "
                  "(below 0.05); less than one of ten lies between.", inside("between", own, high=1.0), True),
        ]  # fmt: skip
    return found


def strips_figure(strips: Mapping[str, Any]) -> Any:
    """Rows of traversals, labelled with their dimension."""
    from hatchel.report.pictures import rows_figure

    images = np.concatenate([np.array(rows, dtype=np.uint8) for rows in strips.values()])  # (rows, stops, H, W)
    labels = [f"{name}" for name, rows in strips.items() for _ in rows]
    return rows_figure(images[..., None], labels)


register(Study(
    name="hfvae-discrete",
    about="Clustering accuracy and NMI of the discrete variable, and whether a traversal of style keeps the digit.",
    paper="Esmaeili et al. 2019, §6.3, Figs. 5-7",
    grid=discrete_grid,
    tables=discrete_tables,
    figures=discrete_figures,
    claims=tuple(discrete_claims()),
))  # fmt: skip


def features_grid(scale: Scale) -> Grid:
    """HFVAE on both data sets, with the others at the paper's scale; the thickness of all three."""
    cases = [
        Case({"data": name, "method": label, "what": "training"},
             measured(run_of(label, source, scale), scale, SNAPSHOTS[scale]))
        for name, source in DIGITS.items()
        for label in (METHODS if scale == "paper" else ("HFVAE",))
    ]  # fmt: skip
    size = {"items": 400, "each": 2} if scale == "smoke" else {}
    cases += [
        Case({"data": "MNIST", "method": label, "what": "thickness"},
             Strokes(0, run_of(label, DIGITS["MNIST"], scale), **size))
        for label in METHODS
    ]  # fmt: skip
    return Grid(tuple(cases), SEEDS[scale], NOTE[scale])


def features_tables(frame: Frame) -> list[Table]:
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
        if len(chosen := select(frame, what=what))
    ]


def features_figures(frame: Frame) -> dict[str, Any]:
    """Curves of I(x; z_d), and traversals."""
    from hatchel.study.figures import COLOURS, KEY, grid_of

    zero = frame[frame["seed"] == 0]
    trained, thick = (tasks(select(zero, what=what)) for what in ("training", "thickness"))
    first = {f"{r['method']} on {r['data']}": r["details"] for _, r in trained.iterrows()}

    def panel(axes: Any, details: Any) -> None:
        curves = {k: v for k, v in details["curves"].items() if "per_dimension.z" in k and "@sample" not in k}
        for colour, points in zip(COLOURS * 3, curves.values(), strict=False):
            axes.plot([p[0] for p in points], [p[1] for p in points], color=colour)
        axes.set(xlabel="steps", ylabel="I(x; z_d), nats")

    result: dict[str, Any] = {}
    if first:
        result["Information over training"] = grid_of(first, panel, across=2, height=2.4)
    for name, details in first.items():
        if details.get("strips"):
            result[f"{name}: style traversed"] = strips_figure(details["strips"])

    def widths(axes: Any, details: Any) -> None:
        for i, (digit, means) in enumerate(details["thickness"].items()):
            colour, style = COLOURS[i % len(COLOURS)], ("-", "--")[i // len(COLOURS) % 2]
            axes.plot(details["stops"], means, style, color=colour, label=digit)
        axes.set(xlabel=f"z{details['coordinate']}", ylabel="thickness, pixels")

    stroked = {str(r["method"]): r["details"] for _, r in thick.iterrows()}
    if stroked:
        figure = grid_of(stroked, widths, across=3, height=2.5, width=9.0)
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=10, **KEY)
        result["Thickness of each digit"] = figure
    for name, details in stroked.items():
        result[f"{name}: thickness traversed"] = strips_figure(details["strips"])
    return result


def features_claims() -> list[Claim]:
    """Figs. 6 and 7."""
    found = [
        HFVAE(f"H2.{data.replace('-', '').lower()}", "Fig. 6", f"{data}: some of HFVAE's ten dimensions are unused, "
              f"with I(x; z_d) below {OFF} nats (at least one; three in the paper).",
              inside("unused", {"data": data, "method": "HFVAE", "what": "training"}, low=1.0), data != "MNIST")
        for data in DIGITS
    ]  # fmt: skip
    for label in ("HFVAE", "beta-SVAE"):
        own, other = ({"data": "MNIST", "what": "thickness", "method": m} for m in (label, "beta-VAE"))
        text = f"{label} keeps more digits than beta-VAE as thickness changes."
        found.append(HFVAE(f"H3.{label.split('-')[-1].lower()}", "Fig. 7", text, higher("kept", own, other)))
    return found


register(Study(
    name="hfvae-features",
    about="Traversals on MNIST and Fashion-MNIST, I(x; z_d) over training, and the thickness of each digit traversed.",
    paper="Esmaeili et al. 2019, Figs. 5, 6, 7, 11",
    grid=features_grid,
    tables=features_tables,
    figures=features_figures,
    claims=tuple(features_claims()),
))  # fmt: skip


def zero_shot_grid(scale: Scale) -> Grid:
    """HFVAE and beta-VAE, trained on the pruned set and on all."""
    items = 50 if scale == "smoke" else 1_000
    sources = {"pruned": PrunedMNIST(size=28), "all": DIGITS["MNIST"]}
    cases = [
        Case({"method": label, "trained on": name}, ZeroShot(0, run_of(label, source, scale), items))
        for name, source in sources.items()
        for label in ("HFVAE", "beta-VAE")
    ]
    return Grid(tuple(cases), SEEDS[scale], f"{NOTE[scale]}; a quarter of 7s and 0s removed".removeprefix("; "))


def zero_shot_figures(frame: Frame) -> dict[str, Any]:
    """Removed images with what each model makes of them; and histograms of the feature's values."""
    from hatchel.report.pictures import rows_figure
    from hatchel.report.style import ACCENT, OTHERS
    from hatchel.study.figures import grid_of

    zero = tasks(frame[frame["seed"] == 0])
    first = {f"{r['method']}, {r['trained on']}": r["details"] for _, r in zero.iterrows()}
    if not first:
        return {}
    shown = next(iter(first.values()))["removed"][0]
    pictures = [np.array(p, dtype=np.uint8) for p in (shown, *(r["removed"][1] for r in first.values()))]
    result = {"Removed digits, reconstructed": rows_figure(np.stack(pictures)[..., None], ["original", *first])}

    def histogram(axes: Any, found: Mapping[str, Any]) -> None:
        for part, colour in (("kept", OTHERS[0]), ("removed", ACCENT)):
            axes.stairs(found[part], found["edges"], fill=True, color=colour, alpha=0.55, label=part)
        axes.set_xlabel(f"z{found['coordinate']}")
        axes.set_yticks([])

    panels = {f"{name}: {f}": r["histograms"][f] for name, r in first.items() for f in FEATURES}
    figure = grid_of(panels, histogram, across=len(FEATURES), height=1.7, width=9.0, legend=2)
    return {**result, "Values of the feature": figure}


def zero_shot_claims() -> list[Claim]:
    """Section 6.4: what was never shown is reconstructed, and its features are read, nearly as if it had been."""
    found: list[Claim] = []
    for method in ("HFVAE", "beta-VAE"):
        unseen, seen = ({"method": method, "trained on": t} for t in ("pruned", "all"))
        name, ours = method.lower().replace("beta-vae", "betavae"), method != "HFVAE"
        found.append(HFVAE(
            f"H5.error.{name}", "Fig. 9", f"{method}: the error on removed digits is within 15 % (ours) of that of a "
            "model that saw them (their ratio).", inside(of_each(ratio), {"method": method}, high=1.15), ours,
        ))  # fmt: skip
        for feature in FEATURES:
            value = f"told apart: {feature}"
            found.append(HFVAE(
                f"H5.{feature.split()[0]}.{name}", "Fig. 9", f"{method}: the code tells removed from kept digits as "
                "one that "
                f"saw them does ({feature}, AUC within 0.05, ours).", near(value, unseen, seen, within=0.05), ours,
            ))  # fmt: skip
    return found


def ratio(rows: Frame) -> float | None:
    """The error on removed digits, of a model that did not see them to that of one that did."""
    unseen, seen = (values(select(rows, **{"trained on": t}), "removed") for t in ("pruned", "all"))
    return unseen[0] / seen[0] if unseen and seen else None


register(Study(
    name="hfvae-zero-shot",
    about="Train without the thick sevens and narrow zeros, then reconstruct them; beside a model that saw them.",
    paper="Esmaeili et al. 2019, Fig. 9",
    grid=zero_shot_grid,
    title="Reconstruction error, and the feature's values",
    columns=(
        Column("removed", "thick 7s, narrow 0s (nats)", digits=1),
        Column("kept", "the other 7s and 0s (nats)", digits=1),
        Column("gap", "gap", digits=1),
        *(Column(f"told apart: {name}", f"{name}: told apart (AUC)") for name in FEATURES),
    ),
    figures=zero_shot_figures,
    claims=tuple(zero_shot_claims()),
))  # fmt: skip
