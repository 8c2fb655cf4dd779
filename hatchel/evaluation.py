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

from hatchel.files import write_json
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.suite import Scores, measure
from hatchel.progress import progress
from hatchel.streams import generator

if TYPE_CHECKING:
    from hatchel.run import Run

ITEMS = 15_000
"""Items encoded by default: the reference protocol's 10,000 for fitting and 5,000 for testing."""
PICTURES = 512
"""Of these, how many are reconstructed for the reconstruction errors."""


@dataclass(frozen=True)
class Encodings:
    """What one pass of the encoder over n items gave."""

    items: NDArray[np.int64]  # (n,) numbers in the data set
    mean: NDArray[np.float32]  # (n, D)
    std: NDArray[np.float32]  # (n, D)
    sample: NDArray[np.float32]  # (n, D)
    layers: Mapping[str, NDArray[np.float32]]
    """Inner layers, each (n, F): feature maps pooled over space, so that a channel is one number."""


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


def encodings(run: Run, items: int = ITEMS, seed: int = 0, layers: bool = False) -> Encodings:
    """Encode up to `items` items of the run's data, drawn without replacement."""
    data, model = run.data, run.model
    count = min(items, len(data))
    chosen = np.sort(np.random.default_rng(seed).choice(len(data), count, replace=False))
    read = data.reader(str(next(model.parameters()).device))
    means: list[Tensor] = []
    deviations: list[Tensor] = []
    inner: dict[str, list[Tensor]] = {}
    with torch.inference_mode(), progress("encoding", count) as advance:
        for part in torch.from_numpy(chosen).split(512):
            advance(len(part))
            q, encoded = model.encode(read(part))
            means.append(q.mean)
            deviations.append(q.variance.sqrt())
            for name, feature in encoded.features.items() if layers else ():
                inner.setdefault(name, []).append(feature.flatten(2).mean(2) if feature.ndim > 2 else feature)
    mean, std = torch.cat(means).cpu(), torch.cat(deviations).cpu()
    noise = torch.randn(mean.shape, generator=generator(seed, "evaluation"))
    return Encodings(
        items=chosen,
        mean=mean.numpy(),
        std=std.numpy(),
        sample=(mean + std * noise).numpy(),
        layers={name: torch.cat(parts).cpu().numpy() for name, parts in inner.items()},
    )


def probes(run: Run, found: Encodings, seed: int = 0) -> dict[str, Probe]:
    """A probe for each representation: posterior means, samples, and the layers."""
    data = run.data
    factors = data.factors(found.items)
    names = data.space.names if data.space is not None else None
    pictures = found.items[:PICTURES]
    images = run_images(run, pictures)
    result = {
        "mean": Probe(
            found.mean,
            factors,
            names=names,
            continuous=False if factors is not None else None,
            samples=found.sample,
            std=found.std,
            features=dict(found.layers) or None,
            images=images,
            seed=seed,
        )
    }
    for name, codes in {"sample": found.sample, **{f"layer {k}": v for k, v in found.layers.items()}}.items():
        result[name] = Probe(codes, factors, names=names, continuous=False if factors is not None else None, seed=seed)
    return result


def run_images(run: Run, items: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Images in [0, 1] and their reconstructions; None for the rows of a table."""
    if len(run.shape) != 3:
        return None
    images = run.data.images(items)
    return images / np.float32(255), run.reconstruct(images)


def evaluate(
    run: Run,
    which: str | Sequence[str | Metric] = "all",
    *,
    items: int = ITEMS,
    bootstrap: int = 0,
    seed: int = 0,
    layers: bool = False,
    store: bool = True,
) -> Evaluation:
    """Every metric on means, on samples and (if asked) on the encoder's layers; stored in RUN/scores.json.

    What a representation lacks for a metric (factors, deviations, reconstructions) is listed with the reason.
    """
    found = encodings(run, items, seed, layers)
    scores = {name: measure(probe, which, seed, bootstrap) for name, probe in probes(run, found, seed).items()}
    settings = {"steps": run.steps, "items": len(found.items), "seed": seed, "bootstrap": bootstrap}
    result = Evaluation(scores, settings)
    if store:
        write_json(run.folder / "scores.json", result.to_dict())
    return result
