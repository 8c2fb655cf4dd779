from __future__ import annotations

import numpy as np

from hatchel.evaluation.evaluation import encodings
from hatchel.metrics import mig, pairwise_nmi
from hatchel.report.findings import Findings
from hatchel.report.panels.layers import Layers, measured_layers


def test_features_and_code_are_measured_as_the_metrics_do(recursive: Findings) -> None:
    layers = measured_layers(recursive)
    assert list(layers) == ["m2", "z"]
    again = encodings(recursive.run, layers=True)
    for name, codes in (("m2", again.layers["m2"]), ("z", again.mean)):
        expected = pairwise_nmi(codes)
        assert np.isclose(layers[name].dependence.value, expected.value)
        assert np.allclose(layers[name].dependence.matrix, expected.matrix)
        own = layers[name].mig
        assert own is not None
        assert np.isclose(own.value, mig(codes, recursive.probe.values).value)


def test_the_figure_shows_values_and_all_pairs(recursive: Findings) -> None:
    drawing = Layers().draw(recursive)
    assert drawing is not None
    axes = drawing.figures["layers"].axes
    layers = measured_layers(recursive)
    assert [b.get_height() for b in axes[1].patches] == [layer.dependence.value for layer in layers.values()]
    shown = [a.images[0].get_array()[..., 3] for a in axes if a.images]
    for matrix, layer in zip(shown, layers.values(), strict=True):
        assert layer.dependence.matrix is not None
        assert np.allclose(matrix, layer.dependence.matrix.clip(0, 1))


def test_a_plain_encoder_has_no_such_panel(found: Findings) -> None:
    assert Layers().draw(found) is None
