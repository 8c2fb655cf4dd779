"""Classified on images whose class is one bright column, and on codes made by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hatchel.data.xy_squares import XYSquares
from hatchel.methods.resolve import resolve
from hatchel.studies.tasks.classified import SHARES, Classified, accuracy
from hatchel.study.task import Workspace
from hatchel.study.trained import Trained

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


def test_a_limit_on_labels_is_that_of_fewer_images(monkeypatch: pytest.MonkeyPatch) -> None:
    few = Classified(3, DATA, DATA, labels=32, shares=(1.0,)).compute(HERE).values
    half = Classified(3, DATA, DATA, shares=(0.5,)).compute(HERE).values
    assert few[accuracy(1.0)] == half[accuracy(0.5)]
