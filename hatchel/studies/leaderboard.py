"""The leader board: methods by metrics on both stages of the pool, and what others published beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hatchel.studies.pool import CLASSES, SHAPES, SPRITES, columns, main, pool
from hatchel.study.frame import Frame, estimate, groups, select, tasks
from hatchel.study.study import Study, register
from hatchel.study.table import Table, table

COLUMNS = columns("mig", "dci", "factor_vae_score", "sap", "active_units", "reconstruction")
PARTS = ("method", "strength", "encoder", "variant")
ABOVE = "reconstruction.above_floor"
OTHERS = "InfoGAN-CR's Table 1 (Lin et al. 2020), dSprites, their budget and their protocols"
PUBLISHED = (
    ("VAE", 0.63, 0.30, 0.10), ("beta-VAE", 0.63, 0.41, 0.21), ("FactorVAE 10", 0.83, 0.70, 0.40),
    ("FactorVAE 40", 0.82, 0.74, 0.43), ("HFVAE", 0.63, 0.39, None), ("InfoGAN-CR", 0.88, 0.71, 0.37),
)  # fmt: skip
"""Method, FactorVAE score, DCI, MIG."""


def named(frame: Frame) -> Frame:
    """With all labels but the data's in one, `setting`: FactorVAE 10, split."""
    names = [setting_name(labels) for labels in frame[[*PARTS]].to_dict("records")]
    return frame.drop(columns=[*PARTS]).assign(setting=names)


def setting_name(labels: Mapping[Any, Any]) -> str:
    """A setting of the pool in a few words."""
    method, strength, encoder, variant = (labels[part] for part in PARTS)
    number = f" {strength:g}" if isinstance(strength, int | float) and method != "VAE" else ""
    weight = f", l2 = {strength:g}" if str(method).startswith("RecurD") else number
    return ", ".join(filter(None, (f"{method}{weight}", encoder if encoder == "split" else "", variant)))


def boards(frame: Frame) -> list[Table]:
    """A table for each stage that has runs, the highest mean MIG first."""
    found: list[Table] = []
    for data in (SHAPES, SPRITES):
        rows = named(select(frame, data=data)) if len(frame) else frame
        if len(rows):
            means = {key: m.value for key, group in groups(rows, "setting").items() if (m := estimate(group, "mig"))}
            own = table(f"{data}: mean over seeds, with a 95 % interval (Student's t)", rows, ["setting"], COLUMNS)
            order = sorted(own.rows, key=lambda row: -means.get(row.labels, 0.0))
            found.append(Table(own.title, own.by, own.columns, tuple(order)))
    return found


def overview(frame: Frame) -> Mapping[str, Any]:
    """MIG against reconstruction at the papers' strengths, and every seed's MIG; for each stage that has runs."""
    from hatchel.study.figures import boxes, named_means

    drawn: dict[str, Any] = {}
    for data in (SHAPES, SPRITES):
        rows = named(select(frame, data=data)) if len(frame) else frame
        if len(rows):
            shown = rows[rows["setting"].isin({setting_name(s.labels) for s in main(CLASSES[data])})]
            names = ("reconstruction error above the pixels' entropy (nats)", "MIG")
            drawn[f"{data}, MIG against reconstruction"] = named_means(shown, ABOVE, "mig", "setting", names)
            drawn[f"{data}, MIG of every seed"] = boxes(rows, "mig", "setting", "MIG")
    return drawn


def core_hours(frame: Frame) -> float:
    """Of computing, one thread a run."""
    return float(tasks(frame)["seconds"].sum()) / 3600 if len(frame) else 0.0


register(Study(
    name="leaderboard",
    about="Every method of the pool by every score, on both stages, beside what others published.",
    grid=pool,
    columns=COLUMNS,
    tables=boards,
    figures=overview,
))  # fmt: skip
