"""Trackers: TensorBoard, Weights & Biases and MLflow, each with the terms and a picture of traversals."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from PIL import Image

from hatchel.core.errors import HatchelError
from hatchel.core.files import Damaged, read_json, write_json
from hatchel.core.spec import to_dict
from hatchel.evaluation.codes import chosen_items
from hatchel.metrics.probe import Probe
from hatchel.report.dimensions import Dimensions, site_information
from hatchel.report.pictures import clearest, decoded, mosaic, traversal_codes
from hatchel.training.callbacks import Callback, Tracker
from hatchel.training.run import TrainedRun

ITEMS = 512
"""Items that are encoded for a picture."""
NAMES = "tracked.json"
"""In a run's folder: what a tracker calls the run, so that a resumed one goes on where it was."""


class TensorBoard(Tracker, kind="tensorboard"):
    """Files in RUN/tensorboard, for `tensorboard --logdir runs`; the extra `track`."""

    def open(self) -> Callback:
        return _Board(_installed("torch.utils.tensorboard", "tensorboard", "track"))


class WandB(Tracker, kind="wandb"):
    """Weights & Biases; the extra `wandb`. WANDB_MODE=offline sends nothing."""

    project: str = "hatchel"
    """Where the run is shown."""

    def open(self) -> Callback:
        return _Wandb(_installed("wandb", "wandb", "wandb"), self.project)


class MLflow(Tracker, kind="mlflow"):
    """MLflow, at MLFLOW_TRACKING_URI; the extra `mlflow`."""

    experiment: str = "hatchel"
    """Where the run is shown."""

    def open(self) -> Callback:
        return _MLflow(_installed("mlflow", "mlflow", "mlflow"), self.experiment)


class _Board(Callback):
    def __init__(self, module: Any) -> None:
        self._module, self._writer = module, cast(Any, None)

    def on_start(self, run: TrainedRun, step: int) -> None:
        self._writer = self._module.SummaryWriter(str(run.folder / "tensorboard"), purge_step=step + 1)

    def on_step(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def on_checkpoint(self, run: TrainedRun, step: int) -> None:
        picture = traversals(run)
        if picture is not None:
            self._writer.add_image("traversals", np.asarray(picture), step, dataformats="HWC")

    def on_end(self) -> None:
        if self._writer is not None:
            self._writer.close()


class _Wandb(Callback):
    def __init__(self, module: Any, project: str) -> None:
        self._module, self._project, self._run = module, project, cast(Any, None)

    def on_start(self, run: TrainedRun, step: int) -> None:
        self._run = self._module.init(
            project=self._project, name=run.folder.name, dir=str(run.folder), config=to_dict(run.spec),
            id=_name(run, "wandb", step), resume="allow",
        )  # fmt: skip
        _name(run, "wandb", step, self._run.id)

    def on_step(self, step: int, values: Mapping[str, float]) -> None:
        self._run.log(dict(values), step=step)

    def on_checkpoint(self, run: TrainedRun, step: int) -> None:
        picture = traversals(run)
        if picture is not None:
            self._run.log({"traversals": self._module.Image(picture)}, step=step)

    def on_end(self) -> None:
        if self._run is not None:
            self._run.finish()


class _MLflow(Callback):
    def __init__(self, module: Any, experiment: str) -> None:
        self._module, self._experiment, self._run = module, experiment, cast(Any, None)

    def on_start(self, run: TrainedRun, step: int) -> None:
        self._module.set_experiment(self._experiment)
        known = _name(run, "mlflow", step)
        named: dict[str, Any] = {"run_id": known} if known else {"run_name": run.folder.name}
        self._run = self._module.start_run(**named)
        if not known:
            # A parameter of MLflow is short text.
            self._module.log_params({k: str(v)[:500] for k, v in to_dict(run.spec).items()})
            _name(run, "mlflow", step, self._run.info.run_id)

    def on_step(self, step: int, values: Mapping[str, float]) -> None:
        self._module.log_metrics(dict(values), step=step)

    def on_checkpoint(self, run: TrainedRun, step: int) -> None:
        picture = traversals(run)
        if picture is not None:
            self._module.log_image(picture, f"traversals-{step:09d}.png")

    def on_end(self) -> None:
        if self._run is not None:
            self._module.end_run()


def traversals(run: TrainedRun) -> Image.Image | None:
    """Every dimension moved over the data's range, a row each, the most informative first; None for tables."""
    if len(run.shape) != 3:
        return None
    mean, std = run.posterior(run.data.images(chosen_items(run, ITEMS)))
    sites = run.spec.latent.layout.sites
    # Of a Gaussian channel: half the log of one and the ratio of signal to noise.
    ratio = mean.var(axis=0) / np.maximum((std**2).mean(axis=0), 1e-12)
    real = [float(0.5 * np.log1p(ratio[site.columns[0]])) for site in sites if not site.discrete]
    dimensions = Dimensions.of(Probe(mean), site_information(sites, mean, real), sites)
    codes, counts = traversal_codes(clearest(run, mean, dimensions), dimensions)
    return Image.fromarray(mosaic(decoded(run, codes), counts=counts)).convert("RGB")


def _installed(module: str, package: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise HatchelError(f'track: {package} is not installed; pip install "hatchel[{extra}]"') from None


def _name(run: TrainedRun, tracker: str, step: int, name: str | None = None) -> str | None:
    """What a tracker calls a run that goes on; kept, if given. A run from step 0 is a new one."""
    path = run.folder / NAMES
    try:
        names = dict(read_json(path)) if path.is_file() else {}
    except Damaged as error:
        print(f"hatchel: {error}; the run is a new one to its trackers", file=sys.stderr)
        names = {}
    if name is not None:
        write_json(path, {**names, tracker: name})
    return name or (names.get(tracker) if step else None)
