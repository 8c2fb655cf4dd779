"""DeVAE (Wu et al. 2023): against the field, over training, with 1024 dimensions, and with parts of it replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hatchel.core.spec import Count
from hatchel.studies.common import COLUMNS, DATA, DEVAE, ERROR, KL, again, at, matrix, of_pool, one, trade_off, view
from hatchel.studies.pool import NETWORK, SHAPES, SPRITES, TEN, beta_vae, cell, columns, de_vae, stage, tcvae
from hatchel.study.claims import Claim, each, higher, inside, lower, near, of_each
from hatchel.study.frame import Frame, groups, tasks
from hatchel.study.grid import Grid, Scale, metrics
from hatchel.study.study import Study, register
from hatchel.study.table import Column
from hatchel.study.task import Case, Label, Result, Task, Workspace
from hatchel.study.trained import Trained
from hatchel.training.spec import RunSpec

TABLE2 = {"single": (0.19,), "parallel": (0.24, 0.32, 0.35), "linear": (0.24, 0.29, 0.30), "": (0.35, 0.35, 0.35)}
"""MIG by layer on dSprites, by variant."""
BASELINES: Mapping[str, Label] = {
    "DeVAE": "", "beta-VAE": 6, "beta-TCVAE": 12, "FactorVAE": 10, "DynamicVAE": "", "CascadeVAE": "",
}  # fmt: skip
"""Strengths of Fig. 2 and Table 6."""
LEVELS, READ = "error by layer", "information by layer"
SQUARED = "squared error, 64 px"
"""What the paper takes for coloured images, at the weights that mean at 32 px what the printed ones do at 64."""


class LayerInformation(Task):
    """`information.FACTOR@level I`: max_d I(z_d; factor) of samples of each layer (Fig. 11), `information@level I` the
    mean over factors; binned means do not see the scale in which DeVAE's layers differ.
    """

    run: RunSpec
    """What is trained; its seed is the task's."""
    items: Count = 10_000
    """Samples."""

    def compute(self, workspace: Workspace) -> Result:
        from hatchel.evaluation.evaluation import StoredScores

        run = Trained(seed=self.seed, run=self.run).trained(workspace)
        kept, found = StoredScores(run, items=self.items, seed=0), dict[str, float]()
        for level in range(run.levels):
            score = kept.measure(f"level {level} sample", metrics("mig"), 0, strict=True)["mig"]
            assert score.matrix is not None
            known = np.nanmax(score.matrix, axis=0)
            found |= {f"information.{f}@level {level}": float(v) for f, v in zip(score.factors, known, strict=True)}
            found[f"information@level {level}"] = float(known.mean())
        return Result(found)


def information(rows: Frame) -> tuple[Any, list[str]]:
    """max_d I(z_d; factor) at each time it was measured (times, factors), and the factors' names."""
    history = rows["details"].iloc[0].get("history", [])
    found = [m["mig"] for _, m in history if "mig" in m]
    stack = [np.nan_to_num(np.array(m["rows"], dtype=float)).max(axis=0) for m in found]
    return np.array(stack), list(found[0]["factors"]) if found else []


def fall(rows: Frame) -> float | None:
    """The largest fall of the information about a factor below its peak so far, as a share of the peak."""
    stack, factors = information(rows)
    if not factors:
        return None
    lost = (np.maximum.accumulate(stack, axis=0) - stack).max(axis=0)
    return float((lost / np.maximum(stack.max(axis=0), 0.1)).max())


def jump(rows: Frame) -> float | None:
    """The largest rise of the number of active units from one time to the next."""
    found = [v for _, v in rows["details"].iloc[0].get("curves", {}).get("active_units", [])]
    return float(np.diff(found).max()) if len(found) > 1 else None


def elbo(rows: Frame) -> float | None:
    """-E log p(x|z) and the KL, together negative."""
    error, kl = one(rows, ERROR), one(rows, KL)
    return None if error is None or kl is None else -error - kl


def alone(factor: str) -> Any:
    """Of the latent that knows a factor best, the share of that factor in all it knows about factors."""

    def share(rows: Frame) -> float | None:
        known, factors = matrix(rows, "mig")
        if factor not in factors:
            return None
        best = known[known[:, factors.index(factor)].argmax()]
        return float(best[factors.index(factor)] / best.sum()) if best.sum() else 0.0

    return of_each(share)


