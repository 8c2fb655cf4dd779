from __future__ import annotations

import numpy as np

from hatchel.report.findings import Findings
from hatchel.report.panels.pairs import best_known, pair_plots, top_two


def test_means_below_and_samples_above_the_diagonal(found: Findings) -> None:
    drawing = pair_plots(found)
    assert drawing is not None
    order = found.dimensions.order.tolist()
    axes = drawing.figures["pairs"].axes
    below, above = axes[1 * 4 + 0], axes[0 * 4 + 1]  # second row, first column; first row, second column
    assert np.allclose(below.collections[0].get_offsets(), found.encoded.mean[:, order[:2]])
    assert np.allclose(above.collections[0].get_offsets(), found.encoded.sample[:, [order[1], order[0]]])
    factor = best_known(found.dimensions, order)
    assert factor is not None
    assert np.array_equal(below.collections[0].get_array(), found.probe.classes[:, factor])
    assert f"TC_mean {found.scores['tc_mean'].value:.3f}" in drawing.caption
    assert f"TC_sample {found.scores['tc_sample'].value:.3f}" in drawing.caption


def test_each_factor_has_the_two_that_know_most_of_it(found: Findings) -> None:
    drawing = pair_plots(found)
    assert drawing is not None
    shares = found.dimensions.shares
    assert shares is not None
    for k, axes in zip(range(2), drawing.figures["pairs_by_factor"].axes, strict=False):
        first, second = top_two(found.dimensions, k)
        assert [first, second] == np.argsort(-shares[:, k], kind="stable")[:2].tolist()
        assert axes.get_xlabel() == f"z{first} · {shares[first, k]:.2f}"
        correlation = np.corrcoef(found.encoded.mean[:, first], found.encoded.mean[:, second])[0, 1]
        assert axes.get_title(loc="left") == f"{'xy'[k]} · corr {correlation:.2f}"
        assert np.array_equal(axes.collections[0].get_array(), found.probe.classes[:, k])
