"""Evaluation of a run: its data encoded once, then every metric on every representation it has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hatchel.core.files import write_json
from hatchel.core.memory import keep_memory
from hatchel.core.progress import progress
from hatchel.core.streams import generator
from hatchel.latents.posterior import Posterior
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.suite import Scores, measure

if TYPE_CHECKING:
    from hatchel.training.run import TrainedRun

ITEMS = 15_000
"""Items encoded by default: the reference protocol's 10,000 for fitting and 5,000 for testing."""
PICTURES = 512
"""Of these, how many are reconstructed for the reconstruction errors."""


@dataclass(frozen=True)
class Codes:
    """What n items are in one latent space."""

    mean: NDArray[np.float32]  # (n, D); class probabilities for a discrete variable
    std: NDArray[np.float32] | None  # (n, D); None where some columns are not real coordinates
    sample: NDArray[np.float32]  # (n, D)
    clusters: NDArray[np.int64] | None = None  # (n, discrete variables)
    noise: NDArray[np.float32] | None = None
    """(D, D): the correlations of the posterior's noise; None where its coordinates are independent."""
    real: Codes | None = None
    """The real coordinates alone, where there are others too."""


@dataclass(frozen=True)
class Encodings:
    """What one pass of the encoder over n items gave."""

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


class Evaluation(Mapping[str, Scores]):
    """Scores by representation: `mean` first, then `sample` and the layers that were asked for."""

    def __init__(self, scores: Mapping[str, Scores], settings: Mapping[str, Any]) -> None:
        self._scores = dict(scores)
        self.settings = dict(settings)

    def __getitem__(self, name: str) -> Scores:
        return self._scores[name]

    def __iter__(self) -> Any:
        return iter(self._scores)

    def __len__(self) -> int:
        return len(self._scores)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"settings": self.settings, **{name: scores.to_dict() for name, scores in self.items()}}

    def to_json(self) -> str:
        """The dictionary as JSON text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def table(self) -> str:
        """Plain text, a block for each representation."""
        head = ", ".join(f"{k}={v}" for k, v in self.settings.items())
        return "\n\n".join([head, *(f"[{name}]\n{scores.table()}" for name, scores in self.items())])


def encodings(run: TrainedRun, items: int = ITEMS, seed: int = 0, layers: bool = False) -> Encodings:
    """Encode up to `items` items of the run's data, drawn without replacement."""
    data, model = run.data, run.model
    count = min(items, len(data))
    chosen = np.sort(np.random.default_rng(seed).choice(len(data), count, replace=False))
    device = next(model.parameters()).device
    if device.type == "cpu":
        keep_memory()  # as training does: the maps of 512 images come and go
    read = data.reader(str(device))
    parts: list[list[Posterior]] = [[] for _ in range(run.levels)]
    inner: dict[str, list[Tensor]] = {}
    with torch.inference_mode(), progress("encoding", count) as advance:
        for part in torch.from_numpy(chosen).split(512):
            advance(len(part))
            q, encoded = model.encode(read(part), run.steps)
            for level, posteriors in enumerate(parts):
                above = model.latent.posterior(encoded.parameters, run.steps, level) if level else q
                posteriors.append(above.map_tensors(Tensor.cpu))
            for name, feature in encoded.features.items() if layers else ():
                inner.setdefault(name, []).append(feature.flatten(2).mean(2) if feature.ndim > 2 else feature)
        return Encodings(
            items=chosen,
            levels=tuple(_codes(posteriors, seed, level) for level, posteriors in enumerate(parts)),
            layers={name: torch.cat(features).cpu().numpy() for name, features in inner.items()},
        )


def _codes(posteriors: Sequence[Posterior], seed: int, level: int) -> Codes:
    noise = generator(seed, "evaluation", level)
    mean, sample = (
        torch.cat(c).numpy() for c in ([q.mean for q in posteriors], [q.rsample(noise) for q in posteriors])
    )
    std = torch.cat([q.variance.sqrt() for q in posteriors]).numpy()
    found = [q.clusters() for q in posteriors]
    clusters = [c for c in found if c is not None]
    real, correlations = posteriors[0].layout.real, posteriors[0].noise
    if len(real) == mean.shape[1]:
        return Codes(mean, std, sample, noise=None if correlations is None else correlations.numpy())
    return Codes(
        mean,
        None,
        sample,
        clusters=torch.cat(clusters).numpy() if clusters else None,
        real=Codes(mean[:, real], std[:, real], sample[:, real]) if real else None,
    )


def probes(run: TrainedRun, found: Encodings, seed: int = 0) -> dict[str, Probe]:
    """A probe for each representation: posterior means, samples, further levels, and the encoder's layers.

    A latent with discrete variables also has `coordinates`: its real coordinates alone, whose deviations are known.
    """
    data = run.data
    factors = data.factors(found.items)
    names = data.space.names if data.space is not None else None
    declared = False if factors is not None else None

    def full(codes: Codes, level: int, features: Mapping[str, NDArray[Any]] | None = None) -> Probe:
        return Probe(
            codes.mean,
            factors,
            names=names,
            continuous=declared,
            samples=codes.sample,
            std=codes.std,
            noise=codes.noise,
            features=features,
            clusters=codes.clusters,
            images=run_images(run, found.items[:PICTURES], level),
            seed=seed,
        )

    def plain(codes: NDArray[Any], std: NDArray[Any] | None = None, samples: NDArray[Any] | None = None) -> Probe:
        return Probe(codes, factors, names=names, continuous=declared, std=std, samples=samples, seed=seed)

    first = found.levels[0]
    result = {"mean": full(first, 0, dict(found.layers) or None), "sample": plain(first.sample)}
    if first.real is not None:
        result["coordinates"] = plain(first.real.mean, first.real.std, first.real.sample)
    result |= {f"level {i}": full(codes, i) for i, codes in enumerate(found.levels) if i}
    result |= {f"layer {name}": plain(codes) for name, codes in found.layers.items()}
    return result


def run_images(run: TrainedRun, items: NDArray[np.int64], level: int = 0) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Images in [0, 1] and their reconstructions; None for the rows of a table."""
    if len(run.shape) != 3:
        return None
    images = run.data.images(items)
    return images / np.float32(255), run.reconstruct(images, level)


def evaluate(
    run: TrainedRun,
    which: str | Sequence[str | Metric] = "all",
    *,
    items: int = ITEMS,
    bootstrap: int = 0,
    seed: int = 0,
    layers: bool = False,
    store: bool = True,
) -> Evaluation:
    """Every metric on means, samples, levels and (if asked) the encoder's layers; stored in RUN/evaluation.json.

    What a representation lacks for a metric (factors, deviations, reconstructions) is listed with the reason.
    """
    found = encodings(run, items, seed, layers)
    scores = {name: measure(probe, which, seed, bootstrap) for name, probe in probes(run, found, seed).items()}
    settings = {"steps": run.steps, "items": len(found.items), "seed": seed, "bootstrap": bootstrap}
    result = Evaluation(scores, settings)
    if store:
        write_json(run.folder / "evaluation.json", result.to_dict())
    return result
