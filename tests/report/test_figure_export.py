from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from hatchel.core.errors import HatchelError
from hatchel.report import figures
from hatchel.report.figure_export import checked_folder, write_animations, write_figures
from hatchel.report.findings import Findings
from hatchel.report.panels.panel import Drawing, DrawnPanel
from hatchel.report.style import INK


def test_every_figure_as_png_and_svg(found: Findings, tmp_path: Path) -> None:
    drawing = Drawing({"information": figures.information(found.dimensions)}, "")
    paths = write_figures(tmp_path, [DrawnPanel("a", "A", False, drawing)])
    assert [p.name for p in paths] == ["information.png", "information.svg"]
    with Image.open(paths[0]) as picture:
        assert picture.width == round(5.2 * 200)
    text = paths[1].read_text(encoding="utf-8")
    assert text.startswith("<?xml")
    assert INK in text  # a file of its own has no page whose colours it could take
    assert "z0" in text


def test_moving_traversals(found: Findings, tmp_path: Path) -> None:
    names = {p.name for p in write_animations(tmp_path, found, "mine")}
    assert {"mine-traversals.gif", "mine-traversals.webp"} <= names
    assert names == {p.name for p in tmp_path.iterdir()}


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HatchelError, match="is a file; --figures names a folder"):
        checked_folder(tmp_path / "file")
