from __future__ import annotations

import numpy as np

from hatchel.metrics import elbo_terms, mig, reconstruction
from hatchel.report.findings import Findings
from hatchel.report.panels.levels import Levels, measured_levels


def test_every_level_is_measured_as_the_metrics_do(hierarchy: Findings) -> None:
    levels = measured_levels(hierarchy)
    images = hierarchy.run.data.images(hierarchy.encoded.items)
    assert len(levels) == 3
    for number, (level, codes) in enumerate(zip(levels, hierarchy.encoded.levels, strict=True)):
        assert level.mig is not None
        assert level.mig.value == mig(codes.mean, hierarchy.probe.values).value
        assert level.mig.interval is not None
        assert level.reconstruction is not None
        back = hierarchy.run.reconstruct(images, number)
        assert np.isclose(level.reconstruction.value, reconstruction(images / np.float32(255), back).value)
        terms = elbo_terms(codes.mean, codes.std)
        assert np.isclose(level.information, terms.parts["mutual_information"])
        per_dimension = np.array(list(terms.parts["mutual_information_per_dimension"].values()))
        assert np.allclose(level.per_dimension, per_dimension[hierarchy.dimensions.order])


def test_bars_are_the_levels_numbers(hierarchy: Findings) -> None:
    drawing = Levels().draw(hierarchy)
    assert drawing is not None
    charts = {a.get_title(loc="left"): a for a in drawing.figures["levels"].axes}
    heights = [bar.get_height() for bar in charts["MIG"].patches]
    assert heights == [mig(c.mean, hierarchy.probe.values).value for c in hierarchy.encoded.levels]
    assert set(charts) == {"MIG", "reconstruction error", "I(x; z)", ""}


def test_one_level_is_no_hierarchy(found: Findings) -> None:
    assert Levels().draw(found) is None
