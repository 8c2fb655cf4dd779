from __future__ import annotations

from typing import Any

import numpy as np

from hatchel.data.xy_squares import XYSquares
from hatchel.study.budget import SMOKE, Budget
from hatchel.study.comparison import Comparison, Variant
from hatchel.study.contrast import joined
from hatchel.study.study import Scale
from hatchel.study.table import Column
from tests.study.made import rows

SMALL = XYSquares(size=16)


class TwoMethods(Comparison, kind="two-methods-for-a-test"):
    """Two methods."""

    budgets = dict.fromkeys(("smoke", "laptop", "paper"), Budget(steps=7, seeds=2, items=50, lr=0.5))
    columns = (Column("mig", "MIG", {("a", 2): 0.4}), Column("never", "never measured"))
    trade = ("rec", "mig")

    def variants(self, scale: Scale) -> list[Variant]:
        """One with symbols and fields, one with neither."""
        return [
            Variant({"method": "a", "beta": 2}, "beta_vae", {"beta": 2}, {"batch_size": 5}, {"layers": True}, SMALL),
            Variant({"method": "b", "beta": 1}, "vae"),
        ]


ROWS = [
    *rows({"method": "a", "beta": 2}, mig=[0.1, 0.3], rec=[5.0, 6.0]),
    *rows({"method": "b", "beta": 0.5}, mig=[0.2], rec=[7.0]),
]


def test_entries_are_variants_times_seeds():
    entries = TwoMethods().entries("smoke")
    assert [(dict(e.labels)["method"], e.cell.seed) for e in entries] == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    cell: Any = entries[1].cell
    assert (cell.run.steps, cell.run.batch_size, cell.run.optimizer.lr) == (7, 5, 0.5)
    assert cell.run.data == SMALL
    assert (cell.items, cell.layers, cell.run.seed) == (50, True, 0)
    assert "2" in str(cell.run.objective["kl"].weight)
    plain: Any = entries[2].cell
    assert plain.run.data == XYSquares(size=32)
    assert plain.layers is False
    assert len(TwoMethods().entries("smoke", 5)) == 10


def test_cells_of_two_seeds_differ_in_the_seed_alone():
    first, second = SMOKE.cells("vae", SMALL, 2)
    assert first.run == second.run
    assert first.digest() != second.digest()


def test_tables_and_figures():
    table = TwoMethods().tables(ROWS)[0]
    assert table.by == ("method", "beta")
    assert table.lines[0].paper == (0.4, None)
    drawn = TwoMethods().figures(ROWS)
    assert list(drawn) == ["MIG", "rec against MIG"]  # no figure of what was not measured
    axes = drawn["MIG"].axes[0]
    assert [t.get_text() for t in axes.get_yticklabels()] == ["a · 2  (n=2)", "b · 0.5  (n=1)"]
    diamonds = [line.get_xdata() for line in axes.lines if line.get_marker() == "D" and len(line.get_xdata())]
    assert np.allclose(diamonds, [[0.4]])  # the paper's figure finds its line by all its labels
    assert joined(ROWS[2]) == "b · 0.5"
