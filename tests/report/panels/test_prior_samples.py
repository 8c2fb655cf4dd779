from __future__ import annotations

import numpy as np

from hatchel.report.findings import Findings
from hatchel.report.panels.prior_samples import PriorSamples, sample_rows
from hatchel.report.pictures import to_bytes
from hatchel.report.traversal import typical


def test_images_are_decoded_draws(found: Findings) -> None:
    rows = sample_rows(found, count=3)
    codes = found.run.sample(6)[0]
    images = to_bytes(found.run.decode(codes))
    assert np.array_equal(np.concatenate(list(rows.values())), images)


def test_the_same_draws_at_every_level(hierarchy: Findings) -> None:
    rows = sample_rows(hierarchy, count=3)
    codes = hierarchy.run.sample(3)[0]
    assert list(rows) == ["level 0", "level 1", "level 2"]
    for level, images in enumerate(rows.values()):
        assert np.array_equal(images, to_bytes(hierarchy.run.decode(codes, level)))


def test_each_group_is_drawn_alone(mixed: Findings) -> None:
    rows = sample_rows(mixed, count=3)
    assert list(rows)[2:] == ["class alone", "style alone"]
    code = np.tile(typical(mixed.probe.codes, mixed.dimensions), (3, 1))
    code[:, 3:] = mixed.run.sample(6)[0][:3, 3:]
    assert np.abs(rows["style alone"].astype(int) - to_bytes(mixed.run.decode(code))).max() <= 1
    drawing = PriorSamples().draw(mixed)
    assert drawing is not None
    assert "as the run has learned it" in drawing.caption
