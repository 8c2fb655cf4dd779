from __future__ import annotations

import pytest

from hatchel.core.errors import HatchelError
from hatchel.explorer.collection import units
from hatchel.explorer.gallery import Gallery
from hatchel.training.run import TrainedRun


def test_units_of_a_table(table: TrainedRun) -> None:
    centre, scale = units(table)
    assert centre.tolist() == [170, 0, 0, 0, 0]
    assert scale.tolist() == [10, 1, 1, 1, 1]


def test_runs_that_cannot_be_compared(plain: TrainedRun, table: TrainedRun) -> None:
    with pytest.raises(HatchelError, match="only runs on images, or on rows of the same length"):
        Gallery([plain, table])
