"""Gallery: one or two exhibits and the items they share; everything the page can ask for."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hatchel.explorer.collection import Collection, Items, value_text
from hatchel.explorer.exhibit import BATCH, Exhibit
from hatchel.explorer.refusal import Refusal
from hatchel.explorer.uploads import fitted, opened
from hatchel.training.run import TrainedRun

ITEMS = 4_000
"""Items encoded for the order, the ranges and the names of the sliders."""
POINTS = 1_500
"""Of these, how many the scatter shows."""


class Gallery:
    """What the page can ask for; everything about HTTP is left to the server."""

    def __init__(self, runs: Sequence[TrainedRun], *, items: int = ITEMS, seed: int = 0) -> None:
        self.collection = Collection(runs[0], items, seed)
        names = [run.spec.name for run in runs]
        if len(set(names)) < len(names):
            names = [f"{name} ({run.folder.name})" for name, run in zip(names, runs, strict=True)]
        self.exhibits = [Exhibit.of(run, self.collection, name, seed) for run, name in zip(runs, names, strict=True)]
        count = min(POINTS, len(self.collection.items))
        self.points = np.sort(np.random.default_rng(seed).choice(len(self.collection.items), count, replace=False))

    def exhibit(self, number: int) -> Exhibit:
        """One of the runs, or a refusal."""
        if not 0 <= number < len(self.exhibits):
            raise Refusal(404, f"run: there are the runs 0 to {len(self.exhibits) - 1}, not {number}")
        return self.exhibits[number]

    def about(self) -> dict[str, Any]:
        """Everything the page needs to draw itself."""
        collection = self.collection
        return {
            "title": f"{' and '.join(e.name for e in self.exhibits)} on {collection.data.name}",
            "among": f"in {collection.data.name}",
            "runs": [exhibit.to_dict() for exhibit in self.exhibits],
            "count": len(collection),
            "start": self.start,
            "points": collection.items[self.points].tolist(),
            "factors": self._factors(),
            "batch": BATCH,
        }

    @property
    def start(self) -> int:
        """The item nearest to the median code of the first run, each real coordinate on the scale of its range."""
        space = self.exhibits[0].spaces[0]
        real = [site for site in space.sites if site.real]
        if not real:
            return int(self.collection.items[0])
        chosen = space.codes[:, [site.columns[0] for site in real]]
        scale = np.array([site.high - site.low for site in real])
        weight = np.array([max(site.information, 0.0) for site in real])
        distance = ((chosen - np.median(chosen, axis=0)) / scale) ** 2 @ weight
        return int(self.collection.items[distance.argmin()])

    def pick(self, item: int) -> dict[str, Any]:
        """An item of the data and its codes."""
        number = self.collection.checked(item)
        own = self.collection.take(np.array([number]))
        inputs = [self.collection.for_run(own, exhibit.run)[0] for exhibit in self.exhibits]
        return {"item": number, "shown": self.collection.shown(number), **self._encoded(inputs)}

    def upload(self, content: bytes) -> dict[str, Any]:
        """A picture from outside and its codes; nothing of it is kept."""
        if not self.collection.pictured:
            raise Refusal(422, "this run reads the rows of a table; pictures cannot be uploaded to it")
        image = opened(content)
        return {"item": None, "shown": {}, **self._encoded([fitted(image, e.run.shape) for e in self.exhibits])}

    def picture(self, item: int) -> Items:
        """An item as the first run reads it: (H, W, C) or (F,)."""
        return self.collection.take(np.array([self.collection.checked(item)]))[0]

    def decode(self, run: int, level: int, codes: Sequence[Sequence[float]]) -> NDArray[Any]:
        """See `Exhibit.decode`."""
        return self.exhibit(run).decode(codes, level)

    def scatter(self, run: int, level: int, column_numbers: Sequence[int]) -> list[list[float]]:
        """Chosen columns of the points' codes, each (points,)."""
        exhibit = self.exhibit(run)
        codes, width = exhibit.space(level).codes, exhibit.run.spec.latent.width
        for column in column_numbers:
            if not 0 <= column < width:
                raise Refusal(422, f"column: a code of this run has the columns 0 to {width - 1}, not {column}")
        return [codes[self.points, column].tolist() for column in column_numbers]

    def _encoded(self, inputs: Sequence[Items]) -> dict[str, Any]:
        return {
            "inputs": [packed(x) for x in inputs],
            "codes": [exhibit.codes(x) for exhibit, x in zip(self.exhibits, inputs, strict=True)],
        }

    def _factors(self) -> list[dict[str, Any]]:
        space, found = self.collection.data.space, self.collection.factors
        if space is None or found is None:
            return []
        return [
            {
                "name": factor.name,
                "kind": kind,
                "values": [value_text(v) for v in factor.values],
                "of": found[self.points, k].tolist(),
            }
            for k, (factor, kind) in enumerate(zip(space.factors, space.kinds, strict=True))
        ]


def packed(item: Items) -> str | list[float]:
    """Pixels as base64, a row as numbers."""
    return base64.b64encode(item.tobytes()).decode("ascii") if item.ndim == 3 else item.tolist()
