from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

from hatchel.core.errors import HatchelError
from hatchel.core.estimate import Estimate
from hatchel.metrics.statistics import over_seeds
from hatchel.report.comparison import Entry, best, differences, entry, grouped, labels, load_runs
from hatchel.report.findings import Findings


def test_runs_that_differ_only_in_their_seed_are_one_group(several: list[Findings]) -> None:
    groups = grouped(several).groups
    assert [(g.label, g.seeds) for g in groups] == [("beta_vae", (0, 1, 2)), ("vae", (0,))]
    assert [f.run.spec.seed for f in groups[0].members] == [0, 1, 2]


def test_a_group_shows_the_mean_over_seeds_and_the_bootstrap_interval_over_runs(several: list[Findings]) -> None:
    beta, vae = grouped(several).groups
    own = entry(beta, "tc_sample")
    values = [f.scores["tc_sample"].value for f in sorted(several[:3], key=lambda f: f.run.spec.seed)]
    expected = over_seeds(values)
    assert own == Entry(expected.value, expected.interval, tuple(values))
    assert own.value == pytest.approx(sum(values) / 3)
    assert entry(vae, "tc_sample") == Entry(
        several[3].scores["tc_sample"].value,
        several[3].scores["tc_sample"].interval,
        (several[3].scores["tc_sample"].value,),
    )
    assert entry(vae, "r2_x") is not None
    assert entry(vae, "nothing") is None


def test_a_score_that_one_seed_lacks_is_not_averaged_over_the_others(several: list[Findings]) -> None:
    lacking = dataclasses.replace(several[1], scores={})
    (group,) = grouped([several[0], lacking]).groups
    assert entry(group, "tc_sample") is None


def make(value: float, half: float, each: int = 1) -> Entry:
    return Entry(value, Estimate(value, value - half, value + half), (value,) * each)


@pytest.mark.parametrize(
    ("entries", "data", "lower", "marks"),
    [
        ([make(0.5, 0.1), make(0.2, 0.1)], "aa", False, [True, False]),
        ([make(0.5, 0.1), make(0.2, 0.1)], "aa", True, [False, True]),
        ([make(0.5, 0.1), make(0.35, 0.1)], "aa", False, [False, False]),  # overlap
        ([make(0.5, 0.1), make(0.2, 0.1), make(0.45, 0.1)], "aaa", False, [False, False, False]),
        ([make(0.5, 0.1), make(0.2, 0.1)], "ab", False, [False, False]),  # other data
        ([make(0.5, 0.1), None], "aa", False, [False, False]),  # nothing to beat
        ([make(0.5, 0.1), Entry(0.1, None, (0.1,))], "aa", False, [False, False]),
        ([make(0.5, 0.1, each=2), make(0.2, 0.1)], "aa", False, [False, False]),  # two seeds are too few
        ([make(0.5, 0.1, each=3), make(0.2, 0.1, each=3)], "aa", False, [True, False]),
    ],
)
def test_the_best_is_marked_only_where_intervals_do_not_overlap(
    entries: list[Entry | None], data: str, lower: bool, marks: list[bool]
) -> None:
    assert best(entries, list(data), lower) == marks


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
    config = json.loads((newer / "config.json").read_text())
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
    config = json.loads((folder / "config.json").read_text())
    config["spec"]["data"] = {"kind": "mnist", "path": str(tmp_path / "missing")}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(HatchelError, match="gone: mnist"):
        load_runs([folder])
