"""RecurD (Chen et al. 2022), Fig. 7: digits from the representation, with few labels and at unseen angles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hatchel.core.spec import Count, Share, added
from hatchel.data.dataset import Dataset
from hatchel.data.mnist import ANGLES, MNIST, MNISTRotation
from hatchel.data.source import Source
from hatchel.methods.resolve import resolve
from hatchel.metrics.solvers.logistic import logistic_regression
from hatchel.studies.common import RECURD
from hatchel.studies.digits_tasks import linear_classifier
from hatchel.studies.pool import NETWORK as NETS
from hatchel.studies.pool import TEN
from hatchel.study.claims import Value, higher, per_seed
from hatchel.study.frame import Frame, groups
from hatchel.study.grid import Grid, Scale
from hatchel.study.study import Study, register
from hatchel.study.table import Column, Table, table
from hatchel.study.task import Case, Result, Task, Workspace
from hatchel.study.trained import Trained
from hatchel.training.spec import RunSpec

SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
"""Of the training images (Chen et al. 2022, section 5.2)."""


class Classified(Task):
    """Accuracy on test images of a linear classifier that was given a share of the training images with their labels.

    It reads the posterior means of a run, standardised, or the pixels themselves: the paper's single-layer network. The
    class is the last factor of the data. "Each model is trained by varying ratios of training data": the run has seen
    the same share, for as many steps, unless it is `trained_on` all.
    """

    train: Source
    """Images with labels."""
    test: Source
    """Images that neither the classifier nor the run has seen."""
    run: RunSpec | None = None
    """What is trained; its seed is the task's. Without one, the pixels are read."""
    labels: Count = 60_000
    """Labels at most, of which the shares are taken."""
    shares: tuple[Share, ...] = SHARES
    """Of the images and labels."""
    trained_on: Literal["all", "share"] = added(default="all")
    """The images that the run is trained on."""
    asked: Count = added(default=60_000)
    """Test images at most, the first ones."""

    def trainings(self) -> tuple[RunSpec, ...]:
        return tuple({run.digest(): run for share in self.shares if (run := self._run(share))}.values())

    def compute(self, workspace: Workspace) -> Result:
        shown, unseen = self.train.load(), self.test.load()
        order, first = np.random.default_rng(self.seed).permutation(len(shown)), np.arange(len(unseen))[: self.asked]
        truth = _classes(unseen, first)
        values: dict[str, float] = {}
        for share in self.shares:
            run = self._run(share)
            seen = shown.split(self.seed, run.test_share)[0] if run else order
            labelled = order[np.isin(order, seen)][: max(1, round(share * min(self.labels, len(shown))))]
            read = self._reader(run, workspace)
            codes, asked = read(shown.images(labelled)), read(unseen.images(first))
            values[accuracy(share)] = float((self._answers(codes, _classes(shown, labelled), asked) == truth).mean())
        return Result(values)

    def _run(self, share: float) -> RunSpec | None:
        """What is trained for a share; the others are held out."""
        if self.run is None:
            return None
        held_out = round(1 - share, 6) if self.trained_on == "share" else self.run.test_share
        return self.run.with_fields(seed=self.seed, test_share=held_out)

    def _reader(self, spec: RunSpec | None, workspace: Workspace) -> Callable[[NDArray[np.uint8]], NDArray[Any]]:
        """Codes or pixels of images: (n, D)."""
        if spec is None:
            return lambda images: images.reshape(len(images), -1) / np.float32(255)
        run = Trained(seed=self.seed, run=spec).trained(workspace)
        return lambda images: run.encode(images).astype(np.float64)

    def _answers(self, codes: NDArray[Any], named: NDArray[np.int64], asked: NDArray[Any]) -> NDArray[Any]:
        """The classes of the codes that are asked for, from those that have a name."""
        if self.run is None:
            return linear_classifier(codes, named).predict(asked)
        centre, spread = codes.mean(axis=0), codes.std(axis=0)
        codes, asked = ((c - centre) / np.where(spread > 0, spread, 1.0) for c in (codes, asked))
        return logistic_regression(codes, named).predict(asked)