def claims() -> list[Claim]:
    """Section 4 and the appendix."""
    found: list[Claim] = []
    for suffix, data in DATA.items():
        own, ours = at(data, "DeVAE"), data != SPRITES
        variant = SQUARED if data == SHAPES else ""
        for other, mig, error in (("beta-TCVAE", "8 %", "2 %"), ("beta-VAE", "47 %", "30 %")):
            them, name = at(data, other, BASELINES[other]), f"{other} {BASELINES[other]}"
            found += [
                DEVAE(f"D2.{other.lower()}.{suffix}", "Fig. 2", f"{data}: DeVAE's MIG is above that of {name}"
                      f"{'' if ours else f' (by {mig} in the paper)'}.", higher("mig", own, them), ours),
                DEVAE(f"D3.{other.lower()}.{suffix}", "Fig. 2", f"{data}: DeVAE's reconstruction error is below that "
                      f"of {name} (by {error} in the paper{'; squared error' if variant else ''}).",
                      lower(ERROR, {**own, "variant": variant}, {**them, "variant": variant})),
            ]  # fmt: skip
        dynamic = at(data, "DynamicVAE")
        cascade = at(data, "CascadeVAE")
        found += [
            DEVAE(f"D4.{suffix}", "Fig. 4", f"{data}: information about a factor falls further below its peak in "
                  "DynamicVAE than in DeVAE (largest fall).", higher(of_each(fall), dynamic, own)),
            DEVAE(f"D4.kept.{suffix}", "Fig. 4", f"{data}: in DeVAE it never falls by more than a quarter of its peak.",
                  inside(of_each(fall), own, high=0.25), True),
            DEVAE(f"D10.elbo.{suffix}", "Table 6", f"{data}: DeVAE's ELBO is above that of beta-VAE 6 and beta-TCVAE "
                  "12.",
                  higher(of_each(elbo), own, *(at(data, m, BASELINES[m]) for m in ("beta-VAE", "beta-TCVAE"))), True),
            DEVAE(f"D10.cascade.{suffix}", "App. A.8", f"{data}: CascadeVAE reconstructs better than DeVAE, with a "
                  "lower MIG.",
                  each({"reconstruction": lower(ERROR, cascade, own), "MIG": lower("mig", cascade, own)}), ours),
        ]  # fmt: skip
        levels, read = ({**own, "variant": variant} for variant in (LEVELS, READ))
        others = [at(data, "DeVAE", "", variant) for variant in ("single", "parallel", "linear")]
        below = {f"layer {a} under {a - 1}": lower(f"information@level {a}", read, read,
                 beside=f"information@level {a - 1}") for a in (1, 2)}  # fmt: skip
        found += [
            DEVAE(f"D7.mig.{suffix}", "Table 2", f"{data}: at layer 0 DeVAE's MIG is above that of a single space, of "
                  "parallel spaces and of a linear map.", higher("mig", own, *others), ours),
            DEVAE(f"D7.layers.{suffix}", "Table 2", f"{data}: the reconstruction error is smallest at layer 0 and "
                  "grows from layer to layer.",
                  each({"layer 1 over 0": higher(f"{ERROR}@level 1", levels, levels, beside=ERROR),
                        "layer 2 over 1": higher(f"{ERROR}@level 2", levels, levels, beside=f"{ERROR}@level 1")}),
                  ours),
            DEVAE(f"D7.information.{suffix}", "App. A.6, Fig. 11", f"{data}: the information about factors, read from "
                  "samples, falls from layer to layer (mean over factors).", each(below), ours),
            DEVAE(f"D8.two.{suffix}", "Table 3", f"{data}: betas (1, 10, 40) have a higher MIG than (1, 10).",
                  higher("mig", own, at(data, "DeVAE", "", "beta 1, 10"))),
            DEVAE(f"D8.five.{suffix}", "Table 3", f"{data}: five betas (1, 10, 20, 40, 80) are only slightly worse "
                  "than (1, 10, 40) (MIG within 0.05, ours).",
                  near("mig", at(data, "DeVAE", "", "beta 1, 10, 20, 40, 80"), own, within=0.05)),
            DEVAE(f"D9.{suffix}", "Table 4", f"{data}: s = 1 has a higher MIG than s = 0.5 and s = 2.",
                  higher("mig", own, *(at(data, "DeVAE", "", f"s = {s:g}") for s in (0.5, 2)))),
        ]  # fmt: skip
    found += [
        DEVAE("D11", "Fig. 7", "Object size is alone in one latent on Shapes3D (nine tenths of what that latent "
              "knows, ours).",
              inside(alone("scale"), at(SHAPES, "DeVAE"), low=0.9)),
    ]  # fmt: skip
    return found


