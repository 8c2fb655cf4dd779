"""DeVAE (Wu et al. 2023): against the field, over training, with 1024 dimensions, and with parts of it replaced."""

from __future__ import annotations

from typing import Any

import numpy as np

from hatchel.studies.common import FREE, NETWORK, QUICK, Budget, budget, critic, note, sprites
from hatchel.study.claims import Claim, higher, inside, lower, near
from hatchel.study.frame import Frame, groups, select, tasks, values
from hatchel.study.grid import Grid, Scale, axis, metrics, product
from hatchel.study.study import Study, register
from hatchel.study.table import Column

PAPER = Budget(steps=300_000, seeds=10, batch_size=256, lr=1e-4)
BETAS = {"smoke": (1, 4, 10), "laptop": (1, 4, 10), "paper": (1, 10, 40)}
"""A quarter of the pixels, a quarter of the reconstruction error: so about a quarter of the weights."""


def words(scale: Scale) -> str:
    """What the numbers do not say."""
    return note(scale, "betas 1, 4, 10", "betas 1, 10, 40")


def comparison_grid(scale: Scale) -> Grid:
    """DeVAE, beta-VAE at each of its betas, and the rest of the field."""
    betas = BETAS[scale]
    methods: dict[str, dict[str, Any]] = {
        "DeVAE": {"method": "de_vae", "betas": betas, **FREE},
        **{f"beta-VAE {b}": {"method": "beta_vae", "beta": b, **NETWORK} for b in betas[1:]},
        "beta-VAE 6": {"method": "beta_vae", "beta": 6, **NETWORK},
        "beta-TCVAE": {"method": "beta_tcvae", "beta": 12, **NETWORK},
        "FactorVAE": {"method": "factor_vae", "gamma": 10, **critic(scale), **NETWORK},
        "DynamicVAE": {"method": "dynamic_vae", **NETWORK},
        "CascadeVAE": {"method": "cascade_vae", **FREE},
    }
    return budget(scale, PAPER).grid(axis("method", methods), sprites(scale), note=words(scale))


def comparison_claims(frame: Frame) -> list[Claim]:
    """Sections 4.2 and 4.3 of the paper, and Table 2."""
    own = select(frame, method="DeVAE")
    result = [
        near("DeVAE: MIG at layer 1 equals that at layer 0 (± 0.02).", own, own, "mig@level 1", "mig", 0.02),
        near("DeVAE: MIG at layer 2 equals that at layer 0 (± 0.02).", own, own, "mig@level 2", "mig", 0.02),
    ]
    strongest = {f"beta-VAE {betas[-1]}" for betas in BETAS.values()}
    for (other,), them in groups(frame, "method").items():
        if other != "DeVAE":
            result.append(higher(f"DeVAE's MIG is above that of {other}.", own, them, "mig"))
        if other in strongest or other == "beta-TCVAE":
            result.append(lower(f"DeVAE reconstructs better at layer 0 than {other}.", own, them, "reconstruction"))
    return result


register(Study(
    name="devae-comparison",
    about="MIG, FactorVAE score, DCI and reconstruction of DeVAE and the methods it is compared with.",
    paper="Wu et al. 2023, Fig. 2, Tables 3, 6",
    grid=comparison_grid,
    columns=(
        Column("mig", "MIG", {("DeVAE",): 0.35}),
        Column("mig@level 1", "MIG, layer 1", {("DeVAE",): 0.35}),
        Column("mig@level 2", "MIG, layer 2", {("DeVAE",): 0.35}),
        Column("factor_vae_score", "FactorVAE score"),
        Column("dci", "DCI"),
        Column("reconstruction", "reconstruction (nats)", {("DeVAE",): 52.0}, 2),
        Column("reconstruction@level 2", "reconstruction, layer 2", digits=2),
    ),
    claims=comparison_claims,
))  # fmt: skip

SNAPSHOTS = {"smoke": 2, "laptop": 6, "paper": 20}


