"""TrainedRun: a trained model and its folder; `train` makes one."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hatchel.core import distributed
from hatchel.core.errors import HatchelError
from hatchel.core.files import LOCK, sole_writer, unfinished, writable_folder
from hatchel.core.spec import from_dict, updated
from hatchel.core.streams import generator
from hatchel.data.array import as_numbers
from hatchel.data.dataset import Dataset
from hatchel.data.held import Memory, dataset_like, dataset_of
from hatchel.data.source import Source
from hatchel.data.table import TableColumn, encoded_rows, rescaled
from hatchel.latents.likelihoods import Columns
from hatchel.latents.posterior import Posterior
from hatchel.training.callbacks import Tracker, checked, ended_early
from hatchel.training.checkpoint import Description, checkpoints, intact, restore, stored_state
from hatchel.training.loop import Refused, choose_device, faster_precision, fit, processes
from hatchel.training.model import Model
from hatchel.training.order import Batches
from hatchel.training.spec import RunSpec

CHUNK = 512
"""Items encoded or decoded at once."""
TOO_BRIGHT = 2.0
"""A float that no image in [0, 1] has, nor what a decoder makes of one."""

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
    def load(cls, folder: str | Path, device: str = "cpu", *, step: int | None = None, data: Any = None) -> Self:
        """The run in a folder, from its newest readable checkpoint, or from that of a step.

        `data`: where its data are now (a path), or the data themselves if they were given from Python; or other data of
        the same form to look at it with, which is said on stderr.
        """
        place = Path(folder)
        description = Description.read(place)
        system = description.spec.build(description.shape)
        steps = restore(place, system, step=step)
        system.to(device=choose_device(device), memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
        run = cls(place, description, system.model, steps)
        if isinstance(data, str | Path):
            data = run.spec.data.moved(data)
        if data is not None:
            run._data = run._checked(data.load() if isinstance(data, Source) else dataset_like(data, run.shape))
        return run

    @property
    def spec(self) -> RunSpec:
        return self.description.spec

    @property
    def data(self) -> Dataset:
        """The data it was trained on, loaded when first needed."""
        if self._data is None:
            present(self.spec.data, self.folder)
            self._data = self._checked(self.spec.data.load())
        return self._data

    def _checked(self, data: Dataset) -> Dataset:
        """Data that this run can read; others than it was trained on are announced."""
        if len(self.shape) == 1 and self.columns and data.columns:
            data = rescaled(data, self.columns)
        if data.shape != self.shape:
            raise HatchelError(
                f"{self.folder}: was trained on items of shape {self.shape}, those of {data.name} have {data.shape}; "
                "give data of that shape"
            )
        alone = dataclasses.replace(data, space=None, codes=None)  # factors may have come since
        if self.description.fingerprint not in (data.fingerprint, alone.fingerprint):
            print(f"hatchel: {self.folder}: {data.name} is not the data it was trained on", file=sys.stderr)
        return data

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        """Of a table: what the values of a row stand for; empty for images."""
        likelihood = self.spec.likelihood
        return likelihood.columns if isinstance(likelihood, Columns) else ()

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
        if n < 1:
            raise HatchelError(f"n: must be at least 1, got {n}")
        with torch.inference_mode():
            z, x = self.model.generate(n, generator(seed, "prior"), self.steps, level)
        return z.cpu().numpy(), self._in_data_units(x)

    def in_units(self, rows: NDArray[Any]) -> Floats:
        """Rows of the data set, which are scaled, in the table's own units."""
        return self._in_data_units(torch.from_numpy(np.asarray(rows)).to(self._device))

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
        columns = self.columns
        centre = [c.mean for c in columns for _ in range(c.width)] or [0.0] * self.shape[0]
        scale = [c.scale for c in columns for _ in range(c.width)] or [1.0] * self.shape[0]
        numbers = torch.tensor([centre, scale], dtype=torch.float64, device=self._device)
        return numbers[0], numbers[1]

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device

    def batches(self, images: Any) -> Iterator[Tensor]:
        """Checked and scaled as in training, a chunk at a time."""
        x = encoded_rows(images, self.columns) if hasattr(images, "iloc") else as_numbers(images)
        if len(self.shape) == 3 and x.ndim == 3:
            x = x[..., None]
        wanted = (*self.shape[1:], self.shape[0])
        if len(wanted) == 3 and x.shape[1:] == self.shape != wanted:
            x = x.transpose(0, 2, 3, 1)
        if x.ndim == 0 or x.shape[1:] != wanted:
            shape = ", ".join(map(str, ("n", *wanted)))
            raise HatchelError(f"images: expected an array of shape ({shape}), got {np.shape(images)}")
        for start in range(0, len(x), CHUNK):
            part = torch.from_numpy(np.array(x[start : start + CHUNK])).to(self._device)
            if part.ndim == 4:
                whole = not part.is_floating_point() and part.dtype != torch.bool  # bytes, in whatever type
                part = part.float() / 255 if whole else part.float()
                if part.max() > TOO_BRIGHT:  # what a decoder gives back may leave [0, 1] a little
                    raise HatchelError(
                        f"images: floats are in [0, 1], these go up to {float(part.max()):g}; give x / 255, or bytes"
                    )
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
    data: Any = None,
    out: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
    progress: bool = True,
    callbacks: Sequence[object] = (),
    **fields: Any,
) -> TrainedRun:
    """Train what a spec describes; other fields of the spec can be given by name: `steps=1000, seed=1`.

    `data`: a name, a path, a Source, or what `hatchel.data.held.dataset_of` reads: an array, a DataFrame, ...
    `out`: the run's folder, by default runs/NAME-DIGEST. A finished run with the same spec is loaded, not trained again
    (`force` starts over); an unfinished one is continued with `resume`.
    `callbacks` hear of the run while it trains: see `hatchel.training.callbacks.Callback`.
    """
    listeners = checked(callbacks)
    held: Dataset | None = None
    if isinstance(data, str | Path | Source):
        spec = spec.with_fields(data=data if isinstance(data, Source) else from_dict(Source, str(data), "data"))
    elif data is not None:
        held = dataset_of(data)
        spec = spec.with_fields(data=Memory(held.fingerprint))
    spec = updated(spec, fields) if fields else spec
    loaded = held or spec.data.load()
    spec = decided(spec.fit_to(loaded), loaded, None if force else out)
    folder = Path(out) if out is not None else Path("runs") / f"{spec.name}-{spec.digest()}"
    with processes(choose_device(spec.device)):
        return _train(spec, loaded, folder, resume, force, progress, listeners)


