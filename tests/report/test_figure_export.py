from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hatchel.core.errors import HatchelError
from hatchel.report.figure_export import (
    FRAMES,
    GAP,
    SUMMARY_DPI,
    TEXT,
    animations,
    checked_folder,
    frames_of,
    moving,
    summary_figure,
    sweep,
    write_animation,
    write_animations,
    write_figures,
)
from hatchel.report.findings import Control, Findings
from hatchel.report.panels.panel import Drawing, DrawnPanel
from hatchel.report.panels.scores import information_figure
from hatchel.report.pictures import clearest, to_bytes
from hatchel.report.style import INK, png


def test_every_figure_as_png_and_svg(found: Findings, tmp_path: Path) -> None:
    drawing = Drawing({"information": information_figure(found.dimensions)}, "")
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


def test_the_way_is_there_and_back_without_a_jump() -> None:
    shares = sweep(FRAMES)
    assert shares[0] == 0
    assert shares[FRAMES // 2] == 1
    assert np.allclose(shares[1:], shares[1:][::-1])
    steps = np.abs(np.diff(np.append(shares, shares[0])))
    assert steps.max() < 1.6 / (FRAMES / 2)  # pi / 2 of an even pace at most, also from the last to the first


def test_frames_are_decoded_codes_over_the_range_of_the_data(found: Findings) -> None:
    d = int(found.dimensions.order[0])
    images = moving(found, [d], frames=8)
    assert len(images) == 8
    code = np.tile(clearest(found.run, found.probe.codes, found.dimensions), (8, 1))
    low, high = found.dimensions.low[d], found.dimensions.high[d]
    code[:, d] = low + sweep(8) * (high - low)
    assert np.abs(images[:, 0].astype(int) - to_bytes(found.run.decode(code))).max() <= 1


def test_a_tile_holds_its_image(found: Findings) -> None:
    images = np.zeros((2, 5, 16, 16, 3), dtype=np.uint8)
    images[1, 4] = (10, 200, 30)
    frames = frames_of(images, [f"z{i} · factor" for i in range(5)])
    assert len(frames) == 2
    first, second = (np.asarray(frame) for frame in frames)
    changed = np.argwhere((first != second).any(axis=2))
    assert (second[tuple(changed.T)] == (10, 200, 30)).all()
    assert len(changed) == (7 * 16) ** 2  # 16 pixels enlarged to 112
    label = first[GAP : GAP + TEXT, GAP:-GAP]
    assert (label < 200).any()  # something is written over the tiles


@pytest.mark.parametrize("ending", ["gif", "webp"])
def test_files_loop_and_their_frames_differ(ending: str, tmp_path: Path) -> None:
    images = np.zeros((6, 1, 8, 8, 1), dtype=np.uint8)
    images[np.arange(6), 0, :, np.arange(6)] = 255  # a bar that moves
    frames = frames_of(images, ["z0 · x"])
    paths = {path.suffix: path for path in write_animation(tmp_path / "a", frames)}
    with Image.open(paths[f".{ending}"]) as film:
        assert film.n_frames == 6
        assert film.info["loop"] == 0
        shown = []
        for i in range(6):
            film.seek(i)
            shown.append(np.asarray(film.convert("RGB")))
    assert all(not np.array_equal(a, b) for a, b in zip(shown, shown[1:] + shown[:1], strict=True))
    for frame, original in zip(shown, frames, strict=True):
        assert np.abs(frame.astype(int) - np.asarray(original)).mean() < 3


def test_one_file_for_all_and_one_for_each_active_dimension(found: Findings) -> None:
    made = animations(found)
    assert len(made) == 1 + len(found.dimensions.active)
    assert len(made["traversals"]) == FRAMES
    for d in found.dimensions.active:
        assert f"traversal {found.dimensions.label(d).replace(' · ', ' ')}" in made


def test_traversals_and_scores_in_one_picture(found: Findings) -> None:
    figure = summary_figure(found, [Control("untrained", "", found)], "beta_tcvae")
    left, right = figure.axes
    rows = [label.get_text().split()[0] for label in left.get_yticklabels()]
    assert rows == [f"z{d}" for d in found.dimensions.order]
    labels = [label.get_text() for label in right.get_yticklabels()]
    assert labels[0] == "MIG"
    assert labels[-2:] == ["R² x", "R² y"]
    dots = [line.get_xdata()[0] for line in right.lines if line.get_marker() == "o"]
    assert dots[: len(found.bounded)] == [found.scores[key].value for key in found.bounded]
    assert Image.open(io.BytesIO(png(figure, SUMMARY_DPI))).width == 1200
