"""RecurD (Chen et al. 2022): against the baselines, by depth, by layer, and with parts of it replaced."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from hatchel.data.cars3d import Cars3D
from hatchel.studies.common import NETWORK, Budget, budget, critic, note, shapes, sprites
from hatchel.study.claims import Claim, every, higher, lower
from hatchel.study.frame import Frame, groups, select, tasks
from hatchel.study.grid import Grid, Scale, axis, metrics, product
from hatchel.study.study import Study, register
from hatchel.study.table import Column

PAPER = Budget(steps=300_000, seeds=5)
OWN: Mapping[str, Any] = {"method": "recurd", "decoder": "deconv"}
"""RecurD has an encoder of its own."""
ERROR = "reconstruction.mse_per_pixel"
TABLE2: Mapping[tuple[str, str], tuple[float, ...]] = {
    # reconstruction, SAP, MIG, DCI-D (Table 2), DCI-C, DCI-I (Table 6)
    ("dSprites", "beta-VAE 4"): (0.0066, 0.0284, 0.2617, 0.1191, 0.1148, 0.2181),
    ("dSprites", "beta-VAE 16"): (0.0094, 0.0242, 0.2241, 0.1820, 0.1575, 0.2087),
    ("dSprites", "beta-VAE 60"): (0.0127, 0.0445, 0.1432, 0.1291, 0.1261, 0.1769),
    ("dSprites", "AnnealedVAE"): (0.0171, 0.0311, 0.1177, 0.1449, 0.1793, 0.1663),
    ("dSprites", "FactorVAE"): (0.0228, 0.0436, 0.2594, 0.1955, 0.1375, 0.1699),
    ("dSprites", "beta-TCVAE"): (0.0162, 0.0352, 0.1585, 0.1774, 0.1988, 0.1660),
    ("dSprites", "DIP-VAE"): (0.0213, 0.0261, 0.0731, 0.1038, 0.0968, 0.1496),
    ("dSprites", "RecurD"): (0.0047, 0.0502, 0.2707, 0.3841, 0.3835, 0.2222),
    ("3DShapes", "beta-VAE 4"): (0.0216, 0.1463, 0.2519, 0.4682, 0.4463, 0.1982),
    ("3DShapes", "beta-VAE 16"): (0.0544, 0.1488, 0.2629, 0.4528, 0.4691, 0.1828),
    ("3DShapes", "beta-VAE 60"): (0.0624, 0.1041, 0.2402, 0.4317, 0.4215, 0.1641),
    ("3DShapes", "AnnealedVAE"): (0.0811, 0.0730, 0.2217, 0.4279, 0.4419, 0.1682),
    ("3DShapes", "FactorVAE"): (0.0800, 0.1331, 0.2630, 0.4491, 0.4419, 0.1707),
    ("3DShapes", "beta-TCVAE"): (0.0312, 0.0364, 0.2070, 0.4487, 0.4516, 0.1774),
    ("3DShapes", "DIP-VAE"): (0.0213, 0.2013, 0.3108, 0.4853, 0.4621, 0.1961),
    ("3DShapes", "RecurD"): (0.0083, 0.1979, 0.3105, 0.5804, 0.5668, 0.2014),
}
TABLE7: Mapping[tuple[str, str], tuple[float | None, float]] = {
    # reconstruction, MIG; a GAN reconstructs nothing
    ("dSprites", "beta-VAE 4"): (0.0066, 0.2617), ("dSprites", "InfoGAN"): (None, 0.1598),
    ("dSprites", "ControlVAE"): (0.0102, 0.2455), ("dSprites", "NVAE"): (0.0041, 0.0043),
    ("dSprites", "RecurD"): (0.0047, 0.2707),
    ("3DShapes", "beta-VAE 4"): (0.0216, 0.2519), ("3DShapes", "InfoGAN"): (None, 0.1874),
    ("3DShapes", "ControlVAE"): (0.0357, 0.2630), ("3DShapes", "NVAE"): (0.0078, 0.0081),
    ("3DShapes", "RecurD"): (0.0083, 0.3105),
    ("3DCars", "beta-VAE 4"): (0.0376, 0.1015), ("3DCars", "InfoGAN"): (None, 0.1083),
    ("3DCars", "ControlVAE"): (0.0257, 0.1583), ("3DCars", "NVAE"): (0.0118, 0.0034),
    ("3DCars", "RecurD"): (0.0132, 0.1762),
}  # fmt: skip
ROUTERS = {"linear": (0.2539, 0.0176), "fixed": (0.2617, 0.0116), "attention": (0.2604, 0.0095)}
"""MIG and reconstruction on 3DShapes (Table 9)."""
TABLE9 = {("RecurD",): (0.3105, 0.0083), **{(f"router {k}",): v for k, v in ROUTERS.items()}}


def published(figures: Mapping[Any, tuple[float | None, ...]], place: int) -> dict[Any, float]:
    """One column of a paper's table, by the labels of its rows."""
    return {row: value for row, found in figures.items() if (value := found[place]) is not None}