def information_over_training(frame: Frame) -> dict[str, Any]:
    """A panel a method, a line a factor (Figs. 4, 11)."""
    from hatchel.study.figures import COLOURS, grid_of

    def panel(axes: Any, group: Frame) -> None:
        runs = [rows for _, rows in group.groupby("task", sort=False)]
        steps = [step for step, _ in runs[0]["details"].iloc[0]["history"]]
        stack = np.mean([information(rows)[0] for rows in runs], axis=0)
        for colour, factor, line in zip(COLOURS * 3, information(runs[0])[1], stack.T, strict=False):
            axes.plot(steps, line, "o-", markersize=2.5, color=colour, label=factor)
        axes.set_xlabel("steps")
        if axes.get_subplotspec().is_first_col():
            axes.set_ylabel("max I(z_d; factor), nats")

    result: dict[str, Any] = {}
    for (data,), part in groups(frame[frame["variant"] == ""], "data").items():
        chosen = groups(part[part["method"].isin(["DeVAE", "DynamicVAE", "beta-TCVAE"])], "method")
        panels = {str(m): g for (m,), g in chosen.items() if g["details"].iloc[0].get("history")}
        if panels:
            figure = grid_of(panels, panel, across=len(panels), height=2.6, width=9.0, legend=6)
            top = max(axes.get_ylim()[1] for axes in figure.axes)
            for axes in figure.axes:
                axes.set_ylim(0, top)  # to be compared
            result[f"{data}: information about each factor over training"] = figure
    return result


def wanted(labels: Mapping[str, Label]) -> bool:
    """DeVAE with its ablations, and its baselines."""
    plain = labels["encoder"] == "conv" and not labels["variant"]
    return labels["method"] == "DeVAE" or (plain and BASELINES.get(str(labels["method"])) == labels["strength"])


def more(scale: Scale) -> list[Grid]:
    """By layer the errors, and what samples tell; and Shapes3D as the paper has it."""
    rows = [at(data, "DeVAE") for data in DATA.values()]
    size = {"items": 200} if scale == "smoke" else {}
    read = [Case({**row, "variant": READ}, LayerInformation(0, task.run, **size)) for row, task in of_pool(scale, rows)]
    grids = [again(scale, rows, LEVELS, ERROR), Grid(tuple(read), 1 if scale == "smoke" else 5)]
    own: dict[str, Any] = {"variant": SQUARED, "likelihood": "squared_error", "reconstruction_scale": "64px"}
    squared = [
        de_vae(**own), beta_vae(6, **own), tcvae(12, **own),
        cell("DynamicVAE", method="dynamic_vae", **NETWORK, **TEN, **own),
    ]  # fmt: skip
    return grids if scale == "smoke" else [*grids, stage(SHAPES, scale, squared, 5)]


register(Study(
    name="devae",
    about="DeVAE and the methods it is compared with, over training too; its betas, spaces and scale; views of the "
    "pool.",
    paper="Wu et al. 2023, Figs. 2, 4, 7; Tables 2-4, 6",
    grid=view(wanted, more),
    columns=(
        *(Column(name, text, {tuple(at(SPRITES, "DeVAE", "", v).values()): migs[layer] for v, migs in TABLE2.items()
                              if layer < len(migs)})
          for layer, (name, text) in enumerate((("mig", "MIG"), ("mig@level 1", "MIG, layer 1"),
                                                ("mig@level 2", "MIG, layer 2")))),
        *COLUMNS[2:],
        Column(f"{ERROR}@level 1", "reconstruction, layer 1", digits=1),
        Column(f"{ERROR}@level 2", "reconstruction, layer 2", digits=1),
    ),
    figures=lambda frame: {**trade_off(frame), **information_over_training(frame)},
    claims=tuple(claims()),
))  # fmt: skip

