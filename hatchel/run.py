"""Run: a trained model and where it lives; `train` makes one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hatchel import distributed
from hatchel.data.dataset import Dataset
from hatchel.data.source import Source
from hatchel.errors import HatchelError
from hatchel.files import writable_folder
from hatchel.model import Model
from hatchel.spec import decode, updated
from hatchel.training.checkpoint import Description, checkpoints, restore
from hatchel.training.loop import choose_device, fit, processes
from hatchel.training.order import Order
from hatchel.training.spec import RunSpec, build, resolved

CHUNK = 512
"""Items encoded or decoded at once."""

Floats = NDArray[np.float32]


class Run:
    """A trained model: encode, decode, reconstruct; its folder holds everything needed to load it again."""

    def __init__(self, folder: Path, description: Description, model: Model, steps: int) -> None:
        self.folder = folder
        self.description = description
        self.model = model.eval()
        self.steps = steps
        """Steps done."""
        self._data: Dataset | None = None

    @staticmethod
    def load(folder: str | Path, device: str = "cpu") -> Run:
        """The run in a folder, from its newest readable checkpoint."""
        place = Path(folder)
        description = Description.read(place)
        system = build(description.spec, description.shape)
        steps = restore(place, system)
        system.to(device=choose_device(device), memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
        return Run(place, description, system.model, steps)

    @property
    def spec(self) -> RunSpec:
        """What was asked for."""
        return self.description.spec

    @property
    def data(self) -> Dataset:
        """The data it was trained on, loaded when first needed."""
        if self._data is None:
            self._data = self.spec.data.load()
        return self._data

    def posterior(self, images: Any) -> tuple[Floats, Floats]:
        """Mean and standard deviation of q(z|x): two arrays (n, D)."""
        parts = [(q.mean, q.variance.sqrt()) for q in self._posteriors(images)]
        mean, std = (torch.cat(column).cpu().numpy() for column in zip(*parts, strict=True))
        return mean, std

    def encode(self, images: Any) -> Floats:
        """The codes of images (n, H, W, C), uint8 or floats in [0, 1], or of rows (n, F): posterior means (n, D)."""
        return self.posterior(images)[0]

    def decode(self, codes: Any) -> Floats:
        """The mean image (n, H, W, C) in [0, 1], or row (n, F), of each code (n, D)."""
        z = torch.as_tensor(np.asarray(codes), dtype=torch.float32, device=self._device)
        width = self.spec.latent.width
        if z.ndim != 2 or z.shape[1] != width:
            raise HatchelError(f"codes: expected an array of shape (n, {width}), got {tuple(z.shape)}")
        with torch.inference_mode():
            out = torch.cat([self.model.decode(part) for part in z.split(CHUNK)] or [z.new_zeros(0, *self.shape)])
        return (out.permute(0, 2, 3, 1) if out.ndim == 4 else out).cpu().numpy()

    def reconstruct(self, images: Any) -> Floats:
        """Through the mean code and back."""
        return self.decode(self.encode(images))

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one item as the model sees it: (C, H, W) or (F,)."""
        return self.description.shape

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device

    def batches(self, images: Any) -> Iterator[Tensor]:
        """Checked and scaled as in training, a chunk at a time."""
        x = images if isinstance(images, Tensor) else torch.as_tensor(np.asarray(images))
        if len(self.shape) == 3 and not isinstance(images, Tensor):
            x = x[..., None] if x.ndim == 3 else x
            x = x.permute(0, 3, 1, 2) if x.ndim == 4 else x
        if x.ndim == 0 or tuple(x.shape[1:]) != self.shape:
            c, *size = self.shape
            wanted = f"(n, {size[0]}, {size[1]}, {c})" if size else f"(n, {c})"
            raise HatchelError(f"images: expected an array of shape {wanted}, got {tuple(np.shape(images))}")
        for part in x.split(CHUNK):
            part = part.to(self._device)
            part = part.float() / 255 if part.dtype == torch.uint8 else part.float()
            yield part.contiguous(memory_format=torch.channels_last) if part.ndim == 4 else part

    def _posteriors(self, images: Any) -> Iterator[Any]:
        with torch.inference_mode():
            for x in self.batches(images):
                yield self.model.encode(x)[0]

    def evaluate(self, *arguments: Any, **options: Any) -> Any:
        """Every metric on codes of the run's own data; see `hatchel.evaluation.evaluate`."""
        from hatchel.evaluation import evaluate

        return evaluate(self, *arguments, **options)


