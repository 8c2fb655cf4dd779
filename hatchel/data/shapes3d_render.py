"""Shapes3D's scene, ray-cast: an object at the origin of a room with a floor and three walls, a camera that swings.

The room's half-width is 1 and z points up. Geometry and light depend on scale, shape and orientation only. So the image
of a hue triple is a sum of three *layers*, the light of one surface in one hue: clipped as a screen clips, then reduced
by Lanczos (which is linear) from 192 to 64 px.
"""

from __future__ import annotations

import colorsys
import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PIXELS, FINE = 64, 192  # drawn without anti-aliasing at three times the size, then reduced
FOCAL, PITCH, DISTANCE, EYE = 67.263, 0.0075, 0.6724, 0.2004  # the camera looks up a little
WALL = 0.5688
SKY = (153, 226, 249)
LAMP = np.array([-0.4228, 0.1382, 2.1143])
AXIS = np.array([-0.0037, -0.0029, -1.0]) / np.linalg.norm([-0.0037, -0.0029, -1.0])
AMBIENT_FLOOR, AMBIENT = 0.341, 0.345
HEAD_WALL, HEAD_OBJECT = 0.586, 0.605
LAMP_ROOM, LAMP_OBJECT, FOCUS, GLOSS = 0.959, 0.814, 9.77, 0.112

SHAPES = ("cube", "cylinder", "sphere", "capsule")
STRENGTHS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)  # what a channel of HSV(k/10, 1, 1) can be
HUES = tuple(k / 10 for k in range(10))
STEPS = 64  # layers are integers in 1/64 grey level


class Hits(NamedTuple):
    """Where rays meet a surface first: the distance along the ray (infinite for a miss) and the outward normal."""

    distance: Floats  # (R,)
    normal: Floats  # (R, 3)


def render_layers(scale: float, shape: str, degrees: float) -> NDArray[np.int16]:
    """What floor, walls (with the sky) and object of each hue add to an image: (3, 10, 64, 64, 3), 64 a grey level."""
    angle = np.deg2rad(degrees)
    eye, rays = camera(angle)
    head = np.array([np.sin(angle), -np.cos(angle), 0.0])
    floor, wall, wall_normal = hit_floor_and_walls(eye, rays)
    body = hit_object(shape, scale, eye, rays)
    nearest = np.minimum(floor, wall)
    on_object = body.distance < nearest
    on_floor, on_wall = ~on_object & (floor < wall), ~on_object & (wall < floor)
    intensity = np.zeros(len(rays))
    place = eye + rays[on_floor] * floor[on_floor, None]
    lit = LAMP_ROOM * spot(place, np.array([0.0, 0.0, 1.0]))
    intensity[on_floor] = AMBIENT_FLOOR + np.where(shaded(place, shape, scale), 0.0, lit)
    place, normal = eye + rays[on_wall] * wall[on_wall, None], wall_normal[on_wall]
    intensity[on_wall] = AMBIENT + HEAD_WALL * np.maximum(0, normal @ head) + LAMP_ROOM * spot(place, normal)
    place, normal = eye + rays[on_object] * body.distance[on_object, None], body.normal[on_object]
    cosine = np.einsum("ij,ij->i", normal, towards_lamp(place))
    intensity[on_object] = AMBIENT + HEAD_OBJECT * np.maximum(0, normal @ head) + LAMP_OBJECT * np.maximum(0, cosine)
    gloss = np.zeros(len(rays))
    gloss[on_object] = GLOSS * (cosine > 0)
    out = [np.minimum(1, s * intensity + gloss) * part for part in (on_floor, on_wall, on_object) for s in STRENGTHS]
    sky = np.isinf(nearest) & ~on_object
    out += [sky * (channel / 255) for channel in SKY]
    small = reduced(np.stack(out, axis=-1, dtype=np.float32).reshape(FINE, FINE, -1))
    small[:, 0] = 0
    small[-3:, 0] = 1  # the original's first row is white in every image
    grey = np.rint(small * (255 * STEPS)).astype(np.int16)
    coloured = grey[:-3].reshape(3, len(STRENGTHS), PIXELS, PIXELS)[:, strengths()]  # (surface, hue, channel, H, W)
    coloured[1] += grey[-3:]
    return coloured.transpose(0, 1, 3, 4, 2)


