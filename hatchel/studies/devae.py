"""DeVAE (Wu et al. 2023): against the field, over training, with 1024 dimensions, and with parts of it replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hatchel.studies.common import COLUMNS, DATA, DEVAE, ERROR, KL, again, at, matrix, one, trade_off, view
from hatchel.studies.pool import NETWORK, SHAPES, SPRITES, beta_vae, cell, columns, de_vae, stage, tcvae
from hatchel.study.claims import Claim, each, higher, inside, lower, near, of_each
from hatchel.study.frame import Frame, groups, tasks
from hatchel.study.grid import Grid, Scale, metrics
from hatchel.study.study import Study, register
from hatchel.study.table import Column
from hatchel.study.task import Case, Label

TABLE2 = {"single": 0.19, "parallel": 0.24, "linear": 0.24, "": 0.35}
"""MIG at layer 0 on dSprites, by variant."""
BASELINES: Mapping[str, Label] = {
    "DeVAE": "", "beta-VAE": 6, "beta-TCVAE": 12, "FactorVAE": 10, "DynamicVAE": "", "CascadeVAE": "",
}  # fmt: skip
"""Strengths of Fig. 2 and Table 6."""
LEVELS = "error by layer"


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
        own = at(data, "DeVAE")
        for other, mig, error in (("beta-TCVAE", "8 %", "2 %"), ("beta-VAE", "47 %", "30 %")):
            them, name = at(data, other, BASELINES[other]), f"{other} {BASELINES[other]}"
            found += [
                DEVAE(f"D2.{other.lower()}.{suffix}", "Fig. 2", f"{data}: DeVAE's MIG is above that of {name} (by "
                      f"{mig} in the paper).", higher("mig", own, them)),
                DEVAE(f"D3.{other.lower()}.{suffix}", "Fig. 2", f"{data}: DeVAE's reconstruction error is below that "
                      f"of {name} (by {error} in the paper).", lower(ERROR, own, them)),
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
                  each({"reconstruction": lower(ERROR, cascade, own), "MIG": lower("mig", cascade, own)})),
        ]  # fmt: skip
    own = at(SHAPES, "DeVAE")
    levels = {**own, "variant": LEVELS}
    found += [
        DEVAE("D7.mig", "Table 2", "At layer 0 DeVAE's MIG is above that of a single space, of parallel spaces and of "
              "a linear map.", higher("mig", own, *(at(SHAPES, "DeVAE", "", v) for v in ("single", "parallel",
              "linear")))),
        DEVAE("D7.layers", "Table 2", "The reconstruction error is smallest at layer 0 and grows from layer to layer.",
              each({"layer 1 over 0": higher(f"{ERROR}@level 1", levels, levels, beside=ERROR),
                    "layer 2 over 1": higher(f"{ERROR}@level 2", levels, levels, beside=f"{ERROR}@level 1")})),
        DEVAE("D8.two", "Table 3", "Betas (1, 10, 40) have a higher MIG than (1, 10).",
              higher("mig", own, at(SHAPES, "DeVAE", "", "beta 1, 10"))),
        DEVAE("D8.five", "Table 3", "Five betas (1, 10, 20, 40, 80) are only slightly worse than (1, 10, 40) (MIG "
              "within 0.05, ours).", near("mig", at(SHAPES, "DeVAE", "", "beta 1, 10, 20, 40, 80"), own, within=0.05)),
        DEVAE("D9", "Table 4", "s = 1 has a higher MIG than s = 0.5 and s = 2.",
              higher("mig", own, *(at(SHAPES, "DeVAE", "", f"s = {s:g}") for s in (0.5, 2)))),
        DEVAE("D11", "Fig. 7", "Object size is alone in one latent on Shapes3D (nine tenths of what that latent "
              "knows, ours).",
              inside(alone("scale"), own, low=0.9)),
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


register(Study(
    name="devae",
    about="DeVAE and the methods it is compared with, over training too; its betas, spaces and scale; views of the "
    "pool.",
    paper="Wu et al. 2023, Figs. 2, 4, 7; Tables 2-4, 6",
    grid=view(wanted, lambda scale: [again(scale, [at(SHAPES, "DeVAE")], LEVELS, ERROR)]),
    columns=(
        Column("mig", "MIG", {tuple(at(SPRITES, "DeVAE", "", v).values()): mig for v, mig in TABLE2.items() if not v}),
        Column("mig@level 2", "MIG, layer 2", {tuple(at(SPRITES, "DeVAE").values()): 0.35}),
        *COLUMNS[2:],
        Column(f"{ERROR}@level 1", "reconstruction, layer 1", digits=1),
        Column(f"{ERROR}@level 2", "reconstruction, layer 2", digits=1),
    ),
    figures=lambda frame: {**trade_off(frame), **information_over_training(frame)},
    claims=tuple(claims()),
))  # fmt: skip

DIMENSIONS = {"smoke": (10, 32), "laptop": (10, 1024), "paper": (10, 1024)}


def highdim_grid(scale: Scale) -> Grid:
    """Four methods, both widths, three times as long as the pool: with 1024 dimensions units are shut slowly."""
    cases: list[Case] = []
    length = {"smoke": 3, "laptop": 30_000, "paper": 300_000}[scale]
    chosen = metrics("mig", "reconstruction", "active_units")
    for dim in DIMENSIONS[scale]:
        wide: dict[str, Any] = {"latent": {"kind": "diagonal", "dim": dim}}
        settings = [
            de_vae(dim=dim), beta_vae(6, **wide), tcvae(12, **wide), cell("DynamicVAE", method="dynamic_vae",
            **NETWORK, **wide),
        ]  # fmt: skip
        part = stage(SPRITES, scale, settings, 5, metrics=chosen, steps=length)
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
    return [*found, DEVAE("D6", "Fig. 12", text, higher(of_each(jump), dynamic, own))]


def active_units(frame: Frame) -> dict[str, Any]:
    """Active units over training (Fig. 12)."""
    from hatchel.study.figures import curves

    wide = frame[frame["D"] == frame["D"].max()]
    has = [bool(d.get("curves")) for d in tasks(wide)["details"]]
    return {"Active units over training": curves(wide, "active_units", "method")} if any(has) else {}


register(Study(
    name="devae-highdim",
    about="MIG, reconstruction and active units of four methods with 10 and 1024 dimensions, over training.",
    paper="Wu et al. 2023, Figs. 5, 12",
    grid=highdim_grid,
    columns=columns("mig", "active_units", ERROR),
    more_figures=active_units,
    claims=tuple(highdim_claims()),
))  # fmt: skip
