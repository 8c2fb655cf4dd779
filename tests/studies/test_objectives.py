from __future__ import annotations

from pathlib import Path

import pytest

from hatchel.data.xy_squares import XYSquares
from hatchel.presets.preset import preset
from hatchel.studies.objectives import ROWS, Verified
from hatchel.study.cell import Place

NOWHERE = Place(Path("nowhere"), Path("nowhere"))


def verified(name: str) -> dict[str, float]:
    method, symbols, own = ROWS[name]
    cell = Verified(0, preset(method, data=XYSquares(size=16), **symbols), own, steps=25, draws=4)
    return dict(cell.compute(NOWHERE).values)


@pytest.mark.parametrize("name", ["beta-TCVAE", "HFVAE, one group", "Information Dropout"])
def test_equal_draw_by_draw_where_both_are_sampled(name):
    found = verified(name)
    assert abs(found["difference"]) < 1e-3
    assert found["own"] == pytest.approx(found["basis"], rel=1e-5)
