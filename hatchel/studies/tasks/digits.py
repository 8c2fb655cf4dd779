"""Digits: a run on images of classes; whether the discrete variable finds them and the others leave them alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hatchel.core.spec import Count
from hatchel.metrics.metric import Metric
from hatchel.study.task import Result, Task, Workspace
from hatchel.study.trained import Trained
from hatchel.training.spec import RunSpec

if TYPE_CHECKING:
    from hatchel.training.run import TrainedRun

OFF = 0.05
"""Nats: a coordinate with less information about x is unused (Esmaeili et al. 2019, Fig. 7)."""
STOPS = 7
"""Points of a traversal, from the 5th to the 95th percentile of the coordinate."""
Images = NDArray[np.uint8]
Judge = Callable[[NDArray[np.float32]], Any]
"""Names the class of every picture."""


class Digits(Task):
    """What `Trained` measures, and of the images: how sure the classes are, and how far a traversal keeps the class.

    A judge (logistic regression on the pixels of real images) names the class of every image along every used real
    coordinate; `kept` is the share that it names as it named the image the traversal began with. Only images whose
    reconstruction the judge names correctly are traversed.

    Of a latent with one discrete variable each class is decoded too, one-hot, with the other coordinates drawn from
    N(0, I) (HFVAE 2019, Sec. 6.3): `named_alike` is the share that the judge gives the class's commonest name, in the
    mean over classes, and `distinct` how many different names are those of more than half of a class.
    """

    run: RunSpec
    """What is trained; its seed is the task's."""
    metrics: tuple[Metric, ...] = ()
    """What is measured."""
    items: Count = 10_000
    """Items encoded, and real images the judge learns from."""
    snapshots: Count = 1
    """Times it is measured during training."""
    traversed: Count = 100
    """Images traversed."""
    drawn: Count = 100
    """Draws of each class."""

    def compute(self, workspace: Workspace) -> Result:
        inner = Trained(seed=self.seed, run=self.run, metrics=self.metrics, items=self.items, snapshots=self.snapshots)
        found = inner.compute(workspace)
        run = inner.trained(workspace)
        values, details = dict(found.values), dict(found.details)
        information = used(values)
        values["unused"] = float(sum(v < OFF for v in information))
        values["between"] = float(sum(OFF <= v < 10 * OFF for v in information))
        details["information"] = sorted(information, reverse=True)
        labels, images = sampled(run, self.items, self.seed)
        codes, real, classes = split_codes(run, images)
        if classes is not None:
            values["confidence"] = float(classes.max(axis=1).mean())
        if real:
            named, values["judge"] = judge_of(images, labels)
            kept, details["strips"] = self._traverse(run, named, labels, codes, real, information)
            values |= {} if kept is None else {"kept": kept}
            if len(run.spec.latent.layout.discrete) == 1:
                own, details["class names"] = self._named(run, named, real)
                values |= own
        return Result(values, details)

    def _traverse(
        self,
        run: TrainedRun,
        named: Judge,
        labels: NDArray[np.int64],
        codes: Any,
        real: list[int],
        information: list[float],
    ) -> tuple[float | None, dict[str, Any]]:
        """The share of classes kept (None: no image to begin with), and some rows to look at."""
        rebuilt = run.decode(codes[: 20 * self.traversed])
        right = np.flatnonzero(named(rebuilt) == labels[: len(rebuilt)])[: self.traversed]
        if not len(right):
            return None, {}
        live = [d for d, i in zip(real, information, strict=True) if i >= OFF]
        order = sorted(live, key=lambda d: -information[real.index(d)])
        same: list[float] = []
        rows: dict[str, Any] = {}
        for d in order:
            stops = np.quantile(codes[:, d], np.linspace(0.05, 0.95, STOPS))
            moved = np.repeat(codes[right], STOPS, axis=0)
            moved[:, d] = np.tile(stops, len(right))
            pictures = run.decode(moved)
            same.append(float((named(pictures) == np.repeat(labels[right], STOPS)).mean()))
            if len(rows) < 4:
                rows[f"z{d}"] = _rows(pictures, labels[right])
        return (float(np.mean(same)) if same else 1.0), rows

    def _named(self, run: TrainedRun, named: Judge, real: list[int]) -> tuple[dict[str, float], list[list[float]]]:
        """How alike the judge names the draws of each class; and each class's commonest name with its share."""
        layout = run.spec.latent.layout
        rng = np.random.default_rng(self.seed)
        found: list[tuple[int, float]] = []
        for column in layout.columns(layout.discrete):
            codes = np.zeros((self.drawn, layout.width), dtype=np.float32)
            codes[:, real] = rng.standard_normal((self.drawn, len(real)))
            codes[:, column] = 1
            names, counts = np.unique(named(run.decode(codes)), return_counts=True)
            found.append((int(names[counts.argmax()]), float(counts.max() / self.drawn)))
        distinct = {name for name, share in found if share > 0.5}
        alike = float(np.mean([share for _, share in found]))
        return {"named_alike": alike, "distinct": float(len(distinct))}, [list(pair) for pair in found]


