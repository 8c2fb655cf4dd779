"""The matrices of mutual information, R² and importance."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from hatchel.metrics import disintegration, mig
from hatchel.report.findings import Findings
from hatchel.report.panels.importance import Importance
from hatchel.report.panels.mutual_information import MutualInformation
from hatchel.report.panels.panel import Drawing
from hatchel.report.panels.r2 import R2


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
    assert np.allclose(cells(MutualInformation().draw(found)), (matrix / np.log(8))[order])  # eight places each way


def test_r2_is_the_matrix_of_disintegration(found: Findings, order: np.ndarray) -> None:
    matrix = disintegration(found.encoded.mean, found.probe.values, by="r2").matrix
    assert matrix is not None
    assert np.allclose(cells(R2().draw(found)), matrix[order])


def test_importance_is_the_matrix_of_dci(found: Findings, order: np.ndarray) -> None:
    score = found.scores["dci"]
    assert score.matrix is not None
    drawing = Importance().draw(found)
    assert np.allclose(cells(drawing), score.matrix[order])
    assert drawing is not None
    assert f"completeness {score.parts['completeness']:.3f}" in drawing.caption


def test_a_class_sums_its_importances(mixed: Findings) -> None:
    matrix = mixed.scores["dci"].matrix
    assert matrix is not None
    row = mixed.dimensions.order.tolist().index(0)
    assert np.allclose(cells(Importance().draw(mixed))[row], matrix[:3].sum(axis=0))
