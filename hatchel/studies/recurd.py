"""RecurD (Chen et al. 2022): against the baselines, by depth, by layer, and with parts of it replaced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from hatchel.core.spec import Count
from hatchel.studies.common import DATA, ERROR, RECURD, at, matrix, of_pool, trade_off, view
from hatchel.studies.pool import SHAPES, SPRITES, recurd, stage
from hatchel.study.claims import Claim, each, higher, inside, lower, of_each
from hatchel.study.frame import Frame, groups, labels_of, select, tasks
from hatchel.study.grid import Grid, Scale
from hatchel.study.statistics import rank_correlation
from hatchel.study.study import Study, register
from hatchel.study.table import Column, Table, differences, table
from hatchel.study.task import Case, Label, Result, Task, Workspace
from hatchel.study.trained import Trained
from hatchel.training.spec import RunSpec

MSE = "reconstruction.mse_per_pixel"
SCORES = {"sap": "SAP", "mig": "MIG", "dci": "DCI-D", "dci.completeness": "DCI-C", "dci.informativeness": "DCI-I"}
TABLE2: Mapping[tuple[str, str], tuple[float, ...]] = {
    # reconstruction, SAP, MIG, DCI-D (Table 2), DCI-C, DCI-I (Table 6)
    (SPRITES, "beta-VAE 4"): (0.0066, 0.0284, 0.2617, 0.1191, 0.1148, 0.2181),
    (SPRITES, "beta-VAE 16"): (0.0094, 0.0242, 0.2241, 0.1820, 0.1575, 0.2087),
    (SPRITES, "beta-VAE 60"): (0.0127, 0.0445, 0.1432, 0.1291, 0.1261, 0.1769),
    (SPRITES, "AnnealedVAE"): (0.0171, 0.0311, 0.1177, 0.1449, 0.1793, 0.1663),
    (SPRITES, "FactorVAE 6.4"): (0.0228, 0.0436, 0.2594, 0.1955, 0.1375, 0.1699),
    (SPRITES, "beta-TCVAE 4"): (0.0162, 0.0352, 0.1585, 0.1774, 0.1988, 0.1660),
    (SPRITES, "DIP-VAE-I 100"): (0.0213, 0.0261, 0.0731, 0.1038, 0.0968, 0.1496),
    (SPRITES, "RecurD-1 0.1"): (0.0047, 0.0502, 0.2707, 0.3841, 0.3835, 0.2222),
    (SHAPES, "beta-VAE 4"): (0.0216, 0.1463, 0.2519, 0.4682, 0.4463, 0.1982),
    (SHAPES, "beta-VAE 16"): (0.0544, 0.1488, 0.2629, 0.4528, 0.4691, 0.1828),
    (SHAPES, "beta-VAE 60"): (0.0624, 0.1041, 0.2402, 0.4317, 0.4215, 0.1641),
    (SHAPES, "AnnealedVAE"): (0.0811, 0.0730, 0.2217, 0.4279, 0.4419, 0.1682),
    (SHAPES, "FactorVAE 6.4"): (0.0800, 0.1331, 0.2630, 0.4491, 0.4419, 0.1707),
    (SHAPES, "beta-TCVAE 4"): (0.0312, 0.0364, 0.2070, 0.4487, 0.4516, 0.1774),
    (SHAPES, "DIP-VAE-I 100"): (0.0213, 0.2013, 0.3108, 0.4853, 0.4621, 0.1961),
    (SHAPES, "RecurD-1 0.1"): (0.0083, 0.1979, 0.3105, 0.5804, 0.5668, 0.2014),
}
MIG7 = {
    (SPRITES, "InfoGAN"): 0.1598, (SPRITES, "ControlVAE"): 0.2455, (SPRITES, "NVAE"): 0.0043,
    (SHAPES, "InfoGAN"): 0.1874, (SHAPES, "ControlVAE"): 0.2630, (SHAPES, "NVAE"): 0.0081,
}  # fmt: skip
"""Table 7; its 3DCars are not in the pool."""
ROUTERS = {"linear": 0.2539, "fixed": 0.2617, "attention": 0.2604}
"""MIG on 3DShapes (Table 9)."""


def named(data: str, name: str) -> dict[str, Label]:
    """The row of the pool behind a method of the tables: its baselines have RecurD's 8 dimensions."""
    method, _, strength = name.partition(" ")
    eight = "" if method.startswith("RecurD") or (data, name) in MIG7 else "D = 8"
    return at(data, method, float(strength) if strength else "", eight)


def published(place: int) -> dict[tuple[Label, ...], float]:
    """A column of Tables 2 and 6, by the labels of the pool."""
    found = {key: row[place] for key, row in TABLE2.items()}
    return {tuple(named(*key).values()): value for key, value in (found | (MIG7 if place == 2 else {})).items()}


