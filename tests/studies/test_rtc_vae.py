from __future__ import annotations

import numpy as np

from hatchel.core.spec import updated
from hatchel.methods.resolve import resolve
from hatchel.studies.rtc_vae import Paired
from hatchel.study.task import Workspace
from hatchel.study.trained import Trained


def test_the_codes_are_the_runs_own(tmp_path):
    run = updated(resolve("vae", "xy_squares"), {"steps": 5, "batch_size": 16, "latent.dim": 6})
    place = Workspace(tmp_path / "cell", tmp_path / "runs")
    record = Paired(0, run, items=50, coordinates=3).compute(place)
    trained = Trained(seed=0, run=run).trained(place)
    means = trained.encode(trained.data.images(np.arange(len(trained.data))))
    rows = record.details["coordinates"]
    assert len(rows) == len(set(rows)) == 3
    everything = {tuple(row) for row in means[:, rows].astype(float).round(3).tolist()}
    assert {tuple(row) for row in record.details["means"]} <= everything
    spread = np.var(record.details["means"], axis=0)
    assert np.all(np.diff(spread) <= 0)
    assert record.details["factor"] in trained.data.space.names
    factor = trained.data.space.names.index(record.details["factor"])
    assert set(record.details["values"]) <= set(range(trained.data.space.sizes[factor]))
    columns = np.array(record.details["means"])
    best = max(np.corrcoef(column, record.details["values"])[0, 1] ** 2 for column in columns.T)
    assert abs(record.values["r2"] - best) < 0.02  # the details are rounded