def decided(spec: RunSpec, data: Dataset, folder: str | Path | None = None) -> RunSpec:
    """With `precision=auto` decided, for a spec fitted to the data: as the run in the folder has it, or tried."""
    if spec.precision != "auto":
        return spec
    known = folder is not None and (Path(folder) / "config.json").is_file()
    chosen = Description.read(Path(folder)).spec.precision if known and folder else faster_precision(spec, data)
    return spec.with_fields(precision=chosen)


def resume_run(
    folder: str | Path,
    *,
    data: Any = None,
    progress: bool = True,
    changes: dict[str, Any] | None = None,
    callbacks: Sequence[object] = (),
) -> TrainedRun:
    """Continue the run in a folder from its last checkpoint; `changes` may raise `steps`, which starts no new run.

    `data`: the same data, where they are now.
    """
    spec = Description.read(Path(folder)).spec
    if isinstance(data, str | Path):
        data = spec.data.moved(data)
    if data is None:
        present(spec.data, Path(folder))
    spec = updated(spec, changes or {})
    return train(spec, data=data, out=folder, resume=True, progress=progress, callbacks=callbacks)


def present(data: Source, folder: Path) -> None:
    """Refuse a run whose data have moved, with what to do."""
    path = getattr(data, "path", "")
    if path and not Path(path).expanduser().exists():
        raise HatchelError(
            f"{folder}: its data are no longer at {path}; name their new place with --data, or in Python "
            "hatchel.load(folder, data=path)"
        )


