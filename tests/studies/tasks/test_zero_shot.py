"""The histogram of a feature, with an encoder that reads it off the image."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from hatchel.latents.layout import Layout
from hatchel.studies.tasks.zero_shot import histogram


class Reader:
    """Two coordinates: chance, and the image's first pixel (or its negative)."""

    steps = 0
    spec = SimpleNamespace(latent=SimpleNamespace(layout=Layout.of({"z": (1, 1)})))

    def __init__(self, sign: int) -> None:
        self.sign = sign

    def encode(self, images) -> np.ndarray:
        chance = np.random.default_rng(0).standard_normal(len(images))
        return np.stack([chance, self.sign * (images[:, 0, 0, 0] / 100)], axis=1).astype(np.float32)


def images(pixels) -> np.ndarray:
    found = np.zeros((len(pixels), 2, 2, 1), dtype=np.uint8)
    found[:, 0, 0, 0] = pixels
    return found


@pytest.mark.parametrize("sign", [1, -1])
def test_the_coordinate_is_found_whatever_its_sign_and_the_parts_are_counted(sign):
    removed, kept = images(np.arange(150, 200)), images(np.arange(0, 160))
    found, told = histogram(Reader(sign), removed, kept, lambda x: x[:, 0, 0].astype(float))
    assert found["coordinate"] == 1
    # The chance that a removed pixel is above a kept one, ties half: ten values are in both parts.
    above = (removed[:, 0, 0, 0][:, None] > kept[:, 0, 0, 0][None]).mean()
    ties = (removed[:, 0, 0, 0][:, None] == kept[:, 0, 0, 0][None]).mean()
    assert told == pytest.approx(above + ties / 2)
    steps = np.diff(found["edges"])
    for part in ("removed", "kept"):
        assert (np.array(found[part]) * steps).sum() == pytest.approx(1)


def test_features_that_parts_share_are_not_told_apart():
    pixels = np.arange(100)
    _, told = histogram(Reader(1), images(pixels), images(pixels), lambda x: x[:, 0, 0].astype(float))
    assert told == pytest.approx(0.5)
