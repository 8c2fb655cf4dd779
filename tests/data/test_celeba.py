"""CelebA from a folder or a zip of its form."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hatchel.core.errors import HatchelError
from hatchel.data import load


@pytest.fixture
def faces(tmp_path: Path) -> Path:
    folder = tmp_path / "img_align_celeba"
    folder.mkdir()
    lines = []
    for number in range(3):
        picture = np.full((218, 178, 3), 80 * number, dtype=np.uint8)
        picture[:20], picture[-20:] = 255, 255  # outside of the centred square
        Image.fromarray(picture).save(folder / f"{number:06}.jpg", quality=100)
        lines.append(f"{number:06}.jpg {-1 if number else 1}  {1 if number == 2 else -1}")
    (tmp_path / "list_attr_celeba.txt").write_text("3\nBald Smiling \n" + "\n".join(lines) + "\n")
    return tmp_path


def check(path: Path, **options: object) -> None:
    ds = load("celeba", path=str(path), size=16, **options)
    assert ds.space is not None
    assert ds.space.names == ("Bald", "Smiling")
    assert not ds.space.complete
    assert ds.factors(range(3)).tolist() == [[1, 0], [0, 0], [0, 1]]
    np.testing.assert_allclose(
        ds.images(range(3)), np.array([0, 80, 160])[:, None, None, None] * np.ones((16, 16, 3)), atol=2
    )


@pytest.mark.parametrize("cache", [True, False])
def test_folder_and_zip(faces: Path, cache: bool) -> None:
    check(faces, cache=cache)
    folder = faces / "img_align_celeba"
    with zipfile.ZipFile(faces / "img_align_celeba.zip", "w") as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, f"img_align_celeba/{path.name}")
            path.unlink()
    folder.rmdir()
    check(faces, cache=cache)


def test_what_is_missing_or_broken_is_named(faces: Path, tmp_path: Path) -> None:
    (faces / "img_align_celeba" / "000001.jpg").write_bytes(b"x")
    with pytest.raises(HatchelError, match=r"000001.jpg cannot be read"):
        load("celeba", path=str(faces))
    (faces / "img_align_celeba").rename(faces / "moved")
    with pytest.raises(HatchelError, match=r"celeba needs .*img_align_celeba.zip. Download it from https://mmlab"):
        load("celeba", path=str(faces))
    (faces / "img_align_celeba.zip").write_bytes(b"PK")
    with pytest.raises(HatchelError, match="not a whole zip"):
        load("celeba", path=str(faces))
    attributes = faces / "list_attr_celeba.txt"
    attributes.write_text(attributes.read_text()[:-30])
    with pytest.raises(HatchelError, match="truncated or not a list of attributes"):
        load("celeba", path=str(faces))
    attributes.unlink()
    with pytest.raises(HatchelError, match=r"list_attr_celeba.txt. Download it from"):
        load("celeba", path=str(faces))