def baselines(data: str) -> list[dict[str, Label]]:
    """Of Table 2."""
    return [named(*key) for key in TABLE2 if key[0] == data and not key[1].startswith("RecurD")]


class MiniBatches(Task):
    """`correlation`: over mini-batches, Spearman's of I(x;z) and the reconstruction error, both at a draw (Fig. 3)."""

    run: RunSpec
    """What is trained; its seed is the task's."""
    items: Count = 6_400
    """Items in all, which are also the mixture q(z)."""
    batch: Count = 64
    """Items of a mini-batch."""

    def compute(self, workspace: Workspace) -> Result:
        from hatchel.evaluation.evaluation import encodings
        from hatchel.metrics._aggregate import log_given, log_joint

        run = Trained(seed=self.seed, run=self.run).trained(workspace)
        found = encodings(run, self.items, seed=0)
        assert found.std is not None
        mean, std, z = (codes.astype(np.float64) for codes in (found.mean, found.std, found.sample))
        x, rebuilt = run.data.images(found.items) / np.float32(255), run.decode(found.sample).clip(1e-6, 1 - 1e-6)
        error = -(x * np.log(rebuilt) + (1 - x) * np.log(1 - rebuilt)).sum(axis=(1, 2, 3))
        information = log_given(mean, std, z) - log_joint(mean, std, z)
        order = np.random.default_rng(self.seed).permutation(len(x) // self.batch * self.batch)
        means = {
            name: values[order].reshape(-1, self.batch).mean(axis=1).tolist()
            for name, values in (("information", information), ("error", error))
        }
        return Result({"correlation": float(rank_correlation(means)[0, 1])}, means)


BATCHED = [at(SHAPES, method, strength, "D = 8") for method, strength in (("beta-VAE", 4), ("FactorVAE", 6.4))]
BATCHES = "mini-batches"


def more(scale: Scale) -> list[Grid]:
    """The weights of Fig. 6 that the pool lacks, and mini-batches of its runs."""
    settings = [recurd(l2=0.1, variant=f"l1 = {weight:g}", l1=weight) for weight in (0.5, 4.0)]
    rows = [at(SHAPES, "beta-VAE", 4)] if scale == "smoke" else BATCHED  # at smoke the pool has no D = 8
    size = {"items": 64, "batch": 2} if scale == "smoke" else {}
    cases = [
        Case({**row, "variant": BATCHES}, MiniBatches(seed=0, run=task.run, **size))
        for row, task in of_pool(scale, rows)
    ]
    grids = [Grid(tuple(cases), 1 if scale == "smoke" else 5)]
    return grids if scale == "smoke" else [*grids, stage(SHAPES, scale, settings, 5)]


def found_factors(rows: Frame) -> float | None:
    """Of the factor that is found worst, the R² or accuracy of the latent that knows it best."""
    known, factors = matrix(rows, "sap")
    return float(known.max(axis=0).min()) if factors else None


def early(rows: Frame) -> float | None:
    """The mean reconstruction term over the first fifth of training."""
    points = np.array(rows["details"].iloc[0].get("training", {}).get("rec", []))
    return float(points[points[:, 0] <= points[-1, 0] / 5, 1].mean()) if len(points) > 5 else None


READINGS = {
    "l2 = 0": at(SHAPES, "RecurD-1", 0.0),
    "as read": at(SHAPES, "RecurD-1", 0.1),
    "between outputs": at(SHAPES, "RecurD-1", 0.1, "outputs"),
    "within alone": at(SHAPES, "RecurD-1", 0.1, "within alone"),
    "l1 = 0.1, no KL": at(SHAPES, "RecurD-1", 0.1, "l1 = 0.1, no KL"),
}
"""The architecture alone, and readings of Eq. 4 at one l2: with pairs between layers of what encoders read and give, of
what they give, without such pairs, and without the KL."""
HELP = {"mig": ("MIG", "higher"), "dci": ("DCI-D", "higher"), "factor_vae_score": ("FactorVAE score", "higher"),
        ERROR: ("reconstruction error", "lower")}  # fmt: skip
"""What a regulariser would have to improve; the side is where the architecture alone lies if it does not."""


def readings_table(frame: Frame) -> list[Table]:
    """Is there a reading in which the regulariser helps? Each less the architecture alone, seed by seed."""
    alone, *rest = (select(frame, **labels).assign(reading=name) for name, labels in READINGS.items())
    if not len(alone):
        return []
    chosen = pd.concat([alone, *rest], ignore_index=True).drop(columns=[*READINGS["l2 = 0"]])
    columns = [Column(value, name, digits=1 if value == ERROR else 3) for value, (name, _) in HELP.items()]
    found = differences(chosen, "reading", columns, "mig")
    return [replace(found, title="Readings of the regulariser, less l2 = 0, paired over seeds")] if found else []


def claims() -> list[Claim]:
    """Section 5 and the appendix; the paper's method has its penalty, l2 = 0 is the architecture alone."""
    found: list[Claim] = []
    for suffix, data in DATA.items():
        own, alone, others = at(data, "RecurD-1", 0.1), at(data, "RecurD-1", 0.0), baselines(data)
        plain = at(data, "VAE", 1, "D = 8")
        text = f"{data}: RecurD's reconstruction error is below each baseline's."
        found += [
            RECURD(f"R1.{suffix}", "Table 2", text, lower(ERROR, own, *others)),
            RECURD(f"R1.alone.{suffix}", "Table 2", f"{text[:-1]} without its penalty too.", lower(ERROR, alone,
                   *others),
                   True),
            RECURD(f"R1.vae.{suffix}", "Table 2", f"{data}: it is below a plain VAE's (l1 = 1).", lower(ERROR, own,
                   plain),
                   True),
        ]  # fmt: skip
        found += [
            RECURD(f"R2.{value.replace('.', '-')}.{suffix}", "Tables 2, 6", f"{data}: RecurD's {name} is above each "
                   "baseline's.",
                   higher(value, own, *others))
            for value, name in SCORES.items()
        ]  # fmt: skip
        betas = [named(data, f"beta-VAE {b}") for b in (4, 16, 60)]
        grows = {f"{b['strength']:g} to {a['strength']:g}": higher(ERROR, a, b) for b, a in pairwise(betas)}
        found += [
            RECURD(f"R3.{suffix}", "Section 5.1.1", f"{data}: beta-VAE's reconstruction error grows with beta.",
                   each(grows)),
            RECURD(f"R8.{suffix}", "Table 7", f"{data}: RecurD's MIG is above that of InfoGAN, ControlVAE and NVAE.",
                   higher("mig", own, *(at(data, method) for method in ("InfoGAN", "ControlVAE", "NVAE")))),
            RECURD(f"R8.nvae.{suffix}", "Table 7", f"{data}: NVAE's MIG is almost 0 (below 0.05, ours).",
                   inside("mig", at(data, "NVAE"), high=0.05)),
        ]  # fmt: skip
    found.append(RECURD(
        "R4", "Fig. 3", "Over mini-batches of a baseline less I(x;z) goes with a larger reconstruction error (rank "
        "correlation below 0).", each({str(row["method"]): inside("correlation", {**row, "variant": BATCHES},
        high=0.0) for row in BATCHED}),
    ))  # fmt: skip
    zero, one, two = (at(SHAPES, f"RecurD-{depth}", 0.1) for depth in range(3))
    for depth in (1, 2):
        own = at(SHAPES, f"RecurD-{depth}", 0.1)
        for term, value in (("sufficiency", "elbo_terms.mutual_information"), ("disentanglement", "pairwise_nmi")):
            words = {"sufficiency": "I(x;z)", "disentanglement": "dependence between latents (pairwise NMI)"}[term]
            found.append(RECURD(f"R5.{term}.{depth}", "Fig. 4", f"RecurD-{depth}'s {words} is below RecurD-0's.",
                                lower(value, own, zero)))  # fmt: skip
    found.append(RECURD(
        "R5.early", "Fig. 4", "Early on RecurD-2 improves faster than RecurD-1: its reconstruction term over the first "
        "fifth of training is lower.", lower(of_each(early), two, one),
    ))  # fmt: skip
    found.append(RECURD(
        "R6", "Fig. 5", "All six factors of 3DShapes are found: one latent knows each (R² or accuracy at least 0.5, "
        "ours).",
        inside(of_each(found_factors), one, low=0.5),
    ))  # fmt: skip
    weights = {"l1": (at(SHAPES, "RecurD-1", 0.1, "l1 = 4"), at(SHAPES, "RecurD-1", 0.1, "l1 = 0.5")),
               "l2": (at(SHAPES, "RecurD-1", 2.0), at(SHAPES, "RecurD-1", 0.02))}  # fmt: skip
    for name, (large, small) in weights.items():
        found += [
            RECURD(f"R7.{name}.sap", "Fig. 6", f"A larger {name} raises SAP.", higher("sap", large, small)),
            RECURD(f"R7.{name}.error", "Fig. 6", f"A larger {name} lowers the reconstruction error.",
                   lower(ERROR, large, small)),
        ]  # fmt: skip
    alone, *readings = READINGS.values()
    by_k = [at(SHAPES, "RecurD-1", 0.0, f"k = {k}" if k != 2 else "") for k in range(1, 5)]
    grows = {f"{b} to {b + 1}": lower(ERROR, by_k[b], by_k[b - 1]) for b in (1, 2, 3)}
    found += [
        RECURD("R7.k.error", "Fig. 6", "The reconstruction error falls as k grows from 1 to 4 (l2 = 0).", each(grows)),
        RECURD("R7.k.sap", "Fig. 6", "k = 1 has a lower SAP than k = 2 (l2 = 0).", lower("sap", by_k[0], by_k[1])),
        RECURD("R7.penalty.sap", "Section 5.1.3", "The architecture alone (l2 = 0) has a lower SAP than RecurD.",
               lower("sap", alone, one)),
        RECURD("R7.penalty.error", "Section 5.1.3", "It has a larger reconstruction error than RecurD.",
               higher(ERROR, alone, one)),
        *(RECURD(f"R7.readings.{value.replace('_', '-')}", "Section 5.1.3", "No reading of the regulariser helps: the "
                 f"architecture alone (l2 = 0) has a {side} {name} than each (l2 = 0.1).",
                 (lower if side == "lower" else higher)(value, alone, *readings), True)
          for value, (name, side) in HELP.items()),
    ]  # fmt: skip
    layers = ("mig@layer m2", "mig@layer m3", "mig")
    found += [
        RECURD("R9.1", "Table 8", "RecurD-1: MIG of z is above that of the layer before.",
               higher("mig", one, one, beside="mig@layer m2")),
        RECURD("R9.2", "Table 8", "RecurD-2: MIG grows from layer to layer up to z.",
               each({f"{a} over {b}": higher(a, two, two, beside=b) for b, a in pairwise(layers)})),
        RECURD("R10", "Table 9", "RecurD's router has a higher MIG than the linear, the fixed and the attention router "
               "(l2 = 0).", higher("mig", at(SHAPES, "RecurD-1", 0.0),
                                   *(at(SHAPES, "RecurD-1", 0.0, f"{name} router") for name in ROUTERS))),
    ]  # fmt: skip
    return found


def terms_over_training(frame: Frame) -> dict[str, Any]:
    """A panel a term, a line a depth (Fig. 4)."""
    from hatchel.study.figures import COLOURS, grid_of

    drawn = {
        f"{method}, l2 = {weight:g}": [d["training"] for d in tasks(group)["details"] if d.get("training")]
        for (method, weight, variant, data), group in groups(frame, "method", "strength", "variant", "data").items()
        if str(method).startswith("RecurD") and weight in (0.0, 0.1) and not variant and data == SHAPES
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
    return {"Terms over training": grid_of({n: n for n in names}, panel, across=2, height=2.2, legend=3)}


def penalty_curve(frame: Frame) -> dict[str, Any]:
    """Scores over l2, RecurD-1: is there a weight at which the penalty helps?"""
    from hatchel.study.figures import lines

    own = select(frame, data=SHAPES, method="RecurD-1")
    own = own[own["variant"].isin(["", "within alone"])]
    names = {"mig": "MIG", "dci": "DCI-D", ERROR: "reconstruction (nats)"}
    if not len(own) or own["strength"].nunique() < 2:
        return {}
    return {f"{name} over l2": lines(own, "strength", value, "variant", ("l2", name)) for value, name in names.items()}


CHOSEN = {
    tuple(labels.values())
    for data in (SHAPES, SPRITES)
    for labels in (*baselines(data), at(data, "VAE", 1), *(at(data, m) for m in ("InfoGAN", "ControlVAE", "NVAE")))
}
COLUMNS = (
    Column(MSE, "reconstruction (MSE)", published(0), 4),
    *(Column(value, name, published(place), 4) for place, (value, name) in enumerate(SCORES.items(), 1)),
    Column("mig@layer m2", "MIG of m2"),
    Column("mig@layer m3", "MIG of m3"),
)
register(Study(
    name="recurd",
    about="RecurD and its baselines on Shapes3D and dSprites; its depths, layers, weights and routers; views of the "
    "pool.",
    paper="Chen et al. 2022, Tables 2, 6-9; Figs. 3-6",
    grid=view(lambda labels: str(labels["method"]).startswith("RecurD") or labels["variant"] == "D = 8"
              or tuple(labels.values()) in CHOSEN, more),
    columns=COLUMNS,
    tables=lambda frame: [table("Mean over seeds with a 95 % interval", frame, labels_of(frame), COLUMNS),
                          *readings_table(frame)],
    figures=lambda frame: {**trade_off(frame), **terms_over_training(frame), **penalty_curve(frame)},
    claims=tuple(claims()),
))  # fmt: skip