def camera(angle: float) -> tuple[Floats, Floats]:
    """The eye (3,) and a ray through the centre of each fine pixel (FINE², 3), row by row from the top left."""
    eye = np.array([DISTANCE * np.sin(angle), -DISTANCE * np.cos(angle), EYE])
    level, right = np.array([-np.sin(angle), np.cos(angle), 0]), np.array([np.cos(angle), np.sin(angle), 0])
    up = np.array([0, 0, 1])
    ahead = np.cos(PITCH) * level + np.sin(PITCH) * up
    above = np.cos(PITCH) * up - np.sin(PITCH) * level
    steps = (np.arange(FINE) + 0.5 - FINE / 2) / (FOCAL * FINE / PIXELS)
    rays = ahead + steps[:, None] * right - steps[:, None, None] * above
    return eye, rays.reshape(-1, 3)


def hit_floor_and_walls(eye: Floats, rays: Floats) -> tuple[Floats, Floats, Floats]:
    """Distances to the floor and to the nearest wall, and that wall's normal; infinite where a ray meets none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        floor = np.where(rays[:, 2] < 0, -eye[2] / rays[:, 2], np.inf)
        side = (np.sign(rays[:, 0]) - eye[0]) / rays[:, 0]
        back = np.where(rays[:, 1] > 0, (1 - eye[1]) / rays[:, 1], np.inf)
    normal = np.zeros_like(rays)
    normal[:, 0] = np.where(side < back, -np.sign(rays[:, 0]), 0)
    normal[:, 1] = np.where(side < back, 0, -1)
    wall = np.minimum(side, back)
    return floor, np.where(eye[2] + wall * rays[:, 2] <= WALL, wall, np.inf), normal


def hit_object(shape: str, scale: float, eye: Floats, rays: Floats) -> Hits:
    """The object, standing on the floor at the origin."""
    if shape == "cube":
        half = 0.0957 * scale
        return box(half, 2 * half, eye, rays)
    if shape == "cylinder":
        return nearest(*tube(0.1024 * scale, 0, 0.2048 * scale, True, eye, rays))
    if shape == "sphere":
        radius = 0.1160 * scale
        return ball(radius, radius, eye, rays)
    radius, straight = 0.0886 * scale, 0.1788 * scale
    ends = [ball(radius, z, eye, rays) for z in (radius, radius + straight)]
    return nearest(*tube(radius, radius, radius + straight, False, eye, rays), *ends)


def ball(radius: float, z: float, eye: Floats, rays: Floats) -> Hits:
    """A sphere around (0, 0, z)."""
    to_eye = eye - np.array([0, 0, z])
    distance = _first_root((rays**2).sum(axis=1), (rays * to_eye).sum(axis=1), (to_eye**2).sum(axis=-1) - radius**2)
    return Hits(distance, (to_eye + _finite(distance)[:, None] * rays) / radius)


def tube(radius: float, low: float, high: float, lid: bool, eye: Floats, rays: Floats) -> tuple[Hits, ...]:
    """An upright cylinder's side, and its lid."""
    eye = np.broadcast_to(eye, rays.shape)
    flat = (rays[:, :2] ** 2).sum(axis=1)
    inner = (rays[:, :2] * eye[:, :2]).sum(axis=1)
    distance = _first_root(flat, inner, (eye[:, :2] ** 2).sum(axis=1) - radius**2)
    place = eye + _finite(distance)[:, None] * rays
    normal = place * (1 / radius, 1 / radius, 0)
    side = Hits(np.where((place[:, 2] >= low) & (place[:, 2] <= high), distance, np.inf), normal)
    if not lid:
        return (side,)
    above = np.divide(high - eye[:, 2], rays[:, 2], out=np.full(len(rays), np.inf), where=rays[:, 2] != 0)
    place = eye + _finite(above)[:, None] * rays
    hit = (above > 0) & ((place[:, :2] ** 2).sum(axis=1) <= radius**2)
    return side, Hits(np.where(hit, above, np.inf), np.broadcast_to(np.array([0.0, 0, 1]), rays.shape))


