"""A run's codes: its data encoded once, stored beside the run, and read from there until the model or the data change.

    RUN/codes-step-4000-items-15000-seed-0-1f0c2d3e4b5a.safetensors

The last part of the name is a digest of the model's weights and of the data, so that codes of a run that was trained
anew are never taken for those of the old one.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from torch import Tensor
from torch.nn import functional as F

from hatchel.core.files import Damaged, beside, check_digest, write_summed
from hatchel.core.memory import keep_memory
from hatchel.core.progress import progress
from hatchel.core.streams import generator
from hatchel.latents.likelihoods import Bernoulli
from hatchel.latents.posterior import Posterior
from hatchel.training.run import TrainedRun

ITEMS = 15_000
"""Items encoded by default: the reference protocol's 10,000 for fitting and 5,000 for testing."""
LARGEST = 256 << 20
"""Bytes: larger codes are encoded again rather than stored."""


@dataclass(frozen=True)
class Codes:
    """The codes of n items in one latent space."""

    mean: NDArray[np.float32]  # (n, D); class probabilities for a discrete variable
    std: NDArray[np.float32] | None  # (n, D); None where some columns are not real coordinates
    sample: NDArray[np.float32]  # (n, D)
    clusters: NDArray[np.int64] | None = None  # (n, discrete variables)
    noise: NDArray[np.float32] | None = None
    """(D, D): the correlations of the posterior's noise; None where its coordinates are independent."""
    real: Codes | None = None
    """The real coordinates alone, where there are others too."""

    @property
    def coordinates(self) -> Codes | None:
        """The real coordinates, whose deviations are known; None where there are none."""
        return self if self.std is not None else self.real


@dataclass(frozen=True)
class Encodings:
    """The result of one pass of the encoder over n items."""

    items: NDArray[np.int64]  # (n,) numbers in the data set
    levels: tuple[Codes, ...]
    """The codes at each level of a hierarchy; most latents have one."""
    layers: Mapping[str, NDArray[np.float32]]
    """Inner layers, each (n, F): feature maps pooled over space, so that a channel is one number."""

    @property
    def mean(self) -> NDArray[np.float32]:
        """Of the first level: (n, D)."""
        return self.levels[0].mean

    @property
    def std(self) -> NDArray[np.float32] | None:
        """Of the first level: (n, D)."""
        return self.levels[0].std

    @property
    def sample(self) -> NDArray[np.float32]:
        """Of the first level: (n, D)."""
        return self.levels[0].sample


def has_held_out(run: TrainedRun) -> bool:
    """Whether a part of the data was kept out of training; scores are then of items of that part alone."""
    return round(len(run.data) * run.spec.test_share) > 0


def chosen_items(run: TrainedRun, items: int = ITEMS, seed: int = 0, every: bool = False) -> NDArray[np.int64]:
    """Numbers of up to `items` items, drawn without replacement, in ascending order.

    Of the held-out part where there is one, unless `every` item may be drawn: the parts differ between runs' seeds.
    """
    count, held_out = len(run.data), has_held_out(run) and not every
    pool = run.data.split(run.spec.seed, run.spec.test_share)[1] if held_out else np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(pool, min(items, len(pool)), replace=False))


def encodings(
    run: TrainedRun, items: int = ITEMS, seed: int = 0, layers: bool = False, store: bool = True, every: bool = False
) -> Encodings:
    """The codes of the items that `chosen_items` names: the stored ones, or encoded and (if `store`) stored."""
    chosen = chosen_items(run, items, seed, every)
    made_from = hashlib.sha256(f"{weights_digest(run)} {run.data.fingerprint}".encode()).hexdigest()[:12]
    name = f"codes-step-{run.steps}-items-{len(chosen)}-seed-{seed}-{made_from}.safetensors"
    with_layers = name.replace("codes-", "codes-and-layers-", 1)
    names = [with_layers] if layers else [with_layers, name]
    for name in [] if has_own_code(run) else names:
        found = _read(run.folder / name, run.levels, layers)
        if found is not None and np.array_equal(found.items, chosen):
            return found
    raw, inner = _encode(run, chosen, seed, layers)
    if store and not has_own_code(run):
        _write(run, names[-1], chosen, raw, inner)
    return Encodings(chosen, tuple(level_codes(level) for level in raw), inner)