def data_axis(scale: Scale, cars: bool = False) -> list[Any]:
    """Both data sets, with 3DCars where the paper has it; one of them is enough for smoke."""
    sources = {"dSprites": {"data": sprites(scale)}}
    sources |= {} if scale == "smoke" else {"3DShapes": {"data": shapes(scale)}}
    return axis("data", sources | ({"3DCars": {"data": Cars3D()}} if cars and scale == "paper" else {}))


def table2_methods(scale: Scale) -> dict[str, dict[str, Any]]:
    """RecurD and seven baselines; below the paper's scale FactorVAE is the run of tc-disparity."""
    baselines: dict[str, dict[str, Any]] = {
        "beta-VAE 4": {"method": "beta_vae", "beta": 4},
        "FactorVAE": {"method": "factor_vae", "gamma": 6.4 if scale == "paper" else 10, **critic(scale)},
        "beta-VAE 16": {"method": "beta_vae", "beta": 16},
        "beta-VAE 60": {"method": "beta_vae", "beta": 60},
        "AnnealedVAE": {"method": "annealed_vae", "gamma": 1000},
        "beta-TCVAE": {"method": "beta_tcvae", "beta": 4},
        "DIP-VAE": {"method": "dip_vae_i", "od": 100, "d": 10},
    }
    return {"RecurD": {**OWN, "layers": True}, **{k: {**v, **NETWORK} for k, v in baselines.items()}}


def table2_grid(scale: Scale) -> Grid:
    """Each method with its weights, on both data sets."""
    settings = product(data_axis(scale), axis("method", table2_methods(scale)))
    laptop = "RecurD-1: D = 8, its own encoder, the others' decoder; FactorVAE with gamma 10, the run of tc-disparity"
    return budget(scale, PAPER).grid(settings, sprites(scale), note=note(scale, laptop))


def table2_claims(frame: Frame) -> list[Claim]:
    """Section 5.1.1: better than all baselines, in reconstruction and in every score."""
    result: list[Claim] = []
    for (data,), group in groups(frame, "data").items():
        own = select(group, method="RecurD")
        others = {method: select(group, method=method) for method in list(table2_methods("paper"))[1:]}
        better = {m: lower("", own, them, "reconstruction") for m, them in others.items()}
        result.append(every(f"{data}: RecurD reconstructs better than every baseline.", better))
        for name, called in (("sap", "SAP"), ("mig", "MIG"), ("dci", "DCI-D")):
            above = {m: higher("", own, them, name) for m, them in others.items()}
            result.append(every(f"{data}: RecurD's {called} is above every baseline's.", above))
    return result


register(Study(
    name="recurd-table2",
    about="Reconstruction, SAP, MIG and DCI of RecurD and seven baselines on dSprites and 3DShapes.",
    paper="Chen et al. 2022, Tables 2, 6; Fig. 3",
    grid=table2_grid,
    columns=(
        Column(ERROR, "reconstruction (MSE)", published(TABLE2, 0), 4),
        Column("sap", "SAP", published(TABLE2, 1), 4),
        Column("mig", "MIG", published(TABLE2, 2), 4),
        Column("dci", "DCI-D", published(TABLE2, 3), 4),
        Column("dci.completeness", "DCI-C", published(TABLE2, 4), 4),
        Column("dci.error", "DCI-I (error)", published(TABLE2, 5), 4),
    ),
    trade=(ERROR, "mig"),
    claims=table2_claims,
))  # fmt: skip

BASELINES: dict[str, dict[str, Any]] = {
    "RecurD": {**OWN, "layers": True},
    "beta-VAE 4": {"method": "beta_vae", "beta": 4, **NETWORK},
    "ControlVAE": {"method": "control_vae", **NETWORK},
    "InfoGAN": {"method": "info_gan"},
    "NVAE": {"method": "nvae_lite"},
}


