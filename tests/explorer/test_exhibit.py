from __future__ import annotations

import numpy as np
import pytest

from hatchel.explorer.gallery import Gallery
from hatchel.explorer.refusal import Refusal
from hatchel.training.run import TrainedRun


def test_every_level_has_its_own_ranges_and_decoder(pair: Gallery, hierarchy: TrainedRun) -> None:
    first, *_, last = pair.exhibits[1].spaces
    low = {site.name: site.low for site in first.sites}
    assert all(not np.isclose(site.low, low[site.name]) for site in last.sites)
    code = [0.5, -0.5, 1.0]
    decoded = [pair.decode(1, level, [code]) for level in (0, 1)]
    assert np.abs(decoded[0].astype(int) - decoded[1]).max() > 1
    assert np.allclose(decoded[1] / 255, hierarchy.decode([code], 1), atol=0.51 / 255)


def test_class_probabilities_are_bounded(pair: Gallery) -> None:
    columns = next(s.columns for s in pair.exhibits[0].spaces[0].sites if not s.real)
    code = [0.0] * 5
    code[columns[0]] = 1.5
    with pytest.raises(Refusal, match=r"class = 1.5 is out of range \(0 to 1\)"):
        pair.decode(0, 0, [code])
    code[columns[0]] = 1.0
    assert pair.decode(0, 0, [code]).shape == (1, 16, 16, 1)
