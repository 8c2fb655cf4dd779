"""Session: one or two runs and the items they share; everything the page can ask for, from the stored evaluation."""

from __future__ import annotations

import base64
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.core.progress import progress
from hatchel.evaluation.codes import ITEMS, chosen_items
from hatchel.evaluation.evaluation import StoredScores, information_metric
from hatchel.explorer.sliders import Slider, sliders
from hatchel.explorer.uploads import RequestError, as_image, fitted, opened
from hatchel.metrics.probe import Probe
from hatchel.report.dimensions import Dimensions, site_information
from hatchel.report.findings import level_dimensions
from hatchel.report.pictures import clearest_row, to_bytes
from hatchel.training.run import TrainedRun

POINTS = 1_500
"""Items that the scatter shows."""
BATCH = 128
"""Codes decoded in one request at most."""
CHUNK = 256
"""Items fitted to another run's size at once."""

Items = NDArray[Any]
"""uint8 (n, H, W, C), or rows (n, F) in the data's own units."""
Codes = NDArray[np.float32]


@dataclass(frozen=True)
class Space:
    """One latent space of a run: what its dimensions carry, and the items' codes there."""

    dimensions: Dimensions
    codes: Codes  # (n, D)

    @functools.cached_property
    def sliders(self) -> tuple[Slider, ...]:
        """In the order of the page."""
        return sliders(self.dimensions)


@dataclass(frozen=True)
class ExploredRun:
    """A run and its latent spaces."""

    run: TrainedRun
    name: str
    spaces: tuple[Space, ...]

    def space(self, level: int) -> Space:
        if not 0 <= level < len(self.spaces):
            raise RequestError(422, f"level: this run has the levels 0 to {len(self.spaces) - 1}, not {level}")
        return self.spaces[level]

    def codes(self, item: Items) -> list[list[float]]:
        """The code of one item (H, W, C) or (F,) at every level."""
        return [self.run.encode(item[None], level)[0].tolist() for level in range(len(self.spaces))]

    def decode(self, codes: Sequence[Sequence[float]], level: int) -> NDArray[Any]:
        """Pictures uint8 (n, H, W, C) or rows float32 (n, F) of codes from outside."""
        return self.decoded(self.checked(codes, level), level)

    def checked(self, codes: Sequence[Sequence[float]], level: int) -> NDArray[np.float64]:
        """Codes (n, D) of a level, or what is wrong with them."""
        space, width = self.space(level), self.run.spec.latent.width
        if not 0 < len(codes) <= BATCH:
            raise RequestError(422, f"codes: expected 1 to {BATCH} codes, got {len(codes)}")
        for code in codes:
            if len(code) != width:
                raise RequestError(422, f"codes: a code of this run has {width} numbers, not {len(code)}")
        array = np.array(codes, dtype=np.float64)
        if not np.isfinite(array).all():
            raise RequestError(422, "codes: every number of a code must be finite")
        for slider in space.sliders:
            low, high = slider.bounds
            own = array[:, list(slider.columns)]
            if (own < low - 1e-3).any() or (own > high + 1e-3).any():
                worst = own.flat[np.abs(own - (low + high) / 2).argmax()]
                raise RequestError(422, f"{slider.name} = {worst:.4g} is out of range ({low:.4g} to {high:.4g})")
        return array

    def decoded(self, codes: NDArray[np.float64], level: int) -> NDArray[Any]:
        """Pictures or rows of checked codes."""
        decoded = self.run.decode(codes, level)
        return to_bytes(decoded) if decoded.ndim == 4 else decoded

    def to_dict(self) -> dict[str, Any]:
        run = self.run
        return {
            "name": self.name,
            "formula": run.spec.formula(),
            "steps": run.steps,
            "shape": list(run.shape),
            "width": run.spec.latent.width,
            "columns": [
                {"name": c.name, "kind": c.kind_of, "width": c.width, "values": list(c.values)} for c in run.columns
            ],
            "levels": [[slider.to_dict() for slider in space.sliders] for space in self.spaces],
        }


