from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from hatchel.core.errors import HatchelError
from hatchel.core.files import read_json
from hatchel.report.findings import Findings
from hatchel.study.comparison import best, differences, estimate, grouped, labels, load_runs
from hatchel.study.frame import select, values
from hatchel.study.statistics import over_seeds
from tests.study.made import both, rows


def test_runs_that_differ_only_in_their_seed_are_one_group(several: list[Findings]) -> None:
    groups = grouped(several).groups
    assert [(g.label, g.seeds) for g in groups] == [("beta_vae", (0, 1, 2)), ("vae", (0,))]
    assert [f.run.spec.seed for f in groups[0].members] == [0, 1, 2]


def test_a_group_shows_the_mean_over_seeds_and_the_bootstrap_interval_over_runs(several: list[Findings]) -> None:
    comparison = grouped(several)
    beta, vae = (select(comparison.frame, run=group.label) for group in comparison.groups)
    own = estimate(beta, "tc_sample")
    found = [f.scores["tc_sample"].value for f in sorted(several[:3], key=lambda f: f.run.spec.seed)]
    assert own == over_seeds(found)
    assert own.value == pytest.approx(sum(found) / 3)
    assert values(beta, "tc_sample") == found
    one, score = estimate(vae, "tc_sample"), several[3].scores["tc_sample"]
    assert one is not None
    assert score.interval is not None
    assert (one.value, one.low, one.high) == (score.value, score.interval.low, score.interval.high)
    assert estimate(vae, "r2_x") is not None
    assert estimate(vae, "nothing") is None


def test_a_score_that_one_seed_lacks_is_not_averaged_over_the_others(several: list[Findings]) -> None:
    lacking = dataclasses.replace(several[1], scores={})
    assert estimate(grouped([several[0], lacking]).frame, "tc_sample") is None


def made(**groups: list[float]) -> pd.DataFrame:
    """Runs by the first letter of their name, on the data of the second."""
    return both(*(rows({"run": name, "data": name[1]}, mig=each) for name, each in groups.items()))


@pytest.mark.parametrize(
    ("frame", "lower", "marked"),
    [
        (made(aX=[0.5, 0.6, 0.7], bX=[0.2, 0.3, 0.4]), False, ["aX"]),
        (made(aX=[0.5, 0.6, 0.7], bX=[0.2, 0.3, 0.4]), True, ["bX"]),
        (made(aX=[0.31, 0.62, 0.91], bX=[0.3, 0.6, 0.9]), False, ["aX"]),  # seed by seed, although intervals overlap
        (made(aX=[0.5, 0.6, 0.7], bX=[0.2, 0.7, 0.6]), False, []),
        (made(aX=[0.5, 0.6, 0.7], bX=[0.2, 0.3, 0.4], cX=[0.6, 0.5, 0.8]), False, []),
        (made(aX=[0.5, 0.6, 0.7], bY=[0.2, 0.3, 0.4]), False, []),  # other data
        (made(aX=[0.5, 0.6], bX=[0.2, 0.3]), False, []),  # two seeds are too few
        (made(aX=[0.5], bX=[0.2]), False, []),
    ],
)
def test_the_best_is_marked_by_the_rule_of_every_claim(frame: pd.DataFrame, lower: bool, marked: list[str]) -> None:
    assert best(frame, "mig", lower) == marked


def test_labels_say_what_differs(several: list[Findings]) -> None:
    run = several[0].run
    other = dataclasses.replace(
        run.description, spec=run.spec.with_fields(latent=run.spec.latent.with_fields(dim=11), seed=5)
    )
    longer = type(run)(run.folder, other, run.model, run.steps)
    longer._data = run.data
    assert labels([run, longer, several[3].run]) == ["beta_vae latent.dim=10", "beta_vae latent.dim=11", "vae"]


def test_differences_name_the_fields(several: list[Findings]) -> None:
    assert differences(grouped(several).groups) == {"objective.kl.weight.value": ["4.0", "1.0"]}


def test_a_bad_one_among_several_is_named(several: list[Findings], tmp_path: Path) -> None:
    good = several[0].run.folder
    with pytest.raises(HatchelError, match=r"nowhere: is not a run"):
        load_runs([good, tmp_path / "nowhere"])
    half = tmp_path / "half"
    shutil.copytree(good, half, ignore=shutil.ignore_patterns("checkpoints"))
    with pytest.raises(HatchelError, match="half: has no checkpoint yet"):
        load_runs([good, half])
    newer = tmp_path / "newer"
    shutil.copytree(good, newer)
    config = read_json(newer / "config.json")
    (newer / "config.json").write_text(json.dumps(config | {"format": 99, "hatchel": "9.0"}))
    with pytest.raises(HatchelError, match=r"newer/config.json: written by a newer Hatchel \(9.0"):
        load_runs([good, newer])
    (newer / "config.json").write_text('{"format": 1, "sp')
    with pytest.raises(HatchelError, match=r"newer/config\.json: is not JSON"):
        load_runs([good, newer])
    with pytest.raises(HatchelError, match="same configuration and seed as"):
        load_runs([good, good])


def test_data_that_are_gone_are_told_with_the_run(several: list[Findings], tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    shutil.copytree(several[0].run.folder, folder)
    config = read_json(folder / "config.json")
    config["spec"]["data"] = {"kind": "mnist", "path": str(tmp_path / "missing")}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(HatchelError, match=r"gone: its data are no longer at .*missing; name their new place"):
        load_runs([folder])