def baselines_grid(scale: Scale) -> Grid:
    """Each method with its own settings."""
    settings = product(data_axis(scale, cars=True), axis("method", BASELINES))
    words = note(scale, "no 3DCars; InfoGAN and NVAE with networks of their own", "3DCars from its own file")
    return budget(scale, PAPER).grid(settings, sprites(scale), note=words)


def baselines_claims(frame: Frame) -> list[Claim]:
    """Appendix F: RecurD has the highest MIG of all; NVAE reconstructs as well and has almost none."""
    result: list[Claim] = []
    for (data,), group in groups(frame, "data").items():
        own = select(group, method="RecurD")
        others = {method: select(group, method=method) for method in list(BASELINES)[1:]}
        above = {method: higher("", own, them, "mig") for method, them in others.items()}
        result.append(every(f"{data}: RecurD's MIG is above that of all others.", above))
        result.append(lower(f"{data}: NVAE reconstructs better than RecurD.", others["NVAE"], own, "reconstruction"))
    return result


register(Study(
    name="recurd-baselines",
    about="Reconstruction and MIG of RecurD, beta-VAE, ControlVAE, InfoGAN and NVAE on dSprites, 3DShapes and 3DCars.",
    paper="Chen et al. 2022, Table 7",
    grid=baselines_grid,
    columns=(
        Column(ERROR, "reconstruction (MSE)", published(TABLE7, 0), 4),
        Column("mig", "MIG", published(TABLE7, 1), 4),
    ),
    trade=(ERROR, "mig"),
    claims=baselines_claims,
))  # fmt: skip


def depths(*numbers: int, layers: bool) -> dict[str, dict[str, Any]]:
    """RecurD by the number of routers."""
    return {f"RecurD-{d}": {**OWN, "depth": d, "layers": layers or d == 1} for d in numbers}


def depth_grid(scale: Scale) -> Grid:
    """By the number of routers."""
    settings = axis("method", depths(0, 1, 2, layers=False))
    return budget(scale, PAPER).grid(settings, sprites(scale), note=note(scale, "RecurD's encoders, D = 8"))


def terms_over_training(frame: Frame) -> dict[str, Any]:
    """A panel a term."""
    from hatchel.report.style import LEGEND
    from hatchel.study.figures import COLOURS, grid_of

    drawn = {
        str(method): [d["training"] for d in tasks(group)["details"] if d.get("training")]
        for (method,), group in groups(frame, "method").items()
    }
    every_run = [curves for runs in drawn.values() for curves in runs]
    names = [n for n in ("rec", "kl", "between", "within") if any(n in curves for curves in every_run)]

    def panel(axes: Any, name: str) -> None:
        for colour, (method, runs) in zip(COLOURS, drawn.items(), strict=False):
            curves = [np.array(run[name]) for run in runs if name in run]
            if curves:
                mean = np.mean([c[:, 1] for c in curves], axis=0)
                axes.plot(curves[0][:, 0], mean, ".-", color=colour, label=method)
        axes.set_xlabel("steps")

    if not names:
        return {}
    figure = grid_of({n: n for n in names}, panel, across=2, height=2.2)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, **LEGEND)
    return {"Terms over training": figure}


def depth_claims(frame: Frame) -> list[Claim]:
    """Section 5.1.1: modules with a router optimise minimal sufficiency and disentanglement much better."""
    plain, result = select(frame, method="RecurD-0"), list[Claim]()
    for depth in (1, 2):
        own = select(frame, method=f"RecurD-{depth}")
        result += [
            lower(f"RecurD-{depth}'s KL is below RecurD-0's.", own, plain, "elbo_terms"),
            higher(f"RecurD-{depth}'s DCI-D is above RecurD-0's.", own, plain, "dci"),
        ]
    return result


register(Study(
    name="recurd-depth",
    about="Reconstruction, sufficiency and disentanglement terms of RecurD-0, -1 and -2 over training.",
    paper="Chen et al. 2022, Fig. 4",
    grid=depth_grid,
    columns=(
        Column("mig", "MIG"),
        Column("dci", "DCI-D"),
        Column("elbo_terms", "KL (nats)", digits=2),
        Column("reconstruction", "reconstruction (nats)", digits=2),
    ),
    more_figures=terms_over_training,
    claims=depth_claims,
))  # fmt: skip