def diffusion_grid(scale: Scale) -> Grid:
    """DeVAE, and beta-VAE at its first and last beta."""
    betas = BETAS[scale]
    methods: dict[str, dict[str, Any]] = {
        "DeVAE": {"method": "de_vae", "betas": betas, **FREE},
        **{f"beta-VAE {b}": {"method": "beta_vae", "beta": b, **NETWORK} for b in (betas[0], betas[-1])},
    }
    items = 5_000 if scale == "laptop" else 10_000
    chosen = budget(scale, PAPER, metrics=QUICK, items=items)
    measured = f"{words(scale)}; measured {SNAPSHOTS[scale]} times".removeprefix("; ")
    return chosen.grid(axis("method", methods), sprites(scale), {"snapshots": SNAPSHOTS[scale]}, measured)


def information_over_training(frame: Frame) -> dict[str, Any]:
    """A panel a method, a line a factor."""
    from hatchel.report.style import LEGEND
    from hatchel.study.figures import COLOURS, grid_of

    def panel(axes: Any, group: Frame) -> None:
        steps, stack, factors = _history(group, "mig")
        for colour, factor, line in zip(COLOURS * 3, factors, stack.mean(axis=0).T, strict=False):
            axes.plot(steps, line, "o-", markersize=2.5, color=colour, label=factor)
        axes.set_xlabel("steps")
        if axes.get_subplotspec().is_first_col():
            axes.set_ylabel("max I(z_d; factor), nats")

    found = groups(frame, "method").items()
    panels = {str(m): group for (m,), group in found if "history" in group["details"].iloc[0]}
    if not panels:
        return {}
    figure = grid_of(panels, panel, across=len(panels), height=2.6, width=9.0)
    top = max(axes.get_ylim()[1] for axes in figure.axes)
    for axes in figure.axes:
        axes.set_ylim(0, top)  # to be compared
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, **LEGEND)
    return {"Information about each factor over training": figure}


def diffusion_claims(frame: Frame) -> list[Claim]:
    """Section 4.3: what is learned is not lost again."""
    own = select(frame, method="DeVAE")
    own = own[["history" in d for d in own["details"]]]
    if not len(own):
        return []
    _, stack, _ = _history(own, "mig")
    lost = (np.maximum.accumulate(stack, axis=1) - stack).max(axis=1)  # (seeds, factors)
    worst = (lost / np.maximum(stack.max(axis=1), 0.1)).max(axis=1)
    text = "DeVAE: information about a factor never falls by more than a quarter of its peak (the largest fall)."
    return [inside(text, worst.tolist(), 0, 0.25)]


def _history(frame: Frame, metric: str) -> tuple[Any, Any, list[str]]:
    """Steps (T,), information (tasks, T, factors), names."""
    found = [d["history"] for d in tasks(frame)["details"]]
    steps = np.array([step for step, _ in found[0]])
    factors = list(found[0][0][1][metric]["factors"])
    stack = [
        [np.nan_to_num(np.array(m[metric]["rows"], dtype=float)).max(axis=0) for _, m in history] for history in found
    ]
    return steps, np.array(stack), factors


register(Study(
    name="devae-diffusion",
    about="max_d I(z_d; factor) of every factor, measured again and again during training, and at each layer.",
    paper="Wu et al. 2023, Figs. 4, 11",
    grid=diffusion_grid,
    columns=(
        Column("mig", "MIG"),
        Column("mig@level 1", "MIG, layer 1"),
        Column("mig@level 2", "MIG, layer 2"),
        Column("reconstruction", "reconstruction (nats)", digits=2),
    ),
    more_figures=information_over_training,
    claims=diffusion_claims,
))  # fmt: skip

DIMENSIONS = {"smoke": (10, 32), "laptop": (10, 1024), "paper": (10, 1024)}