def accuracy(share: float) -> str:
    """What the value is called."""
    return f"accuracy {share:g}"


def _classes(data: Dataset, items: NDArray[np.int64]) -> NDArray[np.int64]:
    factors = data.factors(items)
    assert factors is not None
    return factors[:, -1]


NETWORK = {**NETS, **TEN}
METHODS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "RecurD": ("recurd", {"decoder": "deconv"}),  # with its own encoder
    "beta-VAE": ("beta_vae", {"beta": 4, **NETWORK}),
    "VAE": ("vae", NETWORK),  # ours: what the penalties take away
    "AnnealedVAE": ("annealed_vae", {"gamma": 1000, **NETWORK}),
    "FactorVAE": ("factor_vae", {"gamma": 6.4, **NETWORK}),
    "beta-TCVAE": ("beta_tcvae", {"beta": 4, **NETWORK}),
    "DIP-VAE": ("dip_vae_i", {"od": 100, "d": 10, **NETWORK}),
}
SHARE_COLUMNS = tuple(Column(accuracy(s), f"{100 * s:g} % of labels") for s in SHARES)


def representations(data: Source, steps: int, scale: Scale) -> dict[str, RunSpec | None]:
    """The pixels, and the methods of a scale on some data, with the network of the paper's Table 3."""
    own = {"steps": steps, "batch_size": 16 if scale == "smoke" else 64, "optimizer.lr": 1e-3}
    chosen = list(METHODS.items())[: 7 if scale == "paper" else 3]
    runs = {label: resolve(method, data, {**fields, **own}) for label, (method, fields) in chosen}
    return {"pixels": None, **runs}


def tried(scale: Scale) -> tuple[float, ...]:
    """Shares, each of which is a training."""
    return SHARES[::4] if scale == "smoke" else SHARES


def downstream_grid(scale: Scale) -> Grid:
    """Each method; and the pixels themselves."""
    train, test = MNIST(), MNIST(part="test")
    labels = {"smoke": 200, "laptop": 10_000, "paper": 60_000}[scale]
    runs, shares = representations(train, 2 if scale == "smoke" else 2_000, scale), tried(scale)
    asked = 200 if scale == "smoke" else 60_000
    cases = [
        Case({"representation": m}, Classified(0, train, test, run, labels, shares, "share", asked))
        for m, run in runs.items()
    ]
    note = f"{labels:,} labels; models trained on the same share; the paper prints neither steps nor rate"
    return Grid(tuple(cases), 1 if scale == "smoke" else 5, note)


PAPERS = [method for method in METHODS if method not in ("RecurD", "VAE")]
"""The baselines of Fig. 7."""
DOWNSTREAM = (
    *(RECURD(f"R12.{100 * s:g}", "Fig. 7 left", f"With {100 * s:g} % of the data RecurD is above each baseline.",
             higher(accuracy(s), {"representation": "RecurD"}, *({"representation": m} for m in PAPERS)))
      for s in SHARES),
    RECURD("R12.pixels", "Fig. 7 left", "The single-layer network on pixels is above beta-VAE with all data.",
           higher(accuracy(1.0), {"representation": "pixels"}, {"representation": "beta-VAE"})),
)  # fmt: skip


def by_share(frame: Frame, label: str) -> Any:
    """A line for each value of a label: accuracy against the share of labels."""
    from hatchel.study.figures import lines

    shares = {accuracy(s): s for s in SHARES}
    points = frame[frame["metric"].isin(shares)]
    points = points.assign(share=[shares[n] for n in points["metric"]], metric="accuracy")
    return lines(points, "share", "accuracy", label, ("share of labels", "accuracy"))


register(Study(
    name="downstream-mnist",
    about="Accuracy of a linear classifier on a representation, both of 20 to 100 % of the images, and on the pixels.",
    paper="Chen et al. 2022, Fig. 7 left",
    grid=downstream_grid,
    title="Test accuracy of a linear classifier",
    columns=SHARE_COLUMNS,
    figures=lambda frame: {"Accuracy by labels": by_share(frame, "representation")},
    claims=DOWNSTREAM,
))  # fmt: skip

