"""Exhibit: one run made ready to be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hatchel.core.progress import progress
from hatchel.explorer.collection import Collection, Items, columns
from hatchel.explorer.refusal import Refusal
from hatchel.explorer.sites import Codes, Site, sites
from hatchel.report.pictures import to_bytes
from hatchel.training.run import TrainedRun

BATCH = 128
"""Codes decoded in one request at most."""


@dataclass(frozen=True)
class Space:
    """One latent space of a run: its sites in the order of the page, and the drawn items' codes there."""

    sites: tuple[Site, ...]
    codes: Codes  # (n, D)


@dataclass(frozen=True)
class Exhibit:
    """A run and its latent spaces."""

    run: TrainedRun
    name: str
    spaces: tuple[Space, ...]

    @classmethod
    def of(cls, run: TrainedRun, collection: Collection, name: str, seed: int = 0) -> Exhibit:
        """Encode the collection's drawn items at every level, and order the sites by what they say."""
        parts: list[list[tuple[Codes, Codes]]] = [[] for _ in range(run.levels)]
        with progress(f"encoding for {name}", len(collection.items)) as advance:
            for items in collection.chunks():
                own = collection.for_run(items, run)
                for level, part in enumerate(parts):
                    part.append(run.posterior(own, level))
                advance(len(items))
        spaces: list[Space] = []
        for part in parts:
            mean, std = (np.concatenate(column) for column in zip(*part, strict=True))
            spaces.append(
                Space(sites(run.spec.latent.layout, mean, std, collection.factors, collection.names, seed), mean)
            )
        return cls(run, name, tuple(spaces))

    def space(self, level: int) -> Space:
        """A level, or a refusal."""
        if not 0 <= level < len(self.spaces):
            raise Refusal(422, f"level: this run has the levels 0 to {len(self.spaces) - 1}, not {level}")
        return self.spaces[level]

    def codes(self, item: Items) -> list[list[float]]:
        """The code of one item (H, W, C) or (F,) at every level."""
        return [self.run.encode(item[None], level)[0].tolist() for level in range(len(self.spaces))]

    def decode(self, codes: Sequence[Sequence[float]], level: int) -> NDArray[Any]:
        """Pictures uint8 (n, H, W, C) or rows float32 (n, F) of checked codes."""
        space, width = self.space(level), self.run.spec.latent.width
        if not 0 < len(codes) <= BATCH:
            raise Refusal(422, f"codes: expected 1 to {BATCH} codes, got {len(codes)}")
        for code in codes:
            if len(code) != width:
                raise Refusal(422, f"codes: a code of this run has {width} numbers, not {len(code)}")
        array = np.array(codes, dtype=np.float64)
        if not np.isfinite(array).all():
            raise Refusal(422, "codes: every number of a code must be finite")
        for site in space.sites:
            low, high = site.bounds
            own = array[:, list(site.columns)]
            if (own < low - 1e-3).any() or (own > high + 1e-3).any():
                worst = own.flat[np.abs(own - (low + high) / 2).argmax()]
                raise Refusal(422, f"{site.name} = {worst:.4g} is out of range ({low:.4g} to {high:.4g})")
        decoded = self.run.decode(array, level)
        return to_bytes(decoded) if decoded.ndim == 4 else decoded

    def to_dict(self) -> dict[str, Any]:
        """For the page."""
        run = self.run
        return {
            "name": self.name,
            "formula": run.spec.formula(),
            "steps": run.steps,
            "shape": list(run.shape),
            "width": run.spec.latent.width,
            "columns": [
                {"name": c.name, "kind": c.kind_of, "width": c.width, "values": list(c.values)} for c in columns(run)
            ],
            "levels": [[site.to_dict() for site in space.sites] for space in self.spaces],
        }
