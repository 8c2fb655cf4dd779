"""Classified on images whose class is one bright column, and on codes made by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hatchel.data.xy_squares import XYSquares
from hatchel.methods.resolve import resolve
from hatchel.studies.recurd_digits import SHARES, Classified, accuracy, mean_over_angles, over_angles
from hatchel.study.claims import per_seed
from hatchel.study.frame import select, values
from hatchel.study.task import Workspace
from hatchel.study.trained import Trained
from tests.study.made import both, rows, seeds

HERE = Workspace(Path("nowhere"), Path("nowhere"))
DATA = XYSquares(size=16)  # the last factor is y: 8 classes of 8 images


def known(codes: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """The accuracies of a run whose codes are a function of the images."""
    monkeypatch.setattr(Trained, "trained", lambda self, workspace: SimpleNamespace(encode=codes))
    return dict(Classified(0, DATA, DATA, resolve("vae", DATA)).compute(HERE).values)


def rows_of(images: Any) -> Any:
    return images.reshape(len(images), 16, 16).sum(2)  # how bright each row of pixels is


def test_pixels_that_show_the_class_are_read_without_error() -> None:
    values = Classified(0, DATA, DATA).compute(HERE).values
    assert list(values) == [accuracy(s) for s in SHARES]
    assert values[accuracy(1.0)] == 1.0
    # Twelve of 64 images have a label: no more than the classes among them can be named.
    labelled = np.random.default_rng(0).permutation(64)[: round(0.2 * 64)]
    assert values[accuracy(0.2)] <= len(set((labelled % 8).tolist())) / 8


def test_codes_are_read_as_they_are_whatever_their_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    values = known(rows_of, monkeypatch)
    assert values[accuracy(1.0)] == 1.0
    assert known(lambda images: 5.0 + 1e-4 * rows_of(images), monkeypatch) == pytest.approx(values)


def test_codes_that_say_nothing_are_no_better_than_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    values = known(lambda images: np.zeros((len(images), 2)), monkeypatch)
    assert values[accuracy(1.0)] == pytest.approx(1 / 8)


def test_a_model_is_trained_on_the_share_whose_labels_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 64 images 13 and all: the codes that the classifier is given are of those the run was trained on."""
    read: dict[float, list[int]] = {}
    images = {image.tobytes(): n for n, image in enumerate(DATA.load().images(np.arange(64)))}

    def trained(task: Trained, workspace: Workspace) -> SimpleNamespace:
        def encode(given: Any) -> Any:
            read.setdefault(task.run.test_share, []).extend(images[i.tobytes()] for i in given)
            return rows_of(given)

        return SimpleNamespace(encode=encode)

    monkeypatch.setattr(Trained, "trained", trained)
    task = Classified(5, DATA, DATA, resolve("vae", DATA), shares=(0.2, 1.0), trained_on="share")
    task.compute(HERE)
    assert [run.test_share for run in task.trainings()] == [0.8, 0.0]
    assert {run.seed for run in task.trainings()} == {5}
    assert sorted(read[0.8][:13]) == DATA.load().split(5, 0.8)[0].tolist()
    assert sorted(read[0.0][:64]) == list(range(64))
    whole = Classified(5, DATA, DATA, resolve("vae", DATA))
    assert [run.test_share for run in whole.trainings()] == [0.0]


def test_a_limit_on_labels_is_that_of_fewer_images(monkeypatch: pytest.MonkeyPatch) -> None:
    few = Classified(3, DATA, DATA, labels=32, shares=(1.0,)).compute(HERE).values
    half = Classified(3, DATA, DATA, shares=(0.5,)).compute(HERE).values
    assert few[accuracy(1.0)] == half[accuracy(0.5)]


BASES = {"RecurD": 0.5, "beta-VAE": 0.2}
ROWS = both(*(
    rows(
        {"method": method, "angle": angle},
        **{accuracy(s): [base + angle / 1000 + seed / 100 + s / 10 for seed in range(3)] for s in SHARES},
    )
    for method, base in BASES.items()
    for angle in (0, 75)
))  # fmt: skip


def test_the_mean_over_angles_by_seed() -> None:
    found = over_angles(ROWS)
    second = seeds(select(found, method="RecurD"), 1)
    assert values(second, accuracy(0.2)) == pytest.approx([0.51 + 0.02 + 0.0375])
    assert values(second, "angle 75") == pytest.approx([0.51 + 0.1 + 0.075])
    assert len(found[["method", "seed"]].drop_duplicates()) == 6


def test_a_seed_with_an_angle_missing_has_no_mean() -> None:
    gone = (ROWS["seed"] == 2) & (ROWS["angle"] == 75) & (ROWS["method"] == "RecurD")
    last = seeds(select(over_angles(ROWS[~gone]), method="RecurD"), 2)
    assert set(last["metric"]) == {"angle 0"}
    assert set(per_seed(select(ROWS[~gone], method="RecurD"), mean_over_angles(0.2))) == {0, 1}


def test_claims_are_about_the_mean_over_angles() -> None:
    found = per_seed(select(ROWS, method="RecurD"), mean_over_angles(0.2))
    assert found == pytest.approx({seed: 0.5 + 0.0375 + seed / 100 + 0.02 for seed in range(3)})