def items_stored(run: TrainedRun) -> int | None:
    """Of how many items codes of seed 0 are stored, the most where there are several; None where none are."""
    found = run.folder.glob(f"codes-*step-{run.steps}-items-*-seed-0-*.safetensors")
    return max((int(path.name.partition("-items-")[2].partition("-")[0]) for path in found), default=None)


def reconstruction_errors(run: TrainedRun, found: Encodings, level: int = 0) -> dict[str, NDArray[np.float64]]:
    """-log p(x|z) of every item, at one z ~ q(z|x) and at its mean; of images also the squared error of E[x|z].

    `floor` is the least a Bernoulli likelihood can give: the entropy of the grey values themselves. (n,) each.
    """
    model, codes = run.model, found.levels[level]
    device, pictured = next(model.parameters()).device, len(run.shape) == 3
    read, parts = run.data.reader(str(device)), dict[str, list[Tensor]]()
    with torch.inference_mode(), progress("reconstructing", len(found.items)) as advance:
        for rows in np.array_split(np.arange(len(found.items)), -(-len(found.items) // 512)):
            x = read(torch.from_numpy(found.items[rows]))
            own: dict[str, Tensor] = {}
            for nats, error, z in (
                ("at_samples", "mse_per_pixel", codes.sample),
                ("at_mean", "mse_per_pixel_at_mean", codes.mean),
            ):
                output = model.decoder(model.latent.decoder_input(torch.from_numpy(z[rows]).to(device), level))
                own[nats] = -model.likelihood.log_prob(output, x)
                if pictured:
                    own[error] = F.mse_loss(model.likelihood.mean(output), x, reduction="none").mean((1, 2, 3))
            if pictured and isinstance(run.spec.likelihood, Bernoulli):
                own["floor"] = F.binary_cross_entropy(x, x, reduction="none").sum((1, 2, 3))
            for name, values in own.items():
                parts.setdefault(name, []).append(values)
            advance(len(rows))
    return {name: torch.cat(values).double().cpu().numpy() for name, values in parts.items()}


def weights_digest(run: TrainedRun) -> str:
    """Twelve hex digits of the model's parameters and buffers."""
    digest = hashlib.sha256()
    for name, tensor in run.model.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()[:12]


def has_own_code(run: TrainedRun) -> bool:
    """Whether a part of the model is a plug-in, whose code may change while its weights stay the same."""
    return any(not type(part).__module__.startswith(("hatchel.", "torch.")) for part in run.model.modules())


@functools.cache  # once per folder
def not_stored(folder: Path, reason: str) -> None:
    """Report on stderr that the results are complete but could not be kept."""
    print(f"hatchel: {folder}: cannot be written ({reason}); codes and scores are not stored", file=sys.stderr)


Arrays = dict[str, NDArray[Any]]
"""The arrays of one level: mean, std, sample, real (columns), and clusters and noise where there are any."""


def _encode(
    run: TrainedRun, chosen: NDArray[np.int64], seed: int, layers: bool
) -> tuple[list[Arrays], dict[str, NDArray[np.float32]]]:
    model = run.model
    device = next(model.parameters()).device
    if device.type == "cpu":
        keep_memory()  # as training does: the maps of 512 images come and go
    read = run.data.reader(str(device))
    parts: list[list[Posterior]] = [[] for _ in range(run.levels)]
    inner: dict[str, list[Tensor]] = {}
    with torch.inference_mode(), progress("encoding", len(chosen)) as advance:
        for part in torch.from_numpy(chosen).split(512):
            advance(len(part))
            q, encoded = model.encode(read(part), run.steps)
            for level, posteriors in enumerate(parts):
                above = model.latent.posterior(encoded.parameters, run.steps, level) if level else q
                posteriors.append(above.map_tensors(Tensor.cpu))
            for name, feature in encoded.features.items() if layers else ():
                # A channel is one number: its mean over space, also where a layer has members, (B, d, C, H, W).
                channels = feature.flatten(1, -3).mean((2, 3)) if feature.ndim > 3 else feature.flatten(1)
                inner.setdefault(name, []).append(channels)
        return (
            [level_arrays(posteriors, seed, level) for level, posteriors in enumerate(parts)],
            {name: torch.cat(features).cpu().numpy() for name, features in inner.items()},
        )


def level_arrays(posteriors: Sequence[Posterior], seed: int, level: int) -> Arrays:
    """Means, deviations and samples of the posteriors of one level, batch after batch."""
    random = generator(seed, "evaluation", level)
    first = posteriors[0]
    found: Arrays = {
        "mean": torch.cat([q.mean for q in posteriors]).numpy(),
        "std": torch.cat([q.variance.sqrt() for q in posteriors]).numpy(),
        "sample": torch.cat([q.rsample(random) for q in posteriors]).numpy(),
        "real": np.array(first.layout.real, dtype=np.int64),
    }
    clusters = [c for c in (q.clusters() for q in posteriors) if c is not None]
    if clusters:
        found["clusters"] = torch.cat(clusters).numpy()
    if first.noise is not None:
        found["noise"] = first.noise.numpy()
    return found


def level_codes(arrays: Mapping[str, NDArray[Any]]) -> Codes:
    """The arrays of one level as codes."""
    mean, std, sample, real = (arrays[name] for name in ("mean", "std", "sample", "real"))
    if len(real) == mean.shape[1]:
        return Codes(mean, std, sample, noise=arrays.get("noise"))
    alone = Codes(mean[:, real], std[:, real], sample[:, real]) if len(real) else None
    return Codes(mean, None, sample, clusters=arrays.get("clusters"), real=alone)


def _read(path: Path, levels: int, layers: bool) -> Encodings | None:
    """What a file holds; None where it is missing, damaged or from another version."""
    try:
        check_digest(path)
        found = safetensors.numpy.load_file(str(path))
        parts: list[Arrays] = [{} for _ in range(levels)]
        inner: dict[str, NDArray[np.float32]] = {}
        for name, array in found.items():
            kind, _, rest = name.partition(".")
            if kind == "layer" and layers:
                inner[rest] = array
            elif kind == "level":
                level, _, own = rest.partition(".")
                parts[int(level)][own] = array
        order = sorted(inner, key=lambda name: int(name.partition(".")[0]))
        return Encodings(
            found["items"],
            tuple(level_codes(part) for part in parts),
            {name.partition(".")[2]: inner[name] for name in order},
        )
    except (Damaged, OSError, SafetensorError, KeyError, IndexError, ValueError):
        return None


def _write(
    run: TrainedRun, name: str, items: NDArray[np.int64], levels: Sequence[Arrays], layers: Mapping[str, NDArray[Any]]
) -> None:
    """One file; codes of other weights are removed, since nothing will read them again."""
    arrays: Arrays = {"items": items}
    for number, level in enumerate(levels):
        arrays |= {f"level.{number}.{key}": np.ascontiguousarray(array) for key, array in level.items()}
    # Numbered, because a file lists its arrays in an order of its own.
    arrays |= {f"layer.{i}.{key}": np.ascontiguousarray(array) for i, (key, array) in enumerate(layers.items())}
    if sum(array.nbytes for array in arrays.values()) > LARGEST:
        return
    path = run.folder / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_summed(path, safetensors.numpy.save(arrays))
        for old in path.parent.glob("codes-*.safetensors"):
            if old.stem.rpartition("-")[2] != path.stem.rpartition("-")[2]:
                old.unlink(missing_ok=True)
                beside(old).unlink(missing_ok=True)
    except OSError as error:
        not_stored(run.folder, error.strerror or str(error))