def train(
    spec: RunSpec,
    *,
    data: str | Path | Source | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
    progress: bool = True,
    **fields: Any,
) -> Run:
    """Train what a spec describes; other fields of the spec can be given by name: `steps=1000, seed=1`.

    `out`: the run's folder, by default runs/NAME-DIGEST. A finished run with the same spec is loaded, not trained again
    (`force` starts over); an unfinished one is continued with `resume`.
    """
    if data is not None:
        source = data if isinstance(data, Source) else decode(Source, str(data), "data")
        spec = spec.with_fields(data=source)
    spec = updated(spec, fields) if fields else spec
    loaded = spec.data.load()
    spec = resolved(spec, loaded)
    folder = Path(out) if out is not None else Path("runs") / f"{spec.name}-{spec.digest()}"
    with processes(choose_device(spec.device)):
        return _train(spec, loaded, folder, resume, force, progress)


def resume_run(folder: str | Path, *, progress: bool = True, changes: dict[str, Any] | None = None) -> Run:
    """Continue the run in a folder from its last checkpoint; `changes` may raise `steps`, which starts no new run."""
    description = Description.read(Path(folder))
    spec = updated(description.spec, changes or {})
    return train(spec, out=folder, resume=True, progress=progress)


def _train(spec: RunSpec, data: Dataset, folder: Path, resume: bool, force: bool, progress: bool) -> Run:
    items = data.split(spec.seed, spec.test_share)[0] if spec.test_share else np.arange(len(data))
    description = Description(spec, data.shape, len(items), data.fingerprint)
    # Before anything is written: a spec that does not fit is refused here.
    system = build(spec, data.shape)
    order = Order(torch.from_numpy(items), spec.batch_size, spec.seed)
    done = _look(folder, description, resume, force)
    if done is not None:
        return done
    if distributed.rank() == 0:
        writable_folder(folder)
        if force:
            shutil.rmtree(folder / "checkpoints", ignore_errors=True)
        description.write(folder)
    fit(system, description, data, order, folder, resume and not force, progress)
    run = Run(folder, description, system.model, spec.steps)
    run._data = data  # pyright: ignore[reportPrivateUsage]
    return run


def _look(folder: Path, wanted: Description, resume: bool, force: bool) -> Run | None:
    """What already lies in the folder: a finished run is returned, a foreign or unfinished one is refused."""
    if force or not folder.exists() or not any(folder.iterdir()):
        return None
    found = Description.read(folder)
    if found.fingerprint != wanted.fingerprint:
        raise HatchelError(f"{folder}: was trained on other data; choose another folder with --out, or --force")
    same: Callable[[RunSpec], str] = lambda s: s.with_fields(steps=1).digest()  # noqa: E731
    if same(found.spec) != same(wanted.spec):
        raise HatchelError(f"{folder}: holds a run with another configuration; choose another --out, or --force")
    steps = int(checkpoints(folder)[0].name.removeprefix("step-")) if checkpoints(folder) else 0
    if steps >= wanted.spec.steps:
        return Run.load(folder, wanted.spec.device)
    if not resume:
        raise HatchelError(
            f"{folder}: holds an unfinished run ({steps} of {wanted.spec.steps} steps); "
            "add --resume to go on, or --force to start over"
        )
    return None