def sampled(run: TrainedRun, items: int, seed: int) -> tuple[NDArray[np.int64], Images]:
    """Some of a run's items, in no order: the classes (their first factor), and the images."""
    data = run.data
    chosen = np.random.default_rng(seed).choice(len(data), min(items, len(data)), replace=False)
    factors = data.factors(chosen)
    assert factors is not None
    return factors[:, 0], data.images(chosen)


def judge_of(images: Images, labels: NDArray[np.int64]) -> tuple[Judge, float]:
    """What names the class of pictures, learned from four fifths of real ones, and its accuracy on the others."""
    flat = images.reshape(len(images), -1) / np.float32(255)
    most = len(flat) * 4 // 5
    judge = linear_classifier(flat[:most], labels[:most])

    def named(pictures: NDArray[np.float32]) -> Any:
        return judge.predict(pictures.reshape(len(pictures), -1))

    return named, float(judge.score(flat[most:], labels[most:]))


def linear_classifier(pixels: NDArray[np.floating[Any]], labels: NDArray[np.int64]) -> Any:
    """Logistic regression on pixels (n, P); by scikit-learn, whose solver does not need a P x P matrix.

    Its tolerance is ten times the default: the accuracy no longer rises with more steps, their number trebles.
    """
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=300, tol=1e-3).fit(pixels, labels)


def split_codes(run: TrainedRun, images: Images) -> tuple[NDArray[np.float32], list[int], NDArray[np.float32] | None]:
    """The codes (n, D), which columns are real coordinates, and the class probabilities (n, K), if there are any."""
    real = run.spec.latent.layout.real
    codes = run.encode(images)
    others = [c for c in range(codes.shape[1]) if c not in real]
    return codes, real, codes[:, others] if others else None


def used(values: dict[str, float]) -> list[float]:
    """I(x; z_d) of every real coordinate, from an evaluation's values."""
    head = "elbo_terms.mutual_information_per_dimension.z"
    for tail in ("@coordinates", ""):
        found = {int(k.removeprefix(head).removesuffix(tail)): v for k, v in values.items()
                 if k.startswith(head) and k.endswith(tail) and (tail or "@" not in k)}  # fmt: skip
        if found:
            return [found[d] for d in sorted(found)]
    return []


def _rows(pictures: NDArray[np.float32], labels: Sequence[Any] | NDArray[Any]) -> list[Any]:
    """The traversals of the first image of each of five classes, as bytes."""
    first = [int(np.flatnonzero(np.asarray(labels) == c)[0]) for c in sorted(set(np.asarray(labels).tolist()))[:5]]
    grid = (pictures * 255).astype(np.uint8).reshape(-1, STOPS, *pictures.shape[1:3])
    return grid[first].tolist()
