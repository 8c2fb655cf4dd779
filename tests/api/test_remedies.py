"""Every remedy that an error names in Python is typed here, as it is printed, and works."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import hatchel
import hatchel.data
from hatchel import HatchelError, metrics
from hatchel.evaluation.evaluation import Evaluation

SMALL: dict[str, Any] = {"steps": 1, "batch_size": 4, "progress": False, "latent__dim": 2}
RNG = np.random.default_rng(0)
IMAGES = RNG.integers(255, size=(12, 16, 16), dtype=np.uint8)
CODES, FACTORS = RNG.normal(size=(200, 3)), RNG.integers(3, size=(200, 2))


def vae(**given: Any) -> Any:
    return hatchel.train("vae", force=True, **SMALL, **given)


def told(call: Callable[[], Any]) -> str:
    with pytest.raises(HatchelError) as error:
        call()
    return str(error.value)


@pytest.mark.filterwarnings("ignore:pictures of 2 sizes")
def test_data(tmp_path: Path) -> None:
    def trained(data: Any) -> Any:
        return vae(data=data, out=tmp_path / "run")

    assert 'data="dsprites"), or a path or an array' in told(lambda: hatchel.train("vae"))
    assert trained(IMAGES).steps == 1
    both = RNG.integers(255, size=(12, 3, 16, 3), dtype=np.uint8)
    assert 'data=hatchel.data.from_array(x, channels="first")' in told(lambda: trained(both))
    assert trained(hatchel.data.from_array(both, channels="first")).shape == (3, 16, 3)
    floats = IMAGES.astype(np.float32)
    assert told(lambda: trained(floats)).endswith("scale them to [0, 1]: give x / 255")
    assert trained(floats / 255).steps == 1
    signed = floats / 127.5 - 1
    assert told(lambda: trained(signed)).endswith("give (x + 1) / 2")
    assert trained((signed + 1) / 2).steps == 1
    words = np.array(["cat", "dog"] * 6)
    assert "np.unique(values, return_inverse=True)[1]" in told(lambda: trained((IMAGES, words)))
    assert trained((IMAGES, np.unique(words, return_inverse=True)[1])).data.space.sizes == (2,)
    uneven = [IMAGES[0], IMAGES[1, :8], *IMAGES[2:]]
    assert "give a list of PIL images, which are resized" in told(lambda: trained([i / 255 for i in uneven]))
    assert trained([Image.fromarray(image) for image in uneven]).steps == 1


def test_a_run_whose_data_are_elsewhere(tmp_path: Path) -> None:
    vae(data=IMAGES, out=tmp_path / "run")
    assert "hatchel.load(folder, data=x)" in told(lambda: hatchel.load(tmp_path / "run").data)
    assert len(hatchel.load(tmp_path / "run", data=IMAGES).data) == 12
    np.save(tmp_path / "images.npy", IMAGES)
    vae(data=tmp_path / "images.npy", out=tmp_path / "other")
    shutil.move(tmp_path / "images.npy", tmp_path / "moved.npy")
    assert "hatchel.load(folder, data=path)" in told(lambda: hatchel.load(tmp_path / "other").data)
    assert len(hatchel.load(tmp_path / "other", data=tmp_path / "moved.npy").data) == 12


def test_a_run(tmp_path: Path) -> None:
    run = vae(data=IMAGES, out=tmp_path / "run")
    assert "measure the run with `hatchel evaluate" in told(lambda: Evaluation.load(run.folder))
    picture = run.traverse(2)
    assert "name a file such as traversals.png" in told(lambda: picture.save(tmp_path / "x.doc"))
    assert picture.save(tmp_path / "traversals.png").is_file()
    two = hatchel.Disentangler("beta_svae", n_components=2, steps=1)
    assert "leave n_components out" in told(lambda: two.fit(CODES))
    hatchel.Disentangler("beta_svae", steps=1, parameters={"style": 2}).fit(CODES)


def test_metrics() -> None:
    huge = CODES * 1e200
    assert "divide them by their scale first" in told(lambda: metrics.mig(huge, FACTORS))
    assert metrics.mig(huge / np.abs(huge).max(), FACTORS).value == pytest.approx(metrics.mig(CODES, FACTORS).value)
    masked = np.ma.masked_greater(CODES, 2.0)
    assert "leave their rows out" in told(lambda: metrics.mig(masked, FACTORS))
    kept = ~masked.mask.any(axis=1)
    metrics.mig(masked[kept].data, FACTORS[kept])
    lonely = np.arange(200)[:, None]
    assert "or declare it continuous" in told(lambda: metrics.mig(CODES, lonely))
    metrics.mig(CODES, lonely, continuous=True)
    assert "give one row per code" in told(lambda: metrics.mig(CODES, FACTORS[:100]))
    metrics.mig(CODES[:100], FACTORS[:100])