LEFT_OUT: Mapping[Scale, tuple[int, ...]] = {"smoke": (0,), "laptop": (0, 75), "paper": ANGLES}


def domain_grid(scale: Scale) -> Grid:
    """Each method and the pixels, each angle."""
    cases: list[Case] = []
    for angle in LEFT_OUT[scale]:
        train, test = (MNISTRotation(angles=a) for a in (tuple(b for b in ANGLES if b != angle), (angle,)))
        runs = representations(train, 2 if scale == "smoke" else 1_000, scale)
        most = 200 if scale == "smoke" else 60_000
        cases += [
            Case({"method": m, "angle": angle},
                 Classified(0, train, test, run, most, tried(scale), "share", most))
            for m, run in runs.items()
        ]  # fmt: skip
    angles = ", ".join(map(str, LEFT_OUT[scale]))
    note = f"{angles} degrees left out; models trained on the share; the paper prints neither steps nor rate"
    return Grid(tuple(cases), 1 if scale == "smoke" else 5, note)


def over_angles(frame: Frame) -> Frame:
    """By method and seed: its accuracy at each angle, and the mean over the angles where none is missing."""
    kept = frame[frame["metric"].isin([accuracy(s) for s in SHARES])]
    single = kept[kept["metric"] == accuracy(1.0)]
    single = single.assign(metric=[f"angle {a}" for a in single["angle"]])
    keys = ["method", "seed", "metric"]
    counts = kept.groupby(keys, sort=False)["value"].transform("count")
    # numpy's mean: pandas' differs in the last digit, and the published tables were rounded after numpy's.
    means = kept.assign(value=kept.groupby(keys, sort=False)["value"].transform(lambda v: np.mean(v.to_numpy())))
    means = means[counts == frame["angle"].nunique()].drop_duplicates(keys)
    return pd.concat([single, means], ignore_index=True).drop(columns="angle").assign(task="")


def domain_tables(frame: Frame) -> list[Table]:
    """By method, averaged over the angles; and by angle, with all labels."""
    means = over_angles(frame)
    single = [Column(f"angle {a}", f"{a}°") for a in sorted({int(a) for a in frame["angle"]})]
    return [
        table("Accuracy on the angle left out, averaged over the angles", means, ("method",), SHARE_COLUMNS),
        table("The same with all labels, by the angle left out", means, ("method",), single),
    ]


def domain_figures(frame: Frame) -> dict[str, Any]:
    """Accuracy by share, averaged over the angles, and by angle."""
    from hatchel.study.figures import lines

    return {
        "Accuracy by labels": by_share(over_angles(frame), "method"),
        "Accuracy by angle left out": lines(frame, "angle", accuracy(1.0), "method", ("angle", "accuracy")),
    }


def mean_over_angles(share: float) -> Value:
    """The mean accuracy over the angles, of seeds that have as many as the one with most."""

    def means(frame: Frame) -> dict[int, float]:
        found = [per_seed(group, accuracy(share)) for group in groups(frame, "angle").values()]
        shared = set.intersection(*({*numbers} for numbers in found))
        return {seed: float(np.mean([numbers[seed] for numbers in found])) for seed in sorted(shared)}

    return means


DOMAIN = tuple(
    RECURD(f"R13.{100 * s:g}", "Fig. 7 right", f"On the angle left out RecurD with {100 * s:g} % of the data is "
           "above each baseline, in the mean over the angles.",
           higher(mean_over_angles(s), {"method": "RecurD"}, *({"method": m} for m in PAPERS)))
    for s in SHARES
)  # fmt: skip


register(Study(
    name="domain-generalisation",
    about="Digits of an angle that neither the representation nor its classifier has seen.",
    paper="Chen et al. 2022, Fig. 7 right",
    grid=domain_grid,
    tables=domain_tables,
    figures=domain_figures,
    claims=DOMAIN,
))  # fmt: skip
