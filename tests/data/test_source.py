"""Names, paths and options."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Spec, from_dict, to_dict
from hatchel.data import load
from hatchel.data.array import Array
from hatchel.data.dsprites import DSprites
from hatchel.data.images import Images
from hatchel.data.source import Source
from hatchel.data.table import Table


class Holder(Spec):
    data: Source = DSprites()


def test_a_string_is_a_kind_or_a_path(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    np.save(tmp_path / "a.npy", np.zeros((2, 4, 4), np.uint8))
    (tmp_path / "t.csv").write_text("a\n1\n")
    assert from_dict(Holder, {"data": "dsprites"}).data == DSprites()
    assert from_dict(Holder, {"data": str(tmp_path / "photos")}).data == Images(str(tmp_path / "photos"))
    assert from_dict(Holder, {"data": str(tmp_path / "a.npy")}).data == Array(str(tmp_path / "a.npy"))
    assert from_dict(Holder, {"data": str(tmp_path / "t.csv")}).data == Table(str(tmp_path / "t.csv"))


@pytest.mark.parametrize("kind", sorted(Source.members()))
def test_every_source_has_help_and_survives_json(kind: str) -> None:
    cls = Source.members()[kind]
    source = cls("somewhere") if kind in ("array", "images", "table") else cls()
    assert from_dict(Source, to_dict(source)) == source
    assert set(cls.help()) >= {field.name for field in dataclasses.fields(cls)}


def test_where_a_thing_is_kept_is_not_its_identity() -> None:
    assert DSprites(cache=False, path="x").digest() == DSprites().digest()
    assert DSprites(size=32).digest() != DSprites().digest()


def test_mistakes_are_named(tmp_path: Path) -> None:
    with pytest.raises(HatchelError, match=r"unknown dataset 'dsprite'. Did you mean 'dsprites'.*a path must exist"):
        load("dsprite")
    with pytest.raises(HatchelError, match=r"^data: there is no file or folder \./nowhere \(seen from /.*\); correct"):
        from_dict(Holder, {"data": "./nowhere"})
    (tmp_path / "a.xyz").write_text("")
    with pytest.raises(HatchelError, match="this kind of file"):
        load(tmp_path / "a.xyz")
    with pytest.raises(HatchelError, match=r"unknown field of DSprites 'sise'. Did you mean 'size'"):
        load("dsprites", sise=32)
    with pytest.raises(HatchelError, match="size: input should be 64 or 32, got 48"):
        load("dsprites", size=48)


def test_load_takes_a_path_object_and_options(tmp_path: Path) -> None:
    Image.new("RGB", (10, 20), (255, 0, 0)).save(tmp_path / "a.png")
    ds = load(tmp_path, size=8, colour=False)
    assert ds.shape == (1, 8, 8)
    assert ds.name == tmp_path.name


def test_the_package_imports_nothing_heavy() -> None:
    code = (
        "import sys, hatchel.data; from hatchel.data.source import Source; Source.members();"
        "print([m for m in ('torch', 'pandas', 'scipy', 'PIL', 'h5py', 'sklearn') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
