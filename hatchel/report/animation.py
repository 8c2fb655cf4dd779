"""Animation: traversals that move, as GIF and WebP."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from hatchel.metrics.information import Float
from hatchel.report.dimensions import Dimensions
from hatchel.report.findings import Findings
from hatchel.report.pictures import ROWS, Images, decoded, moved, typical
from hatchel.report.style import INK

FRAMES = 40
"""Of one round; even, so that the way back shows the images of the way there."""
MILLISECONDS = 70
"""A frame."""
TILE = 112
"""Pixels of a tile's side at least."""
COLUMNS = 4
GAP, TEXT = 8, 13


def sweep(frames: int = FRAMES) -> Float:
    """Shares of the range over one round: from low to high and back, slow at both ends; the last leads to the first.

    >>> sweep(4).round(3).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    return (1 - np.cos(2 * np.pi * np.arange(frames) / frames)) / 2


def moving(found: Findings, chosen: Sequence[int], frames: int = FRAMES) -> Images:
    """The decoded way there and back of some dimensions: (frames, R, H, W, C)."""
    start = typical(found.probe.codes, found.dimensions)
    shares = sweep(frames)
    there = shares[: frames // 2 + 1]  # the way back passes the same codes
    codes = np.stack([moved(start, found.dimensions, d, there) for d in chosen])
    images = decoded(found.run, codes)  # (R, frames / 2 + 1, H, W, C)
    whole = np.concatenate([images, images[:, 1 : frames - frames // 2][:, ::-1]], axis=1)
    return whole.swapaxes(0, 1)


def frames_of(images: Images, labels: Sequence[str]) -> list[Image.Image]:
    """Labelled tiles (frames, R, H, W, C) on white, COLUMNS in a row."""
    _, count, height, width, channels = images.shape
    scale = max(1, math.ceil(TILE / max(height, width)))
    high, wide = height * scale, width * scale
    font = ImageFont.load_default(TEXT)
    wide = max(wide, math.ceil(max(font.getlength(label) for label in labels)))
    columns = min(COLUMNS, count)
    rows = math.ceil(count / columns)
    step = (wide + GAP, high + TEXT + 6 + GAP)
    empty = Image.new("RGB", (columns * step[0] + GAP, rows * step[1] + GAP), "white")
    corners = [(GAP + (i % columns) * step[0], GAP + (i // columns) * step[1]) for i in range(count)]
    draw = ImageDraw.Draw(empty)
    for (x, y), label in zip(corners, labels, strict=True):
        draw.text((x, y), label, fill=INK, font=font)
    result: list[Image.Image] = []
    for frame in images:
        picture = empty.copy()
        for (x, y), tile in zip(corners, frame, strict=True):
            pixels = tile[..., :3] if channels >= 3 else tile[..., 0]
            large = Image.fromarray(pixels).resize((width * scale, height * scale), Image.Resampling.NEAREST)
            picture.paste(large.convert("RGB"), (x, y + TEXT + 6))
        result.append(picture)
    return result


def write_animation(stem: Path, frames: Sequence[Image.Image]) -> list[Path]:
    """STEM.gif and STEM.webp, both in an endless loop."""
    paths = [stem.with_name(f"{stem.name}.{ending}") for ending in ("gif", "webp")]
    first, *rest = frames
    # One palette for all frames: one made for each would flicker.
    palette = _together(frames).quantize(255, dither=Image.Dither.NONE)
    indexed = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    indexed[0].save(paths[0], save_all=True, append_images=indexed[1:], duration=MILLISECONDS, loop=0, optimize=False)
    first.save(paths[1], save_all=True, append_images=rest, duration=MILLISECONDS, loop=0, lossless=True)
    return paths


def _together(frames: Sequence[Image.Image]) -> Image.Image:
    some = frames[:: max(1, len(frames) // 5)]
    whole = Image.new("RGB", (some[0].width, sum(frame.height for frame in some)))
    for i, frame in enumerate(some):
        whole.paste(frame, (0, i * frame.height))
    return whole


def animations(found: Findings, dimensions: Dimensions) -> dict[str, list[Image.Image]]:
    """By file name: all dimensions together, and each active one by itself."""
    order = dimensions.order[:ROWS].tolist()
    images = moving(found, order)
    labels = [dimensions.label(d) for d in order]
    result = {"traversals": frames_of(images, labels)}
    for row, d in enumerate(order):
        if d in dimensions.active:
            name = f"traversal {labels[row].replace(' · ', ' ')}"
            result[name] = frames_of(images[:, row : row + 1], labels[row : row + 1])
    return result
