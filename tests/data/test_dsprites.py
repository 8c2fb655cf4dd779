"""The data set: cached or drawn, at 64 or 32 px, plain, coloured or noisy, or from the original file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.data import dsprites, dsprites_render, load

SOME = np.random.default_rng(0).integers(0, 737_280, 300)


def test_cached_and_drawn_are_the_same_data() -> None:
    cached, drawn = load("dsprites"), load("dsprites", cache=False)
    assert len(cached) == 737_280
    assert cached.shape == (1, 64, 64)
    assert cached.fingerprint == drawn.fingerprint == "c56cca591abeb484"
    np.testing.assert_array_equal(cached.images(SOME), drawn.images(SOME))
    np.testing.assert_array_equal(cached.factors(SOME), dsprites_render.SPACE.at(SOME))
    assert cached.space is not None
    np.testing.assert_array_equal(cached.space.index(cached.factors(SOME)), SOME)


def test_half_size_is_the_box_filter() -> None:
    full, half = load("dsprites", cache=False), load("dsprites", cache=False, size=32)
    blocks = full.images(SOME).astype(float).reshape(-1, 32, 2, 32, 2).mean(axis=(2, 4))
    np.testing.assert_array_equal(half.images(SOME)[..., 0], np.floor(blocks + 0.5))


def test_colour_paints_the_sprite_and_nothing_else() -> None:
    plain = load("dsprites", cache=False).images(SOME)
    ds = load("dsprites", cache=False, variant="colour")
    images = ds.images(SOME)
    assert ds.shape == (3, 64, 64)
    assert not images[plain[..., 0] == 0].any()
    shades = images.max(axis=(1, 2))
    assert all((images[i][plain[i, ..., 0] == 255] == shades[i]).all() for i in range(len(SOME)))
    assert shades.min() >= 128
    assert shades.mean() / 255 == pytest.approx(0.75, abs=0.01)


def test_noise_fills_the_background_uniformly() -> None:
    plain = load("dsprites", cache=False).images(SOME)[..., 0]
    images = load("dsprites", cache=False, variant="noisy").images(SOME)
    assert (images[plain == 255] == 255).all()
    counts = np.bincount(images[plain == 0].ravel(), minlength=256)
    np.testing.assert_allclose(counts / counts.mean(), 1, atol=0.05)
    flat = images[plain == 0].ravel().astype(float)
    assert np.corrcoef(flat[:-1], flat[1:])[0, 1] == pytest.approx(0, abs=0.005)


@pytest.mark.parametrize("variant", ["colour", "noisy"])
def test_nuisance_depends_on_item_and_seed_only(variant: str) -> None:
    one, two = (load("dsprites", cache=False, variant=variant, seed=s) for s in (0, 1))
    np.testing.assert_array_equal(one.images(SOME)[5:6], one.images(SOME[5:6]))
    assert (one.images(SOME) != two.images(SOME)).any(axis=(1, 2, 3)).all()


def test_random_bytes_are_splitmix64() -> None:
    """The first outputs of the published generator from state 0."""
    words = dsprites.random_bytes(0, np.array([0]), 32).view("<u8")[0]
    assert [hex(w) for w in words[1:4]] == ["0xe220a8397b1dcdaf", "0x6e789e6aa1b965f4", "0x6c45d188009454f"]


def test_the_original_file_is_used_when_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the original's form, but of 24 items: real ones are too large for a test."""
    numbers = np.arange(24)
    rng = np.random.default_rng(0)
    images = rng.integers(0, 2, (24, 64, 64), dtype=np.uint8)
    classes = np.concatenate([np.zeros((24, 1), dtype=np.int64), dsprites_render.SPACE.at(numbers)], axis=1)
    path = tmp_path / dsprites.ORIGINAL
    metadata = np.array({"pickled": 1}, dtype=object)
    np.savez_compressed(path, imgs=images, latents_classes=classes, metadata=metadata)
    monkeypatch.setattr(dsprites, "N", 24)
    packed = dsprites._original(path)
    np.testing.assert_array_equal(np.unpackbits(packed, axis=1, bitorder="little").reshape(-1, 64, 64), images)
    np.savez_compressed(path, imgs=images, latents_classes=classes[::-1], metadata=metadata)
    with pytest.raises(HatchelError, match="another order"):
        dsprites._original(path)


def test_a_wrong_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / dsprites.ORIGINAL
    np.savez(path, imgs=np.zeros((5, 64, 64), np.uint8), latents_classes=np.zeros((5, 6), np.int64))
    with pytest.raises(HatchelError, match=r"not dSprites: imgs has the shape \(5, 64, 64\)"):
        load("dsprites", path=str(path))
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(HatchelError, match="truncated"):
        load("dsprites", path=str(path))
    with pytest.raises(HatchelError, match="put it into"):
        load("dsprites", path=str(tmp_path / "nowhere"))
