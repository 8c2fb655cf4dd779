"""Precision: whether bfloat16 gives the scores of float32, seed by seed."""

from __future__ import annotations

from hatchel.studies.pool import CLASSES, SHAPES, columns, main, stage
from hatchel.study.grid import Grid, Scale, Setting, changes
from hatchel.study.study import Study, register
from hatchel.study.task import Case

PRECISIONS = ("float32", "bfloat16")
WHICH = (("VAE", "conv"), ("beta-TCVAE", "split"))
"""Methods and encoders of the pool, whose own runs in float32 are not trained again."""


def precision_grid(scale: Scale) -> Grid:
    """The pool's runs of a few methods, and the same in half precision."""
    rows = [s for s in main(CLASSES[SHAPES]) if (s.labels["method"], s.labels["encoder"]) in WHICH]
    settings = [
        Setting({**row.labels, "variant": precision}, (*row.changes, *changes({"precision": precision})))
        for precision in PRECISIONS
        for row in rows
    ]
    made = stage(SHAPES, scale, settings, 5)
    names = {"method": "method", "encoder": "encoder", "precision": "variant"}
    cases = [Case({name: c.labels[label] for name, label in names.items()}, c.task) for c in made.cases]
    return Grid(tuple(cases), made.seeds, made.note)


register(Study(
    name="precision",
    about="MIG, reconstruction and other scores of models trained in bfloat16, paired with those in float32.",
    paper="this project",
    grid=precision_grid,
    columns=columns("mig", "dci", "factor_vae_score", "reconstruction"),
    contrast="precision",
))  # fmt: skip