def box(half: float, height: float, eye: Floats, rays: Floats) -> Hits:
    """An upright box by its three pairs of planes: inside between the last entry and the first exit."""
    with np.errstate(divide="ignore"):
        a, b = (np.array([-half, -half, 0]) - eye) / rays, (np.array([half, half, height]) - eye) / rays
    entry, leave = np.minimum(a, b), np.maximum(a, b)
    axis = entry.argmax(axis=1)
    first = entry.max(axis=1)
    normal = np.zeros_like(rays)
    normal[np.arange(len(rays)), axis] = -np.sign(rays[np.arange(len(rays)), axis])
    return Hits(np.where((first <= leave.min(axis=1)) & (first > 0), first, np.inf), normal)


def nearest(*surfaces: Hits) -> Hits:
    """The first surface that each ray meets."""
    distances = np.stack([s.distance for s in surfaces])
    which = distances.argmin(axis=0)
    rows = np.arange(distances.shape[1])
    return Hits(distances[which, rows], np.stack([s.normal for s in surfaces])[which, rows])


def towards_lamp(place: Floats) -> Floats:
    """Unit vectors from each place to the lamp."""
    way = LAMP - place
    return way / np.linalg.norm(way, axis=-1, keepdims=True)


def spot(place: Floats, normal: Floats) -> Floats:
    """The lamp's light on a surface: max(0, n·l) cos^9.77 of the angle to the lamp's axis."""
    way = towards_lamp(place)
    return np.maximum(0, (way * normal).sum(axis=1)) * np.maximum(0, -(way @ AXIS)) ** FOCUS


def shaded(place: Floats, shape: str, scale: float) -> NDArray[np.bool_]:
    """Floor places from which the object hides the lamp."""
    return np.isfinite(hit_object(shape, scale, place, LAMP - place).distance)


@functools.cache
def strengths() -> NDArray[np.int64]:
    """Which of the six strengths each channel of HSV(k/10, 1, 1) has: (10, 3)."""
    return np.rint(5 * np.array([colorsys.hsv_to_rgb(hue, 1, 1) for hue in HUES])).astype(np.int64)


def reduced(images: NDArray[np.float32]) -> NDArray[np.float32]:
    """Lanczos along both sides: (192, 192, L) -> (L, 64, 64)."""
    count = images.shape[2]
    rows = (lanczos() @ images.reshape(FINE, -1)).reshape(PIXELS, FINE, count)
    return (lanczos() @ rows.transpose(1, 2, 0).reshape(FINE, -1)).reshape(PIXELS, count, PIXELS).transpose(1, 2, 0)


@functools.cache
def lanczos() -> Any:
    """The matrix (64, 192) that reduces a line: sinc(x) sinc(x/3) for |x| < 3, rows that sum to 1; sparse."""
    from scipy import sparse

    step = FINE // PIXELS
    x = (np.arange(FINE) + 0.5 - (np.arange(PIXELS)[:, None] + 0.5) * step) / step
    kernel = np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)
    return sparse.csr_array((kernel / kernel.sum(axis=1, keepdims=True)).astype(np.float32))


def _first_root(a: Floats, b: Floats, c: Floats | float) -> Floats:
    """The smaller t with a t² + 2 b t + c = 0, where it is positive; infinite elsewhere."""
    inside = b**2 - a * c
    root = (-b - np.sqrt(np.maximum(inside, 0))) / a
    return np.where((inside >= 0) & (root > 0), root, np.inf)


def _finite(distance: Floats) -> Floats:
    return np.where(np.isfinite(distance), distance, 0)
