from __future__ import annotations

import numpy as np
import torch

from hatchel.evaluation.evaluation import encodings
from hatchel.metrics import elbo_terms, mig, pairwise_nmi, reconstruction
from hatchel.report.findings import Findings
from hatchel.report.panels.hierarchy import layers, levels, measured_layers, measured_levels


def test_every_level_is_measured_as_the_metrics_do(hierarchy: Findings) -> None:
    levels = measured_levels(hierarchy)
    images = hierarchy.run.data.images(hierarchy.encoded.items)
    assert len(levels) == 3
    for number, (level, codes) in enumerate(zip(levels, hierarchy.encoded.levels, strict=True)):
        assert level.mig is not None
        assert level.mig.value == mig(codes.mean, hierarchy.probe.values).value
        assert level.mig.interval is not None
        assert level.reconstruction is not None
        back = hierarchy.run.decode(codes.sample, number)
        assert np.isclose(level.reconstruction.value, reconstruction(images / np.float32(255), back).value)
        terms = elbo_terms(codes.mean, codes.std)
        assert np.isclose(level.information, terms.parts["mutual_information"])
        per_dimension = np.array(list(terms.parts["mutual_information_per_dimension"].values()))
        assert np.allclose(level.per_dimension, per_dimension[hierarchy.dimensions.order])


def test_bars_are_the_levels_numbers(hierarchy: Findings) -> None:
    drawing = levels(hierarchy)
    assert drawing is not None
    charts = {a.get_title(loc="left"): a for a in drawing.figures["levels"].axes}
    heights = [bar.get_height() for bar in charts["MIG"].patches]
    assert heights == [mig(c.mean, hierarchy.probe.values).value for c in hierarchy.encoded.levels]
    assert set(charts) == {"MIG", "reconstruction error", "I(x; z)", ""}


def test_one_level_is_no_hierarchy(found: Findings) -> None:
    assert levels(found) is None


def test_features_and_code_are_measured_as_the_metrics_do(recursive: Findings) -> None:
    layers = measured_layers(recursive)
    assert list(layers) == ["m2", "z"]
    again = encodings(recursive.run, layers=True)
    with torch.inference_mode():
        maps = recursive.run.model.encode(recursive.run.data.reader("cpu")(torch.from_numpy(again.items)))[1].features[
            "m2"
        ]
    # Four encoders of 16 channels, of which each is one number.
    np.testing.assert_allclose(again.layers["m2"], maps.mean((3, 4)).flatten(1), rtol=1e-4, atol=1e-6)
    assert again.layers["m2"].shape[1] == 4 * 16
    for name, codes in (("m2", again.layers["m2"]), ("z", again.mean)):
        expected = pairwise_nmi(codes)
        assert np.isclose(layers[name].dependence.value, expected.value)
        assert np.allclose(layers[name].dependence.matrix, expected.matrix)
        own = layers[name].mig
        assert own is not None
        assert np.isclose(own.value, mig(codes, recursive.probe.values).value)


def test_the_figure_shows_values_and_all_pairs(recursive: Findings) -> None:
    drawing = layers(recursive)
    assert drawing is not None
    axes = drawing.figures["layers"].axes
    measured = measured_layers(recursive)
    assert [b.get_height() for b in axes[1].patches] == [layer.dependence.value for layer in measured.values()]
    shown = [a.images[0].get_array()[..., 3] for a in axes if a.images]
    for matrix, layer in zip(shown, measured.values(), strict=True):
        assert layer.dependence.matrix is not None
        assert np.allclose(matrix, layer.dependence.matrix.clip(0, 1))


def test_a_plain_encoder_has_no_such_panel(found: Findings) -> None:
    assert layers(found) is None
