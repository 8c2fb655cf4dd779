from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hatchel.report.animation import FRAMES, GAP, TEXT, animations, frames_of, moving, sweep, write_animation
from hatchel.report.findings import Findings
from hatchel.report.pictures import to_bytes, typical


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
    code = np.tile(typical(found.probe.codes, found.dimensions), (8, 1))
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
    made = animations(found, found.dimensions)
    assert len(made) == 1 + len(found.dimensions.active)
    assert len(made["traversals"]) == FRAMES
    for d in found.dimensions.active:
        assert f"traversal {found.dimensions.label(d).replace(' · ', ' ')}" in made
