"""TrainedRun: a trained model and its folder; `train` makes one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hatchel.core import distributed
from hatchel.core.errors import HatchelError
from hatchel.core.files import writable_folder
from hatchel.core.spec import from_dict, updated
from hatchel.core.streams import generator
from hatchel.data.array import Memory, from_array
from hatchel.data.dataset import Dataset
from hatchel.data.source import Source
from hatchel.latents.likelihoods import Columns
from hatchel.latents.posterior import Posterior
from hatchel.training.checkpoint import Description, checkpoints, restore
from hatchel.training.loop import choose_device, faster_precision, fit, processes
from hatchel.training.model import Model
from hatchel.training.order import Batches
from hatchel.training.spec import RunSpec

CHUNK = 512
"""Items encoded or decoded at once."""

Floats = NDArray[np.float32]


class TrainedRun:
    """A trained model: encode, decode, reconstruct; its folder holds everything needed to load it again."""

    def __init__(self, folder: Path, description: Description, model: Model, steps: int) -> None:
        self.folder = folder
        self.description = description
        self.model = model.eval()
        self.steps = steps
        """Steps done."""
        self._data: Dataset | None = None

    @classmethod
    def load(
        cls, folder: str | Path, device: str = "cpu", *, step: int | None = None, data: Dataset | None = None
    ) -> Self:
        """The run in a folder, from its newest readable checkpoint, or from that of a step; `data`, if loaded."""
        place = Path(folder)
        description = Description.read(place)
        system = description.spec.build(description.shape)
        steps = restore(place, system, step=step)
        system.to(device=choose_device(device), memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
        run = cls(place, description, system.model, steps)
        run._data = data
        return run

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

    @property
    def levels(self) -> int:
        """Latent spaces of a hierarchy; 1 where there is none."""
        return self.spec.latent.layout.levels

    def posterior(self, images: Any, level: int = 0) -> tuple[Floats, Floats]:
        """Mean and standard deviation of q(z|x): two arrays (n, D); of a class, those of its one-hot."""
        none = torch.zeros(0, self.spec.latent.width)
        parts = [(q.mean.cpu(), q.variance.sqrt().cpu()) for q in self._posteriors(images, level)] or [(none, none)]
        mean, std = (torch.cat(column).numpy() for column in zip(*parts, strict=True))
        return mean, std

    def encode(self, images: Any, level: int = 0, hard: bool = False) -> Floats:
        """The codes of images (n, H, W, C), uint8 or floats in [0, 1], or of rows (n, F): posterior means (n, D).

        `level`: of a hierarchy of latent spaces. `hard`: the most probable class in place of class probabilities.
        """
        none = torch.zeros(0, self.spec.latent.width)
        return torch.cat([q.code(hard).cpu() for q in self._posteriors(images, level)] or [none]).numpy()

    def decode(self, codes: Any, level: int = 0) -> Floats:
        """The mean image (n, H, W, C) in [0, 1], or row (n, F), of each code (n, D) of a level."""
        self._check_level(level)
        z = torch.from_numpy(np.array(codes, dtype=np.float32)).to(self._device)
        width = self.spec.latent.width
        if z.ndim != 2 or z.shape[1] != width:
            raise HatchelError(f"codes: expected an array of shape (n, {width}), got {tuple(z.shape)}")
        with torch.inference_mode():
            out = torch.cat(
                [self.model.decode(part, level) for part in z.split(CHUNK)] or [z.new_zeros(0, *self.shape)]
            )
        return self._in_data_units(out)

    def sample(self, n: int, seed: int = 0, level: int = 0) -> tuple[Floats, Floats]:
        """n codes z ~ p(z), (n, D), and the mean image or row of each, as `decode` gives them."""
        self._check_level(level)
        with torch.inference_mode():
            z, x = self.model.generate(n, generator(seed, "prior"), self.steps, level)
        return z.cpu().numpy(), self._in_data_units(x)

    def _in_data_units(self, out: Tensor) -> Floats:
        if out.ndim == 4:
            return out.permute(0, 2, 3, 1).cpu().numpy()
        centre, scale = self._units
        return (out * scale + centre).cpu().numpy()

    def reconstruct(self, images: Any, level: int = 0, hard: bool = False) -> Floats:
        """Through the mean code and back."""
        return self.decode(self.encode(images, level, hard), level)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one item as the model sees it: (C, H, W) or (F,)."""
        return self.description.shape

    @property
    def _units(self) -> tuple[Tensor, Tensor]:
        """What was subtracted from each value of a row, and what it was divided by: (F,) each."""
        likelihood = self.spec.likelihood
        columns = likelihood.columns if isinstance(likelihood, Columns) else ()
        centre = [c.mean for c in columns for _ in range(c.width)] or [0.0] * self.shape[0]
        scale = [c.scale for c in columns for _ in range(c.width)] or [1.0] * self.shape[0]
        numbers = torch.tensor([centre, scale], dtype=torch.float64, device=self._device)
        return numbers[0], numbers[1]

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device

    def batches(self, images: Any) -> Iterator[Tensor]:
        """Checked and scaled as in training, a chunk at a time."""
        x: NDArray[Any] = np.asarray(images)
        if len(self.shape) == 3 and x.ndim == 3:
            x = x[..., None]
        wanted = (*self.shape[1:], self.shape[0])
        if x.ndim == 0 or x.shape[1:] != wanted:
            shape = ", ".join(map(str, ("n", *wanted)))
            raise HatchelError(f"images: expected an array of shape ({shape}), got {np.shape(images)}")
        for start in range(0, len(x), CHUNK):
            part = torch.from_numpy(np.array(x[start : start + CHUNK])).to(self._device)
            if part.ndim == 4:
                part = part.float() / 255 if part.dtype == torch.uint8 else part.float()
                yield part.permute(0, 3, 1, 2)  # channels stay last in memory
            else:
                centre, scale = self._units
                yield ((part.double() - centre) / scale).float()

    def _posteriors(self, images: Any, level: int) -> Iterator[Posterior]:
        self._check_level(level)
        with torch.inference_mode():
            for x in self.batches(images):
                yield self.model.encode(x, self.steps, level)[0]

    def _check_level(self, level: int) -> None:
        if not 0 <= level < self.levels:
            known = "0 only" if self.levels == 1 else f"0 to {self.levels - 1}"
            raise HatchelError(f"level: this run's latent has level {known}, not {level}")