def layers_grid(scale: Scale) -> Grid:
    """One router, and two: the runs of recurd-depth."""
    chosen = budget(scale, PAPER, metrics=metrics("mig", "reconstruction", "pairwise_nmi"))
    words = note(scale, "RecurD's own encoders, D = 8; the runs of recurd-depth", "the paper: 3DShapes")
    return chosen.grid(axis("method", depths(1, 2, layers=True)), sprites(scale), note=words)


def layers_claims(frame: Frame) -> list[Claim]:
    """Table 8: z is more disentangled than the layer before it, which is more so than the one before."""
    result: list[Claim] = []
    for method, layers in (("RecurD-1", ("m2", "z")), ("RecurD-2", ("m2", "m3", "z"))):
        own = select(frame, method=method)
        for before, after in pairwise(layers) if len(own) else ():
            text = f"{method}: MIG of {after} is above that of {before}."
            result.append(higher(text, own, own, _layer("mig", after), _layer("mig", before)))
            text = f"{method}: pairwise NMI of {after} is below that of {before}."
            result.append(lower(text, own, own, _layer("pairwise_nmi", after), _layer("pairwise_nmi", before)))
    return result


def _layer(metric: str, layer: str) -> str:
    return metric if layer == "z" else f"{metric}@layer {layer}"


register(Study(
    name="recurd-layers",
    about="MIG and pairwise NMI of the channels of the features m^l and of z, for RecurD-1 and RecurD-2.",
    paper="Chen et al. 2022, Table 8, Fig. 1",
    grid=layers_grid,
    columns=(
        # Layers are counted from z: the paper does not print how many routers Table 8 is about.
        Column("mig@layer m2", "MIG of m2", {("RecurD-1",): 0.2892, ("RecurD-2",): 0.1081}, 4),
        Column("mig@layer m3", "MIG of m3", {("RecurD-2",): 0.2892}, 4),
        Column("mig", "MIG of z", {("RecurD-1",): 0.3105, ("RecurD-2",): 0.3105}, 4),
        Column("pairwise_nmi@layer m2", "pairwise NMI of m2"),
        Column("pairwise_nmi@layer m3", "pairwise NMI of m3"),
        Column("pairwise_nmi", "pairwise NMI of z"),
    ),
    trade=None,
    claims=layers_claims,
))  # fmt: skip

ABLATIONS: dict[str, dict[str, Any]] = {
    "RecurD": {},
    **{f"router {router}": {"encoder.router": router} for router in ROUTERS},
    **{f"lambda1 = {v:g}": {"l1": v} for v in (0.5, 4.0)},
    **{f"lambda2 = {v:g}": {"l2": v} for v in (0.0, 8.0)},
    **{f"k = {k}": {"k": k} for k in (1, 4)},
}
"""Table 9; then the weights and k of Fig. 6."""


def ablation_grid(scale: Scale) -> Grid:
    """RecurD with one part changed."""
    words = note(scale, "RecurD-1", "the paper's Table 9: 3DShapes")
    return budget(scale, PAPER).grid(axis("variant", ABLATIONS), sprites(scale), {**OWN, "layers": True}, words)


def ablation_claims(frame: Frame) -> list[Claim]:
    """Table 9; Fig. 6: larger penalties give a higher SAP and a smaller error."""
    own = select(frame, variant="RecurD")
    result: list[Claim] = []
    for router in ROUTERS:
        text = f"MIG with RecurD's router is above that with {router}."
        result.append(higher(text, own, select(frame, variant=f"router {router}"), "mig"))
    for weight, small, large in (("lambda1", "0.5", "4"), ("lambda2", "0", "8")):
        less, more = (select(frame, variant=f"{weight} = {v}") for v in (small, large))
        text = f"{weight} = {large} in place of {small}:"
        result += [
            higher(f"{text} SAP is higher.", more, less, "sap"),
            lower(f"{text} reconstruction is better.", more, less, "reconstruction"),
        ]
    return result


register(Study(
    name="recurd-ablation",
    about="lambda1, lambda2, k, and the linear, fixed and attention routers in place of RecurD's own.",
    paper="Chen et al. 2022, Figs. 6, 10-17; Table 9",
    grid=ablation_grid,
    columns=(
        Column("mig", "MIG", published(TABLE9, 0)),
        Column(ERROR, "reconstruction (MSE)", published(TABLE9, 1), 4),
        Column("sap", "SAP"),
        Column("dci", "DCI-D"),
    ),
    trade=(ERROR, "sap"),
    contrast="variant",
    claims=ablation_claims,
))  # fmt: skip
