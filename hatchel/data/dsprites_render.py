"""The outlines of dSprites and their raster: whole images as 64 machine words, one word a row, one bit a pixel.

With h = 9.6 px, u to the right, v down, t = 2πk/n: the square has corners (±h, ±h); the ellipse is the 100-gon
(1.33h cos t, h/1.33 sin t); the heart is the 150-gon (h sin³t, -(h/14.5)(13 cos t - 5 cos 2t - 2 cos 3t - cos 4t)
- 0.15h). A vertex is placed at centre + scale·[[cos a, sin a], [-sin a, cos a]](u, v) and rounded to 1/256 px. A pixel
is white iff its centre is inside; an edge exactly through a centre counts on the left and bottom sides only.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hatchel.data.decode import in_chunks
from hatchel.data.factors import Factor, FactorSpace, Integers

PIXELS = 64
HALF = 9.6
UNIT = 256  # vertices are integers in 1/256 px
TALLEST = 28  # rows that the largest sprite can touch
CROSSINGS = 4  # edges that a row can cross: two, or four through the lobes of the heart
CHUNK = 256  # images rendered at once: their temporaries stay in the processor's cache

SPACE = FactorSpace(
    (
        Factor("shape", ("square", "ellipse", "heart")),
        Factor("scale", tuple(np.linspace(0.5, 1, 6).tolist()), "continuous"),
        Factor("orientation", tuple(np.linspace(0, 2 * np.pi, 40).tolist()), "cyclic"),
        Factor("pos_x", tuple(np.linspace(0, 1, 32).tolist()), "continuous"),
        Factor("pos_y", tuple(np.linspace(0, 1, 32).tolist()), "continuous"),
    )
)


class Raster(NamedTuple):
    """What rendering looks up; a *sprite* is a shape, scale and orientation."""

    x: NDArray[np.int16]  # (sprite · pos_x, V) vertices; the first repeated at the end, then twice the unused one
    vertex: NDArray[np.int16]  # (sprite · pos_y, TALLEST · CROSSINGS) where the crossing edge starts
    rise: NDArray[np.int32]  # likewise: from the edge's start down to the row's centre
    height: NDArray[np.int32]  # likewise: the edge's whole height, signed
    top: Integers  # (sprite · pos_y,) first row


def render(indices: Integers) -> NDArray[np.uint64]:
    """The images of these items: (n, 64) rows, pixel i of a row in bit i."""
    out = np.zeros((len(indices), PIXELS), dtype=np.uint64)
    in_chunks(lambda start, stop: _render(indices[start:stop], out[start:stop]), len(indices), CHUNK)
    return out


def _render(indices: Integers, out: NDArray[np.uint64]) -> None:
    raster = tables()
    sprite, place = np.divmod(indices, 32 * 32)
    pos_x, pos_y = np.divmod(place, 32)
    across, down = sprite * 32 + pos_x, sprite * 32 + pos_y
    width = raster.x.shape[1]
    corner = raster.vertex[down] + (across * width)[:, None]  # (n, TALLEST · CROSSINGS)
    x0 = raster.x.reshape(-1)[corner].astype(np.int32)
    x1 = raster.x.reshape(-1)[corner + 1].astype(np.int32)
    height = raster.height[down]
    # The first pixel whose centre is at or right of the crossing, in integers: ceil((x - 128) / 256).
    numerator = (x0 - UNIT // 2) * height + raster.rise[down] * (x1 - x0)
    first = -(-numerator // (UNIT * height))
    # A pixel is inside iff an odd number of crossings lies at or left of it: rows are sums modulo 2.
    bits = from_bit()[first].reshape(len(indices), TALLEST, CROSSINGS)
    rows = bits[..., 0] ^ bits[..., 1] ^ bits[..., 2] ^ bits[..., 3]
    np.put_along_axis(out, raster.top[down][:, None] + np.arange(TALLEST), rows, axis=1)


@functools.cache
def from_bit() -> NDArray[np.uint64]:
    """Words with all bits from k on set, for k = 0 to 64."""
    shifts = np.arange(PIXELS, dtype=np.uint64)
    return np.append(np.uint64(2**64 - 1) << shifts, np.uint64(0))


@functools.cache
def tables() -> Raster:
    """Vertices and row crossings of all sprites; about 40 MB and a second, once a process."""
    parts = [_shape_tables(outline) for outline in outlines()]
    return Raster(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def outlines() -> tuple[NDArray[np.float64], ...]:
    """The polygons (n, 2) of square, ellipse and heart at scale 1."""
    h = HALF
    t = 2 * np.pi * np.arange(100) / 100
    ellipse = np.stack([1.33 * h * np.cos(t), h / 1.33 * np.sin(t)], axis=1)
    t = 2 * np.pi * np.arange(150) / 150
    y = -(h / 14.5) * (13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)) - 0.15 * h
    heart = np.stack([h * np.sin(t) ** 3, y], axis=1)
    return np.array([[-h, -h], [h, -h], [h, h], [-h, h]]), ellipse, heart


def _shape_tables(outline: NDArray[np.float64]) -> Raster:
    x, y = _placed(outline)
    n = x.shape[1]
    unused = 151  # one width of table for all shapes: the heart's 150 vertices, the first again, then the unused
    vertices = np.full((len(x), unused + 2), UNIT * PIXELS + UNIT // 2, dtype=np.int16)  # right of every pixel
    vertices[:, :n], vertices[:, n] = x, x[:, 0]
    start, end = y, np.roll(y, -1, axis=1)
    above, below = (start - UNIT // 2) // UNIT, (end - UNIT // 2) // UNIT  # last row whose centre is at or above
    count = np.abs(below - above)
    sprite, edge = np.nonzero(count)
    repeats = count[sprite, edge]
    run = np.arange(repeats.sum()) - np.repeat(repeats.cumsum() - repeats, repeats)
    sprite, edge = np.repeat(sprite, repeats), np.repeat(edge, repeats)
    row = np.minimum(above, below)[sprite, edge] + 1 + run
    top = np.minimum(np.minimum(above, below).min(axis=1) + 1, PIXELS - TALLEST)
    order = np.lexsort((row, sprite))
    sprite, edge, row = sprite[order], edge[order], row[order]
    line = sprite * PIXELS + row
    rank = np.arange(len(line)) - np.searchsorted(line, line)
    slot = (row - top[sprite]) * CROSSINGS + rank
    shape = (len(y), TALLEST * CROSSINGS)
    vertex = np.full(shape, unused, dtype=np.int16)
    rise, height = np.zeros(shape, dtype=np.int32), np.ones(shape, dtype=np.int32)
    vertex[sprite, slot] = edge
    rise[sprite, slot] = UNIT * row + UNIT // 2 - start[sprite, edge]
    height[sprite, slot] = (end - start)[sprite, edge]
    return Raster(vertices, vertex, rise, height, top)


def _placed(outline: NDArray[np.float64]) -> tuple[Integers, Integers]:
    """Rounded vertices (scale · orientation · position, n), horizontally and vertically."""
    scale = np.linspace(0.5, 1, 6)[:, None, None, None]
    angle = np.linspace(0, 2 * np.pi, 40)[:, None, None]
    centre = (16 + 32 * np.linspace(0, 1, 32))[:, None]
    u, v = outline.T
    x = centre + scale * (np.cos(angle) * u + np.sin(angle) * v)
    y = centre + scale * (-np.sin(angle) * u + np.cos(angle) * v)
    rounded = [np.floor(UNIT * a + 0.5).astype(np.int64).reshape(-1, len(outline)) for a in (x, y)]
    return rounded[0], rounded[1]