def train(
    spec: RunSpec,
    *,
    data: str | Path | Source | Dataset | NDArray[Any] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
    progress: bool = True,
    **fields: Any,
) -> TrainedRun:
    """Train what a spec describes; other fields of the spec can be given by name: `steps=1000, seed=1`.

    `data`: a name, a path, a Source, a Dataset, or an array of images (n, H, W, C) or rows (n, F).
    `out`: the run's folder, by default runs/NAME-DIGEST. A finished run with the same spec is loaded, not trained again
    (`force` starts over); an unfinished one is continued with `resume`.
    """
    held = from_array(data) if isinstance(data, np.ndarray) else data if isinstance(data, Dataset) else None
    if held is not None:
        spec = spec.with_fields(data=Memory(held.fingerprint))
    elif data is not None:
        spec = spec.with_fields(data=data if isinstance(data, Source) else from_dict(Source, str(data), "data"))
    spec = updated(spec, fields) if fields else spec
    loaded = held or spec.data.load()
    spec = spec.fit_to(loaded)
    if spec.precision == "auto":
        known = out is not None and not force and (Path(out) / "config.json").is_file()
        chosen = Description.read(Path(out)).spec.precision if known and out else faster_precision(spec, loaded)
        spec = spec.with_fields(precision=chosen)
    folder = Path(out) if out is not None else Path("runs") / f"{spec.name}-{spec.digest()}"
    with processes(choose_device(spec.device)):
        return _train(spec, loaded, folder, resume, force, progress)


def resume_run(folder: str | Path, *, progress: bool = True, changes: dict[str, Any] | None = None) -> TrainedRun:
    """Continue the run in a folder from its last checkpoint; `changes` may raise `steps`, which starts no new run."""
    description = Description.read(Path(folder))
    spec = updated(description.spec, changes or {})
    return train(spec, out=folder, resume=True, progress=progress)


def _train(spec: RunSpec, data: Dataset, folder: Path, resume: bool, force: bool, progress: bool) -> TrainedRun:
    items = data.split(spec.seed, spec.test_share)[0] if spec.test_share else np.arange(len(data))
    description = Description(spec, data.shape, len(items), data.fingerprint)
    # Before anything is written: a spec that does not fit is refused here.
    system = spec.build(data.shape)
    batches = Batches(spec, data, torch.from_numpy(items), system.objective.needs)
    done = existing_run(folder, description, resume, force)
    distributed.wait()  # or a slow process finds what the first has already written, and refuses it
    if done is not None:
        return done
    if distributed.rank() == 0:
        writable_folder(folder)
        if force:
            shutil.rmtree(folder / "checkpoints", ignore_errors=True)
        description.write(folder)
    fit(system, description, batches, folder, resume and not force, progress)
    run = TrainedRun(folder, description, system.model, spec.steps)
    run._data = data  # pyright: ignore[reportPrivateUsage]
    return run


def existing_run(folder: Path, wanted: Description, resume: bool, force: bool) -> TrainedRun | None:
    """The finished run in a folder, if there is one; a foreign or unfinished one is refused."""
    if force or not folder.exists() or not any(folder.iterdir()):
        return None
    found = Description.read(folder)
    if found.fingerprint != wanted.fingerprint:
        raise HatchelError(f"{folder}: was trained on other data; choose another folder with --out, or --force")
    same: Callable[[RunSpec], str] = lambda s: s.with_fields(steps=1).digest()  # noqa: E731
    if same(found.spec) != same(wanted.spec):
        raise HatchelError(
            f"{folder}: holds a run with another configuration; choose another --out, or --force "
            f"(to train that run further: hatchel train {folder} --resume steps=...)"
        )
    steps = int(checkpoints(folder)[0].name.removeprefix("step-")) if checkpoints(folder) else 0
    if steps >= wanted.spec.steps:
        return TrainedRun.load(folder, wanted.spec.device)
    if not resume:
        raise HatchelError(
            f"{folder}: holds an unfinished run ({steps} of {wanted.spec.steps} steps); "
            "add --resume to go on, or --force to start over"
        )
    return None
