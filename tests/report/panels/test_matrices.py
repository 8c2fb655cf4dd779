from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from hatchel.metrics import clustering, disintegration, mig
from hatchel.report.findings import Findings
from hatchel.report.panels.matrices import classes, importance, mutual_information, r2
from hatchel.report.panels.panel import Drawing


def cells(drawing: Drawing | None) -> np.ndarray:
    """The opacities drawn, row by row."""
    assert drawing is not None
    (figure,) = drawing.figures.values()
    assert isinstance(figure, Figure)
    return np.asarray(figure.axes[0].collections[0].get_array())[..., 3]


@pytest.fixture
def order(found: Findings) -> np.ndarray:
    return found.dimensions.order


def test_mutual_information_is_the_matrix_of_mig(found: Findings, order: np.ndarray) -> None:
    matrix = mig(found.encoded.mean, found.probe.values).matrix
    assert matrix is not None
    assert np.allclose(cells(mutual_information(found)), (matrix / np.log(8))[order])  # eight places each way


def test_r2_is_the_matrix_of_disintegration(found: Findings, order: np.ndarray) -> None:
    matrix = disintegration(found.encoded.mean, found.probe.values, by="r2").matrix
    assert matrix is not None
    assert np.allclose(cells(r2(found)), matrix[order])


def test_importance_is_the_matrix_of_dci(found: Findings, order: np.ndarray) -> None:
    score = found.scores["dci"]
    assert score.matrix is not None
    drawing = importance(found)
    assert np.allclose(cells(drawing), score.matrix[order])
    assert drawing is not None
    assert f"completeness {score.parts['completeness']:.3f}" in drawing.caption


def test_a_class_sums_its_importances(mixed: Findings) -> None:
    matrix = mixed.scores["dci"].matrix
    assert matrix is not None
    row = mixed.dimensions.order.tolist().index(0)
    assert np.allclose(cells(importance(mixed))[row], matrix[:3].sum(axis=0))


def test_accuracy_and_shares_are_those_of_the_most_probable_class(mixed: Findings, found: Findings) -> None:
    drawing = classes(mixed)
    assert drawing is not None
    probabilities = mixed.encoded.mean[:, :3]
    clusters = probabilities.argmax(axis=1)
    shares = mixed.dimensions.shares
    assert shares is not None
    k = int(np.nanargmax(shares[0]))
    labels = np.asarray(mixed.probe.values)[:, k]
    assert f"clustering accuracy {clustering(clusters, labels).value:.3f}" in drawing.caption
    assert f"a probability of {probabilities.max(axis=1).mean():.2f}" in drawing.caption
    drawn = drawing.figures["classes"].axes[0].collections[0].get_array()[..., 3]
    expected = [[((clusters == c) & (labels == v)).sum() / (labels == v).sum() for v in range(4)] for c in range(3)]
    assert np.allclose(drawn, expected)
    assert classes(found) is None