def highdim_grid(scale: Scale) -> Grid:
    """Both methods, both widths."""
    betas = BETAS[scale]
    settings = [
        setting
        for dim in DIMENSIONS[scale]
        for setting in product(
            axis("method", {
                "DeVAE": {"method": "de_vae", "betas": betas, "dim": dim},
                "beta-VAE": {"method": "beta_vae", "beta": betas[1], "latent.dim": dim},
            }),
            axis("D", {dim: {}}),
        )
    ]  # fmt: skip
    items = 5_000 if scale == "laptop" else 10_000
    chosen = budget(scale, PAPER, items=items, metrics=metrics("mig", "reconstruction", "active_units", "med"))
    return chosen.grid(settings, sprites(scale), note=words(scale))


def highdim_claims(frame: Frame) -> list[Claim]:
    """Section 4.4: DeVAE trains with 1024 dimensions and keeps few of them active."""
    own = {d: select(frame, method="DeVAE", D=d) for d in (10, 1024)}
    few = "DeVAE with D = 1024 trains, and leaves nine tenths of the dimensions unused (active units)."
    kept = "DeVAE's MIG with D = 1024 is that with D = 10 (± 0.05)."
    return [
        inside(few, values(own[1024], "active_units"), 0, 102),
        near(kept, own[1024], own[10], "mig", "mig", 0.05),
    ]


register(Study(
    name="devae-highdim",
    about="MIG, reconstruction, MED and active units of DeVAE and beta-VAE with 10 and 1024 dimensions.",
    paper="Wu et al. 2023, Figs. 5, 12",
    grid=highdim_grid,
    columns=(
        Column("mig", "MIG"),
        Column("med", "MED"),
        Column("active_units", "active units", digits=1),
        Column("reconstruction", "reconstruction (nats)", digits=2),
    ),
    claims=highdim_claims,
))  # fmt: skip

TABLE2 = {"single": (0.19, 47.49), "parallel": (0.24, 22.21), "linear": (0.24, 38.82), "scaled (DeVAE)": (0.35, 43.29)}
"""At layer 0: MIG, reconstruction."""


def ablation_grid(scale: Scale) -> Grid:
    """Table 2, then Tables 3 and 4."""
    betas = BETAS[scale]
    variants: dict[str, dict[str, Any]] = {
        "scaled (DeVAE)": {},
        "parallel": {"spaces": "parallel"},
        "linear": {"spaces": "linear"},
        "single": {"betas": betas[:1]},
        "two betas": {"betas": betas[:2]},
        "five betas": {"betas": (*betas, 2 * betas[-1], 4 * betas[-1])},
        **{f"s = {s:g}": {"scale": s} for s in (0.0, 0.5, 2.0)},
    }
    base = {"method": "de_vae", "betas": betas, **FREE}
    return budget(scale, PAPER).grid(axis("variant", variants), sprites(scale), base, words(scale))


def ablation_claims(frame: Frame) -> list[Claim]:
    """Table 2."""
    own = select(frame, variant="scaled (DeVAE)")
    others = {v: select(frame, variant=v) for v in ("single", "parallel", "linear")}
    equal = near("Scaling keeps MIG across layers (± 0.02).", own, own, "mig@level 2", "mig", 0.02)
    return [equal, *(higher(f"MIG at layer 0 is above that of {v}.", own, o, "mig") for v, o in others.items())]


register(Study(
    name="devae-ablation",
    about="One space, parallel spaces, a linear map, and DeVAE's scaling; other betas; other draws of the layer.",
    paper="Wu et al. 2023, Tables 2, 3, 4",
    grid=ablation_grid,
    columns=(
        Column("mig", "MIG, layer 0", {(k,): mig for k, (mig, _) in TABLE2.items()}),
        Column("mig@level 2", "MIG, layer 2", {("parallel",): 0.35, ("linear",): 0.30, ("scaled (DeVAE)",): 0.35}),
        Column("reconstruction", "reconstruction, layer 0", {(k,): error for k, (_, error) in TABLE2.items()}, 2),
        Column(
            "reconstruction@level 2",
            "reconstruction, layer 2",
            {("parallel",): 62.40, ("linear",): 63.78, ("scaled (DeVAE)",): 175.99},
            2,
        ),
    ),
    contrast="variant",
    claims=ablation_claims,
))  # fmt: skip
