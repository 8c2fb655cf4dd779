"""Strokes on a model made by hand: z1 is the stroke's thickness, z0 nothing, and the decoder draws what it is told."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from hatchel.latents.layout import Layout
from hatchel.methods.resolve import resolve
from hatchel.studies.tasks.digits import STOPS
from hatchel.studies.tasks.strokes import Strokes
from hatchel.study.task import Workspace
from hatchel.study.trained import Trained

N, K, SIDE = 300, 2, 16
LABELS = np.arange(N) % K
WIDTHS = np.random.default_rng(0).integers(1, 8, N)
NOISE = np.random.default_rng(1).standard_normal(N)


def bars(labels, widths) -> np.ndarray:
    """A bar of so many pixels: upright for class 0, level for class 1."""
    found = np.zeros((len(labels), SIDE, SIDE, 1), dtype=np.float32)
    for image, label, width in zip(found, labels, widths, strict=True):
        lines = slice(8 - width // 2, 8 - width // 2 + width)
        image[(slice(2, 14), lines) if label == 0 else (lines, slice(2, 14))] = 1
    return found


class Model:
    steps = 0
    spec = SimpleNamespace(latent=SimpleNamespace(layout=Layout.of({"style": (1, 1), "what": (2,)})))

    def __init__(self, turns: bool) -> None:
        self.turns = turns
        self.data = _Data()

    def encode(self, images) -> np.ndarray:
        ink = images[..., 0].sum(axis=(1, 2)) / 255 / 12  # the bar's width
        upright = images[:, 2, :, 0].any(axis=1) & ~images[:, :, 2, 0].any(axis=1)
        codes = np.stack([NOISE[: len(images)], (ink - 4) / 2, 1.0 * upright, 1.0 * ~upright], axis=1)
        return codes.astype(np.float32)

    def decode(self, codes) -> np.ndarray:
        widths = np.clip(np.round(codes[:, 1] + 4), 1, 8).astype(int)
        labels = codes[:, 2:].argmax(axis=1)
        return bars(np.where(self.turns & (codes[:, 1] > 0), 1 - labels, labels), widths)


class _Data:
    def __len__(self) -> int:
        return N

    def factors(self, items) -> np.ndarray:
        return LABELS[items][:, None]

    def images(self, items) -> np.ndarray:
        return (bars(LABELS[items], WIDTHS[items]) * 255).astype(np.uint8)


def found(monkeypatch, turns: bool):
    monkeypatch.setattr(Trained, "trained", lambda self, workspace: Model(turns))
    return Strokes(0, resolve("vae"), items=N, each=5).compute(Workspace(Path("nowhere"), Path("nowhere")))


def test_the_coordinate_that_knows_the_thickness_is_found_and_moved(monkeypatch):
    record = found(monkeypatch, turns=False)
    assert record.details["coordinate"] == 1
    assert record.values["known"] > 0.95  # thickness is ink over outline, nearly the bar's width
    assert record.values["kept"] == 1.0
    for means in record.details["thickness"].values():
        assert np.all(np.diff(means) > 0)
    ends = np.mean(list(record.details["thickness"].values()), axis=0)  # as many images of each class
    assert record.values["grows"] == pytest.approx(ends[-1] / ends[0])
    assert record.details["stops"] == pytest.approx(np.linspace(-3, 3, STOPS))
    assert np.array(record.details["strips"]["1"]).shape == (1, STOPS, SIDE, SIDE)


def test_a_coordinate_that_turns_the_digit_does_not_keep_it(monkeypatch):
    assert found(monkeypatch, turns=True).values["kept"] == pytest.approx(4 / 7)  # -3, -2, -1 and 0
