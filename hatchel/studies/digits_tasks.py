"""Tasks on digits: whether the discrete variable finds the classes, what thickness does, and unseen combinations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hatchel.core.spec import Count
from hatchel.data.decode import Pixels
from hatchel.data.mnist import PrunedMNIST, thickness, width
from hatchel.metrics.metric import Metric
from hatchel.study.task import Result, Task, Workspace
from hatchel.study.trained import Trained
from hatchel.training.run import TrainedRun
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
            if len(rows) < 4:  # as in Fig. 5, from -3 to 3; where there is a class, the other coordinates at 0
                moved[:, [*(real if len(real) < codes.shape[1] else []), d]] = 0
                moved[:, d] = np.tile(np.linspace(-RANGE, RANGE, STOPS), len(right))
                rows[f"z{d}"] = _rows(run.decode(moved), labels[right])
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


RANGE = 3.0
"""Coordinates are moved from -3 to 3 (Esmaeili et al. 2019, Figs. 5, 7)."""


class Strokes(Task):
    """Moves the coordinate with the largest R² to the thickness of real digits, from -3 to 3, for some of each digit.

    `known` is that R²; `kept` the share of images that a judge (logistic regression on pixels) still names as before;
    `grows` the ratio of the mean thickness at the two ends, the larger to the smaller.
    """

    run: RunSpec
    """What is trained, on images of one channel; its seed is the task's."""
    items: Count = 10_000
    """Real images that the judge and the thickness are learned from."""
    each: Count = 20
    """Images of each digit that are traversed."""

    def compute(self, workspace: Workspace) -> Result:
        from hatchel.metrics.information import squared_correlations

        run = Trained(seed=self.seed, run=self.run).trained(workspace)
        labels, images = sampled(run, self.items, self.seed)
        codes, real, _ = split_codes(run, images)
        known = squared_correlations(codes[:, real].astype(np.float64), thickness(images[..., 0]))
        d = real[int(known.argmax())]
        named, _ = judge_of(images, labels)
        classes = np.unique(labels)
        chosen = np.concatenate([np.flatnonzero(labels == c)[: self.each] for c in classes])
        moved = np.repeat(codes[chosen], STOPS, axis=0)
        stops = np.linspace(-RANGE, RANGE, STOPS)
        moved[:, d] = np.tile(stops, len(chosen))
        pictures = run.decode(moved)
        of = np.repeat(labels[chosen], STOPS)
        width = thickness((pictures[..., 0] * 255).astype(np.uint8)).reshape(-1, STOPS)
        means = {str(c): width[labels[chosen] == c].mean(axis=0).tolist() for c in classes}
        ends = width[:, [0, -1]].mean(axis=0)
        values = {
            "known": float(known.max()),
            "kept": float((named(pictures) == of).mean()),
            "grows": float(ends.max() / max(ends.min(), 1e-9)),
        }
        details: dict[str, Any] = {"coordinate": d, "stops": stops.tolist(), "thickness": means}
        return Result(values, details | {"strips": _strips(pictures, labels[chosen], classes)})


def _strips(pictures: NDArray[np.float32], labels: NDArray[np.int64], classes: NDArray[np.int64]) -> dict[str, Any]:
    """The first image of each class along the coordinate."""
    grid = (pictures * 255).astype(np.uint8).reshape(-1, STOPS, *pictures.shape[1:3])
    return {str(c): [grid[int(np.flatnonzero(labels == c)[0])].tolist()] for c in classes}


FEATURES: Mapping[str, tuple[int, Callable[[Pixels], NDArray[np.float64]]]] = {
    "thickness of 7s": (7, thickness),
    "width of 0s": (0, width),
}
"""What was pruned: the digit, and how it is measured in the image."""
BINS = 24


class ZeroShot(Task):
    """The error of a run's reconstructions of the images that were taken out and of those that were left.

    Beside it, for each feature: the values of the coordinate with the largest R² to it, on kept and on removed images,
    and the chance that it tells a removed one from a kept one (area under the ROC curve).
    """

    run: RunSpec
    """What is trained; its seed is the task's."""
    items: Count = 1_000
    """Images of each kind at most."""

    def compute(self, workspace: Workspace) -> Result:
        run = Trained(seed=self.seed, run=self.run).trained(workspace)
        values: dict[str, float] = {}
        details: dict[str, Any] = {"histograms": {}}
        images: dict[str, Pixels] = {}
        digits: dict[str, NDArray[np.int64]] = {}
        for part in ("removed", "kept"):
            digits[part], images[part] = self._digits(part)
            rebuilt = run.reconstruct(images[part]).clip(1e-6, 1 - 1e-6)
            x = images[part] / np.float32(255)
            values[part] = float(-(x * np.log(rebuilt) + (1 - x) * np.log(1 - rebuilt)).sum(axis=(1, 2, 3)).mean())
            details[part] = [images[part][:8, ..., 0].tolist(), (rebuilt[:8, ..., 0] * 255).astype(np.uint8).tolist()]
        values["gap"] = values["removed"] - values["kept"]
        for name, (digit, feature) in FEATURES.items():
            removed, kept = (images[p][digits[p] == digit] for p in ("removed", "kept"))
            found, told = histogram(run, removed, kept, feature)
            details["histograms"][name] = found
            values[f"told apart: {name}"] = told
        return Result(values, details)

    def _digits(self, part: Any) -> tuple[NDArray[np.int64], Pixels]:
        """Sevens and zeros of one part, as many of each."""
        data = PrunedMNIST(part=part, size=28).load()
        factors = data.factors(np.arange(len(data)))
        assert factors is not None
        order = np.random.default_rng(self.seed).permutation(len(data))
        share = -(-self.items // 2)
        chosen = np.sort(np.concatenate([order[factors[order, 0] == digit][:share] for digit in (7, 0)]))
        return factors[chosen, 0], data.images(chosen)


def histogram(
    run: TrainedRun, removed: Pixels, kept: Pixels, feature: Callable[[Pixels], NDArray[np.float64]]
) -> tuple[dict[str, Any], float]:
    """Counts of the coordinate that knows the feature best, and how far it tells removed from kept."""
    from sklearn.metrics import roc_auc_score

    from hatchel.metrics.information import squared_correlations

    images = np.concatenate([removed, kept])
    codes, real, _ = split_codes(run, images)
    codes = codes[:, real].astype(np.float64)
    best = int(squared_correlations(codes, feature(images[..., 0])).argmax())
    edges = np.histogram_bin_edges(codes[:, best], BINS)
    parts = {"removed": codes[: len(removed), best], "kept": codes[len(removed) :, best]}
    counts = {part: np.histogram(values, edges, density=True)[0].tolist() for part, values in parts.items()}
    told = float(roc_auc_score(np.arange(len(images)) < len(removed), codes[:, best]))
    return {"coordinate": real[best], "edges": edges.tolist(), **counts}, max(told, 1 - told)