DIMENSIONS = {"smoke": (10, 32), "laptop": (10, 1024), "paper": (10, 1024)}


def highdim_grid(scale: Scale) -> Grid:
    """Four methods, both widths, three times as long as the pool: of 1024 dimensions units are shut slowly."""
    cases: list[Case] = []
    own: dict[str, Any] = {
        "steps": {"smoke": 3, "laptop": 30_000, "paper": 300_000}[scale], "snapshots": 1 if scale == "smoke" else 10,
        "metrics": metrics("mig", "med_topk", "reconstruction", "active_units"),
        "on_the_way": metrics("mig", "med_topk", "active_units"),
        # The pool's others compare all pairs of dimensions, of samples and layers too.
        "beside": metrics("active_units"),
    }  # fmt: skip
    for dim in DIMENSIONS[scale]:
        wide: dict[str, Any] = {"latent": {"kind": "diagonal", "dim": dim}}
        settings = [
            de_vae(dim=dim), beta_vae(6, **wide), tcvae(12, **wide), cell("DynamicVAE", method="dynamic_vae",
            **NETWORK, **wide),
        ]  # fmt: skip
        part = stage(SPRITES, scale, settings, 5, **own)
        cases += [Case({"method": c.labels["method"], "D": dim}, c.task) for c in part.cases]
    return Grid(tuple(cases), 1 if scale == "smoke" else 5, "dSprites, otherwise as the pool" * (scale == "laptop"))


def highdim_claims() -> list[Claim]:
    """Section 4.4, Fig. 12."""
    found: list[Claim] = []
    for method in ("beta-TCVAE", "DynamicVAE", "beta-VAE", "DeVAE"):
        wide, ten = {"method": method, "D": 1024}, {"method": method, "D": 10}
        if method in ("beta-TCVAE", "DynamicVAE"):
            text, test = f"{method} loses MIG from 10 to 1024 dimensions.", lower("mig", wide, ten)
        else:
            text = f"{method} does not lose MIG from 10 to 1024 dimensions (more than 0.05, ours)."
            test = higher("mig", wide, ten, by=-0.05)
        found.append(DEVAE(f"D5.{method.lower()}", "Fig. 5", text, test))
    own, dynamic = {"method": "DeVAE", "D": 1024}, {"method": "DynamicVAE", "D": 1024}
    text = "With 1024 dimensions DynamicVAE's active units jump (largest rise between two times) more than DeVAE's."
    return [
        *found,
        DEVAE("D6.jump", "Fig. 12", text, higher(of_each(jump), dynamic, own)),
        DEVAE("D6.active", "App. A.7", "With 1024 dimensions DynamicVAE has more active units than DeVAE.",
              higher("active_units", dynamic, own)),
        DEVAE("D6.med", "App. A.7, Fig. 12", "With 1024 dimensions DynamicVAE's MED (of the two best dimensions a "
              "factor) is below DeVAE's.", lower("med_topk", dynamic, own)),
    ]  # fmt: skip


def over_training(frame: Frame) -> dict[str, Any]:
    """Active units and MED (Fig. 12)."""
    from hatchel.study.figures import curves

    wide = frame[frame["D"] == frame["D"].max()]
    if not any(d.get("curves") for d in tasks(wide)["details"]):
        return {}
    shown = {"active_units": "Active units", "med_topk": "MED"}
    return {f"{text} over training": curves(wide, name, "method") for name, text in shown.items()}


register(Study(
    name="devae-highdim",
    about="MIG, reconstruction and active units of four methods with 10 and 1024 dimensions, over training.",
    paper="Wu et al. 2023, Figs. 5, 12",
    grid=highdim_grid,
    columns=(*columns("mig", "active_units", ERROR), Column("med_topk", "MED")),
    more_figures=over_training,
    claims=tuple(highdim_claims()),
))  # fmt: skip
