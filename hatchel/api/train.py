"""train: from a method's name, data and changes to a trained run in one call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from hatchel.api.run import Run
from hatchel.data.dataset import Dataset
from hatchel.data.source import Source
from hatchel.methods.method import Method
from hatchel.methods.resolve import resolve
from hatchel.training import run as training
from hatchel.training.spec import RunSpec


def train(
    method: str | Method | RunSpec,
    *,
    data: str | Path | Source | Dataset | NDArray[Any] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
    progress: bool = True,
    **changes: Any,
) -> Run:
    """Train a method: `train("beta_vae", data="dsprites", beta=4, steps=1000)`; or what a RunSpec describes.

    `changes` are parameters of the method and fields of the run, dotted ones as `**{"latent.dim": 16}`.
    `data`: a name, a path, a Source, a Dataset, an array of images (n, H, W, C) or of rows (n, F).
    `out`: the run's folder, by default runs/NAME-DIGEST. A finished run with the same spec is loaded, not trained again
    (`force` starts over); an unfinished one is continued with `resume`.
    """
    if not isinstance(method, RunSpec):
        named = isinstance(data, str | Path | Source)
        method, changes = resolve(method, data if named else "dsprites", changes), {}
        data = None if named else data
    return Run.of(training.train(method, data=data, out=out, resume=resume, force=force, progress=progress, **changes))
