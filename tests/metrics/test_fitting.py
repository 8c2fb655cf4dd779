import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from hatchel.metrics.fitting import fit

rng = np.random.default_rng(0)


@pytest.mark.parametrize(("limit", "notes"), [(1, 1), (500, 0)])
def test_a_solver_that_stops_early_is_a_note_and_no_warning(limit, notes):
    x = rng.normal(size=(200, 3))
    model = LogisticRegression(max_iter=limit)
    found = fit(model, x, (x @ [1, 2, 3] > 0).astype(int))
    assert len(found) == notes
    assert model.score(x, x @ [1, 2, 3] > 0) > 0.9
    assert all("LogisticRegression stopped after 1 iterations" in note for note in found)