class Session:
    """What the page can ask for; HTTP is left to the server. The items are those of the first run's data."""

    def __init__(self, runs: Sequence[TrainedRun], *, items: int = ITEMS, seed: int = 0) -> None:
        self.first = runs[0]
        self.data = self.first.data
        self.seed = seed
        self.items = chosen_items(self.first, items, seed)
        """(n,): those that are encoded."""
        names = [run.spec.name for run in runs]
        if len(set(names)) < len(names):
            names = [f"{name} ({run.folder.name})" for name, run in zip(names, runs, strict=True)]
        self.runs = [ExploredRun(run, name, self._spaces(run)) for run, name in zip(runs, names, strict=True)]
        count = min(POINTS, len(self.items))
        self.points = np.sort(np.random.default_rng(seed).choice(len(self.items), count, replace=False))

    def run(self, number: int) -> ExploredRun:
        if not 0 <= number < len(self.runs):
            raise RequestError(404, f"run: there are the runs 0 to {len(self.runs) - 1}, not {number}")
        return self.runs[number]

    def about(self) -> dict[str, Any]:
        """Everything the page needs to draw itself."""
        return {
            "title": f"{' and '.join(run.name for run in self.runs)} on {self.data.name}",
            "among": f"in {self.data.name}",
            "runs": [run.to_dict() for run in self.runs],
            "count": len(self.data),
            "start": self.start,
            "points": self.items[self.points].tolist(),
            "factors": self._factors(),
            "batch": BATCH,
        }

    @functools.cached_property
    def start(self) -> int:
        """An item near the median code of the first run, on which every slider shows."""
        space = self.runs[0].spaces[0]
        return int(self.items[clearest_row(self.first, space.codes, space.dimensions)])

    def pick(self, item: int) -> dict[str, Any]:
        """An item of the data and its codes."""
        own = self.picture(item)[None]
        inputs = [self.for_run(own, explored.run)[0] for explored in self.runs]
        return {"item": item, "shown": self._shown(item), **self._encoded(inputs)}

    def upload(self, content: bytes) -> dict[str, Any]:
        """A picture from outside and its codes; nothing of it is kept."""
        if len(self.first.shape) != 3:
            raise RequestError(422, "this run reads the rows of a table; pictures cannot be uploaded to it")
        image = opened(content)
        return {"item": None, "shown": {}, **self._encoded([fitted(image, e.run.shape) for e in self.runs])}

    def picture(self, item: int) -> Items:
        """An item as the first run reads it: (H, W, C) or (F,)."""
        if not 0 <= item < len(self.data):
            raise RequestError(
                404, f"there is no item {item}; {self.data.name} has the items 0 to {len(self.data) - 1}"
            )
        return self._take(np.array([item]))[0]

    def scatter(self, run: int, level: int, columns: Sequence[int]) -> list[list[float]]:
        """Chosen columns of the points' codes, each (points,)."""
        explored = self.run(run)
        codes, width = explored.space(level).codes, explored.run.spec.latent.width
        for column in columns:
            if not 0 <= column < width:
                raise RequestError(422, f"column: a code of this run has the columns 0 to {width - 1}, not {column}")
        return [codes[self.points, column].tolist() for column in columns]

    def _spaces(self, run: TrainedRun) -> tuple[Space, ...]:
        """From the run's stored evaluation, or where its data are others than the first run's, encoded here."""
        known = run.description.fingerprint
        if run is not self.first and (not known or known != self.first.description.fingerprint):
            return self._fitted_spaces(run)
        run._data = self.data  # pyright: ignore[reportPrivateUsage]  # loaded once for both
        if not np.array_equal(chosen_items(run, len(self.items), self.seed), self.items):
            return self._fitted_spaces(run)  # another part of the data was held out
        stored = StoredScores(run, items=len(self.items), seed=self.seed)
        return tuple(
            Space(level_dimensions(stored, self._probe(codes.mean), level), codes.mean)
            for level, codes in enumerate(stored.encoded.levels)
        )

    def _fitted_spaces(self, run: TrainedRun) -> tuple[Space, ...]:
        """The first run's items in this run's size and colours."""
        parts: list[list[tuple[Codes, Codes]]] = [[] for _ in range(run.levels)]
        with progress("encoding", len(self.items)) as advance:
            for start in range(0, len(self.items), CHUNK):
                own = self.for_run(self._take(self.items[start : start + CHUNK]), run)
                for level, part in enumerate(parts):
                    part.append(run.posterior(own, level))
                advance(len(own))
        spaces: list[Space] = []
        variables = run.spec.latent.layout.sites
        real = [site.columns[0] for site in variables if not site.discrete]
        for part in parts:
            mean, std = (np.concatenate(column) for column in zip(*part, strict=True))
            information: list[float] = []
            if real:
                metric = information_metric(len(mean), len(real))
                terms = metric.score(Probe(mean[:, real], std=std[:, real]), self.seed)
                information = list(terms.parts["mutual_information_per_dimension"].values())
            found = Dimensions.of(self._probe(mean), site_information(variables, mean, information), variables)
            spaces.append(Space(found, mean))
        return tuple(spaces)

    def _probe(self, mean: Codes) -> Probe:
        factors, space = self.data.factors(self.items), self.data.space
        try:
            return Probe(mean, factors, names=space.names if space else None, continuous=False if space else None)
        except HatchelError:  # too few items to count their factors: the sliders then go without their names
            return Probe(mean)

    def _take(self, numbers: NDArray[np.int64]) -> Items:
        """Items by number, as the first run reads them."""
        if len(self.first.shape) == 3:
            return self.data.images(numbers)
        return self.first.in_units(self.data.items(numbers))

    def for_run(self, items: Items, run: TrainedRun) -> Items:
        """The same items in the size and colours of another run."""
        if run.shape == self.first.shape:
            return items
        if len(self.first.shape) != 3 or len(run.shape) != 3:
            raise HatchelError(
                f"{run.folder}: reads items of shape {run.shape}, {self.first.folder} of shape {self.first.shape}; "
                "only runs on images, or on rows of the same length, can be compared"
            )
        return np.stack([fitted(as_image(item), run.shape) for item in items])

    def _shown(self, item: int) -> dict[str, str]:
        """What an item shows, by the names of its factors."""
        found, space = self.data.factors([item]), self.data.space
        if found is None or space is None:
            return {}
        return {f.name: value_text(f.values[int(v)]) for f, v in zip(space.factors, found[0], strict=True)}

    def _encoded(self, inputs: Sequence[Items]) -> dict[str, Any]:
        return {
            "inputs": [packed(x) for x in inputs],
            "codes": [explored.codes(x) for explored, x in zip(self.runs, inputs, strict=True)],
        }

    def _factors(self) -> list[dict[str, Any]]:
        space, found = self.data.space, self.data.factors(self.items[self.points])
        if space is None or found is None:
            return []
        return [
            {
                "name": factor.name,
                "kind": kind,
                "values": [value_text(v) for v in factor.values],
                "of": found[:, k].tolist(),
            }
            for k, (factor, kind) in enumerate(zip(space.factors, space.kinds, strict=True))
        ]


def value_text(value: float | str) -> str:
    """A factor's value in few letters.

    >>> value_text(0.123456), value_text(3.0), value_text("heart")
    ('0.123', '3', 'heart')
    """
    return value if isinstance(value, str) else f"{value:.3g}"


def packed(item: Items) -> str | list[float]:
    """Pixels as base64, a row as numbers."""
    return base64.b64encode(item.tobytes()).decode("ascii") if item.ndim == 3 else item.tolist()