def _train(
    spec: RunSpec,
    data: Dataset,
    folder: Path,
    resume: bool,
    force: bool,
    progress: bool,
    callbacks: Sequence[object],
) -> TrainedRun:
    items = data.split(spec.seed, spec.test_share)[0] if spec.test_share else np.arange(len(data))
    spec = spec.with_fields(data=spec.data.absolute())
    description = Description(spec, data.shape, len(items), data.fingerprint)
    # Before anything is written: a spec that does not fit is refused here.
    system = spec.build(data.shape)
    batches = Batches(spec, data, torch.from_numpy(items), system.objective.needs)
    if problem := spec.stop.problem(spec, data) if spec.stop else "":
        raise HatchelError(problem)
    done = existing_run(folder, description, resume, force)
    distributed.wait()  # or a slow process finds what the first has already written, and refuses it
    if done is not None:
        done._data = data  # pyright: ignore[reportPrivateUsage]
        return done
    trackers = (*spec.track, *([from_dict(Tracker, "tensorboard")] if spec.tensorboard else []))
    listeners = [*callbacks, *(tracker.open() for tracker in dict.fromkeys(trackers))]

    def view(steps: int) -> TrainedRun:
        run = TrainedRun(folder, description, system.model, steps)
        run._data = data  # pyright: ignore[reportPrivateUsage]
        return run

    first = distributed.rank() == 0
    fresh = first and not folder.exists()
    if first:
        writable_folder(folder)
    with sole_writer(folder) if first else contextlib.nullcontext():
        if first:
            if not (resume or force) and checkpoints(folder):
                raise HatchelError(f"{folder}: another process has just trained into it; add --resume or --force")
            for old in checkpoints(folder) if force else ():
                shutil.rmtree(old)  # they alone: --out may name a folder that holds other things, too
            description.write(folder)
            if progress:
                print(f"{spec.name} on {data.name}: {announcement(spec, data, system.model)}", file=sys.stderr)
        try:
            return view(fit(system, description, batches, folder, resume and not force, progress, view, listeners))
        except Refused:
            if fresh:  # nothing was learnt, and what is left would be in the way of the remedy
                shutil.rmtree(folder, ignore_errors=True)
            raise


def announcement(spec: RunSpec, data: Dataset, model: Model) -> str:
    """What is about to be trained on what, so that nobody wonders which network was chosen."""
    if len(data.shape) == 3:
        channels, height, width = data.shape
        what = f"images of {height}x{width}, {channels} channel{'s' * (channels > 1)}"
    else:
        count = len(data.columns) or data.shape[0]
        what = f"rows of {count} column{'s' * (count > 1)}"
    nets = " and ".join(part.kind for part in (spec.encoder, spec.decoder) if part)
    numbers = sum(p.numel() for p in model.parameters())
    return f"{len(data):,} {what}; {nets}, {numbers:,} parameters, {spec.latent.width} latents"


def existing_run(folder: Path, wanted: Description, resume: bool, force: bool) -> TrainedRun | None:
    """The finished run in a folder, if there is one; a foreign or unfinished one is refused."""
    if force or not folder.exists() or all(p.name == LOCK or unfinished(p) for p in folder.iterdir()):
        return None
    if not (folder / "config.json").is_file():
        raise HatchelError(f"{folder}: holds other things, and no run; choose another folder with --out, or --force")
    found = Description.read(folder)
    if not checkpoints(folder) and not resume:
        return None  # it diverged or was killed before its first checkpoint: there is nothing to go on from, or to lose
    if found.fingerprint != wanted.fingerprint:
        raise HatchelError(f"{folder}: was trained on other data; choose another --out, or --force to start over")
    # The same data may have moved: what they are is compared above.
    same: Callable[[RunSpec], str] = lambda s: s.with_fields(steps=1, data=Memory()).digest()  # noqa: E731
    if same(found.spec) != same(wanted.spec):
        raise HatchelError(
            f"{folder}: holds a run with another configuration; choose another --out, or --force to start over "
            f"(in Python out=..., force=True; to train that run further: hatchel train {folder} --resume steps=...)"
        )
    steps = int(checkpoints(folder)[0].name.removeprefix("step-")) if checkpoints(folder) else 0
    sound = bool(steps) and intact(checkpoints(folder)[0])
    if resume and not sound:
        return None  # the end is trained again
    early = sound and ended_early(stored_state(folder, steps).get("meter", {}), wanted.spec.stop)
    if steps >= wanted.spec.steps or early:
        run = TrainedRun.load(folder, wanted.spec.device)
        steps = run.steps
        if steps >= wanted.spec.steps or early:
            return run
    if not resume:
        raise HatchelError(
            f"{folder}: holds an unfinished run ({steps} of {wanted.spec.steps} steps); "
            "add --resume to go on, or --force to start over (in Python resume=True, force=True)"
        )
    return None
