"""The ray-caster: intersections in closed form, Lanczos against Pillow, light."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from hatchel.data import shapes3d_render as render

EYE = np.array([0.0, -1.0, 0.1])


@pytest.mark.parametrize(
    ("hits", "distance", "normal"),
    [
        (lambda e, r: render.ball(0.25, 0.1, e, r), 0.75, (0, -1, 0)),
        (lambda e, r: render.nearest(*render.tube(0.25, 0, 0.2, True, e, r)), 0.75, (0, -1, 0)),
        (lambda e, r: render.box(0.3, 0.2, e, r), 0.7, (0, -1, 0)),
    ],
)
def test_a_ray_straight_ahead_meets_the_near_side(hits, distance: float, normal: tuple[float, ...]) -> None:
    straight = hits(EYE, np.array([[0.0, 1.0, 0.0]]))
    assert straight.distance[0] == pytest.approx(distance)
    np.testing.assert_allclose(straight.normal[0], normal, atol=1e-12)
    assert np.isinf(hits(EYE, np.array([[0.0, -1.0, 0.0], [0.0, 1.0, 5.0]])).distance).all()


@pytest.mark.parametrize("shape", render.SHAPES)
def test_hits_lie_on_the_surface_and_normals_stand_on_it(shape: str) -> None:
    """Random rays; the normal is compared with the gradient of the signed distance, by differences."""

    def signed(p: np.ndarray) -> np.ndarray:
        flat = np.linalg.norm(p[:, :2], axis=1)
        if shape == "cube":
            q = np.abs(p - [0, 0, 0.0957]) - 0.0957
            return np.linalg.norm(np.maximum(q, 0), axis=1) + np.minimum(q.max(axis=1), 0)
        if shape == "cylinder":
            q = np.stack([flat - 0.1024, np.abs(p[:, 2] - 0.1024) - 0.1024], axis=1)
            return np.linalg.norm(np.maximum(q, 0), axis=1) + np.minimum(q.max(axis=1), 0)
        if shape == "sphere":
            return np.linalg.norm(p - [0, 0, 0.116], axis=1) - 0.116
        z = np.clip(p[:, 2], 0.0886, 0.0886 + 0.1788)
        return np.hypot(flat, p[:, 2] - z) - 0.0886

    rng = np.random.default_rng(0)
    eye = np.array([0.3, -0.6, 0.35])
    rays = np.array([0, 0, 0.1]) - eye + 0.1 * rng.normal(size=(4000, 3))
    hits = render.hit_object(shape, 1.0, eye, rays)
    met = np.isfinite(hits.distance)
    place = eye + rays[met] * hits.distance[met, None]
    assert met.sum() > 500
    np.testing.assert_allclose(signed(place), 0, atol=1e-12)
    before = eye + rays[met] * hits.distance[met, None] * rng.random((met.sum(), 1))
    assert (signed(before) > -1e-12).all()  # nothing nearer
    gradient = np.stack([(signed(place + d) - signed(place - d)) / 2e-7 for d in 1e-7 * np.eye(3)], axis=1)
    smooth = np.abs(np.linalg.norm(gradient, axis=1) - 1) < 1e-3  # not within 1e-7 of an edge
    assert smooth.mean() > 0.99
    np.testing.assert_allclose(hits.normal[met][smooth], gradient[smooth], atol=1e-3)


def test_the_reduction_is_pillows_lanczos() -> None:
    image = np.random.default_rng(0).random((192, 192)).astype(np.float32)
    ours = render.reduced(image[..., None])[0]
    theirs = np.asarray(Image.fromarray(image).resize((64, 64), Image.Resampling.LANCZOS))
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_hues_are_their_six_strengths() -> None:
    rgb = np.array(render.STRENGTHS)[render.strengths()]
    np.testing.assert_allclose(rgb[0], [1, 0, 0])
    np.testing.assert_allclose(rgb[1], [1, 0.6, 0])
    np.testing.assert_allclose(rgb[7], [0.2, 0, 1], atol=1e-9)
    assert (rgb.max(axis=1) == 1).all()
    assert (rgb.min(axis=1) == 0).all()


def test_layers_add_up_to_sky_wall_and_floor_of_known_light() -> None:
    layers = render.render_layers(1.0, "sphere", 0.0) / render.STEPS
    image = layers[0, 3] + layers[1, 0] + layers[2, 6]
    np.testing.assert_allclose(image[0], 255)  # the original's white line
    np.testing.assert_allclose(image[5, 20:40], [render.SKY] * 20, atol=0.02)
    # The back wall faces the camera: ambient and headlight by the formula, the lamp in closed form at its column.
    place = np.array([[0.0, 1.0, 0.35]])
    way = render.LAMP - place[0]
    way = way / np.linalg.norm(way)
    light = 0.345 + 0.586 + 0.959 * max(0, -way[1]) * (-way @ render.AXIS) ** 9.77
    row = 32 - 67.263 * np.tan(np.arctan((0.35 - 0.2004) / 1.6724) - 0.0075)
    assert image[round(row - 0.5), 32, 0] == pytest.approx(255 * min(1, light), abs=2)


def test_the_floor_is_dark_where_the_object_hides_the_lamp() -> None:
    """The shadow's axis: from the lamp over the top of the sphere to the floor."""
    top = np.array([0, 0, 0.116])
    step = (render.LAMP[2]) / (render.LAMP[2] - top[2])
    centre = render.LAMP + step * (top - render.LAMP)
    places = np.stack([centre, centre + np.array([0.5, 0, 0]), -centre * 4])
    assert render.shaded(places, "sphere", 1.0).tolist() == [True, False, False]
