from __future__ import annotations

import numpy as np

from hatchel.metrics import clustering
from hatchel.report.findings import Findings
from hatchel.report.panels.classes import Classes


def test_accuracy_and_shares_are_those_of_the_most_probable_class(mixed: Findings, found: Findings) -> None:
    drawing = Classes().draw(mixed)
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
    assert Classes().draw(found) is None
