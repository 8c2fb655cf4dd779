"""`hatchel study` as a user meets it: what is printed, exit codes, one-line errors."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from hatchel.cli.main import app
from hatchel.core.errors import HatchelError
from hatchel.study import study as study_module
from hatchel.study.claims import Claim, higher, near
from hatchel.study.grid import Grid, Scale
from hatchel.study.store import Store
from hatchel.study.study import Study
from hatchel.study.table import Column, table
from hatchel.study.task import Case, Result
from tests.study.coin import Coin

BROKEN = {"unfair": False}


def coins_grid(scale: Scale) -> Grid:
    """Two coins."""
    found = {"fair": Coin(seed=0, bias=0.5), "unfair": Coin(seed=0, bias=0.25, broken=BROKEN["unfair"])}
    return Grid(
        tuple(Case({"method": name, "scale of it": 1}, coin) for name, coin in found.items()), 3, "a few tosses"
    )


FAIR, UNFAIR = {"method": "fair"}, {"method": "unfair"}
COIN_CLAIMS = (
    Claim("Coins 1999", "C1", "Table 1", "Fair coins are above unfair ones.", higher("heads", FAIR, UNFAIR)),
    Claim("Coins 1999", "C2.all", "Fig. 2", "All coins are fair.", near("heads", UNFAIR, FAIR, within=0.1), True),
    Claim("Coins 1999", "C3", "Fig. 3", "So are dice.", higher("heads", FAIR, {"method": "dice"})),
)


COINS = Study(
    name="test-coins",
    about="Coins that are fair and coins that are not.",
    paper="999 Table 1",
    grid=coins_grid,
    tables=lambda frame: [table("Heads by coin", frame, ["method"], [Column("heads", "heads", {("fair",): 0.5})])],
    figures=lambda frame: {},
    claims=COIN_CLAIMS,
)


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Known to these tests alone: others walk over all studies there are.
    monkeypatch.setitem(study_module._STUDIES, "test-coins", COINS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(BROKEN, "unfair", False)


def call(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["study", *arguments], catch_exceptions=False)


def said(*arguments: str) -> str:
    result = call(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


def coins(*arguments: str) -> Any:
    return call("run", "test-coins", "--engine", "here", *arguments)


def test_tasks_that_follow_from_results_are_run_in_the_same_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def better(scale: Scale, frame: Any) -> list[Case]:
        best = frame[frame["metric"] == "heads"].sort_values("value").iloc[-1]
        again = Coin(seed=7, bias=0.5 if best["method"] == "fair" else 0.25)
        return [Case({"method": f"{best['method']} again", "scale of it": 2}, again)] if best["seed"] < 7 else []

    study = Study("rounds", "Two rounds.", coins_grid, (Column("heads", "heads"),), following=better)
    monkeypatch.setitem(study_module._STUDIES, "rounds", study)
    assert "7 of 7 tasks done" in said("run", "rounds", "--engine", "here", "--quiet")
    assert "fair again" in said("status", "rounds")
    found = Study.load("rounds").frame("laptop")
    assert found[found["method"] == "fair again"].set_index("metric")["value"]["heads"] == pytest.approx(1.2)


def test_list_and_show() -> None:
    rows = {row["name"]: row for row in json.loads(said("list", "--json"))}
    assert rows["test-coins"] == {
        "name": "test-coins", "paper": "999 Table 1", "what": "Coins that are fair and coins that are not."
    }  # fmt: skip
    assert "rtc-vae" in rows
    assert re.search(r"test-coins +999 Table 1 +Coins", said("list"))
    text = said("show", "test-coins", "--seeds", "5")
    assert "laptop: 3 seeds; a few tosses" in text
    assert "10 tasks at laptop:" in text
    assert re.search(r"unfair +1 +5", text)


def test_a_run_says_what_it_shows() -> None:
    result = coins()
    assert result.exit_code == 0
    text = result.output
    assert "Scale laptop: 3 seeds; a few tosses" in text
    assert "6 of 6 tasks done; seeds 0, 1, 2" in text
    # heads = bias + seed / 10: means 0.6 and 0.35; the paper's figure only for the fair one.
    assert re.search(r"\| fair \| 0\.600 \[[\d., ]+\] \| 0\.500 \| 3 \|", text)
    assert re.search(r"\| unfair \| 0\.350 \[[\d., ]+\] \| – \| 3 \|", text)
    assert "Coins 1999: 3 claims: 0 hold, 0 do not, 2 undecided, 1 not run" in text  # three seeds are too few
    assert "C1 (Table 1) undecided: Fair coins are above unfair ones.\n  0.600 [0.352, 0.848] against" in text
    assert "hatchel study report test-coins --scale laptop" in text
    assert "6 of 6 tasks done" in result.stderr
    assert len(Store("studies").digests()) == 6


def test_claims_are_printed_with_the_verdict_of_the_records() -> None:
    assert "C1 (Table 1) not run: Fair coins are above unfair ones.\nC2.all (Fig. 2, ours) not run" in said(
        "claims", "coins"
    )
    coins("--seeds", "6")
    text = said("claims", "coins", "--store", "studies")
    assert "Coins 1999: 3 claims: 1 hold, 1 do not, 0 undecided, 1 not run" in text
    assert "C1 (Table 1) holds: Fair coins are above unfair ones.\n  0.750 [0.554, 0.946] against 0.500" in text
    assert "C2.all (Fig. 2, ours) does not hold: All coins are fair." in text
    (found,) = json.loads(said("claims", "C2", "--json"))
    assert {k: found[k] for k in ("id", "paper", "where", "ours", "verdict", "seeds")} == {
        "id": "C2.all", "paper": "Coins 1999", "where": "Fig. 2", "ours": True, "verdict": "does not hold", "seeds": 6,
    }  # fmt: skip
    with pytest.raises(HatchelError, match="unknown claim or paper 'C9'"):
        call("claims", "C9")


def test_done_tasks_are_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    coins("--seeds", "2")

    def never(self: Coin, workspace: Any) -> Any:
        raise AssertionError("computed again")

    monkeypatch.setattr(Coin, "compute", never)
    assert "4 of 4 tasks done" in said("run", "test-coins", "--engine", "here", "--seeds", "2", "--quiet")


def test_failed_tasks_are_listed_and_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BROKEN, "unfair", True)
    result = coins("--seeds", "2", "--store", "mine")
    assert result.exit_code == 1
    assert "2 of 4 tasks done" in result.output
    assert "2 failed; again with: hatchel study run test-coins --scale laptop --seeds 2 --store mine" in result.output
    line = r"method=unfair, scale of it=1, seed 1 \(\w{12}\): the coin is broken"
    assert re.search(line, result.output)
    status = said("status", "test-coins", "--seeds", "2", "--store", "mine")
    assert re.search(r"method +scale of it +done +running +failed +waiting", status)
    assert re.search(r"unfair +1 +2\n", status)
    assert re.search(line, status)
    assert coins("--seeds", "2", "--store", "mine").exit_code == 1  # failed cells stay failed
    monkeypatch.setattr(Coin, "compute", lambda self, workspace: Result({"heads": 1.0}))
    assert coins("--seeds", "2", "--store", "mine", "--retry").exit_code == 0


def test_dry_run_prints_tasks_and_time_and_computes_nothing(tmp_path: Path) -> None:
    text = said("run", "test-coins", "--engine", "here", "--seeds", "2", "--dry-run")
    digest = Coin(seed=1, bias=0.25).digest()
    assert re.search(rf"unfair +1 +1 +{digest} +waiting", text)
    assert "4 tasks to compute\n" in text  # the time is known after the first
    assert not (tmp_path / "studies").exists()
    coins("--seeds", "1")
    assert "2 tasks to compute: roughly 1 s" in said(
        "run", "test-coins", "--engine", "here", "--seeds", "2", "--dry-run"
    )
    text = said("run", "test-coins", "--engine", "here", "--seeds", "1", "--dry-run")
    assert "nothing left to compute" in text
    assert text.count("done") == 2


def test_what_is_published_is_not_ahead_and_asks_for_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HATCHEL_DATA", str(tmp_path / "nowhere"))
    target = ("run", "hfvae-zero-shot", "--scale", "paper", "--only", "method=HFVAE", "--only", "trained on=all")
    text = said(*target, "--dry-run")
    assert text.count("published") == 5
    assert "nothing left to compute" in text
    assert "5 tasks to compute" in said(*target, "--dry-run", "--fresh")
    assert "5 of 5 tasks are published: taken over" in said(*target)
    with pytest.raises(HatchelError, match="train-images"):
        call(*target[:-1], "trained on=pruned", "--fresh")


def test_publishing_keeps_more_seeds_than_the_scale_has() -> None:
    coins("--seeds", "5")
    assert "10 new records" in said("publish", "test-coins", "--out", "kept")
    assert "0 new records" in said("publish", "test-coins", "--out", "kept")


def test_only_some_labels() -> None:
    result = coins("--only", "method=fair", "--seeds", "2")
    assert result.exit_code == 0
    assert "2 of 4 tasks done" in result.output
    assert len(Store("studies").digests()) == 2
    assert coins("--only", "method=fair", "--only", "method=unfair", "--seeds", "2").exit_code == 0
    assert len(Store("studies").digests()) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "method=Fair"], r"--only: unknown method 'Fair'. Did you mean 'fair'"),
        (["--only", "methd=fair"], r"--only: unknown label 'methd'. Did you mean 'method'"),
        (["--only", "fair"], r"expected LABEL=VALUE"),
        (["--engine", "lokal"], r"unknown engine 'lokal'. Did you mean 'local'"),
        (["--engine-set", "partition=gpu"], r"unknown field of Here 'partition'"),
        (["--engine", "dask://127.0.0.1:1"], r"engine dask: nothing answers at 127.0.0.1:1"),
        (["--plugin", "nowhere.py"], r"nowhere.py: there is no such file"),
    ],
)
def test_mistakes_in_options(arguments: list[str], message: str) -> None:
    with pytest.raises(HatchelError, match=message):
        coins(*arguments)
    assert not Path("studies").exists()  # before anything is begun


def test_mistakes_in_the_target() -> None:
    with pytest.raises(HatchelError, match=r"unknown study 'test-coin'. Did you mean 'test-coins'"):
        call("run", "test-coin")
    with pytest.raises(HatchelError, match=r"mine.yaml: cannot be read"):
        call("show", "mine.yaml")
    Path("mine.yaml").write_text("name: mine\ndata: mnist\nmethods: vae\n")
    with pytest.raises(HatchelError, match=r"mnist|train-images"):
        call("run", "mine.yaml")  # its files are missing: said before anything is computed
    assert not Path("studies").exists()
    with pytest.raises(HatchelError, match=r"Invalid value for '--scale': 'huge' is not one of"):
        call("run", "test-coins", "--scale", "huge")


def test_a_store_of_a_newer_version() -> None:
    Path("studies").mkdir()
    Path("studies/store.json").write_text('{"format": 99}')
    for command in (["run", "test-coins"], ["status", "test-coins"], ["query", "SELECT 1"]):
        with pytest.raises(HatchelError, match="written by a newer Hatchel"):
            call(*command)


def test_ctrl_c_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Coin.compute

    def stopped(self: Coin, workspace: Any) -> Any:
        if self.seed == 1:
            raise KeyboardInterrupt
        return whole(self, workspace)

    monkeypatch.setattr(Coin, "compute", stopped)
    result = coins("--seeds", "2", "--only", "method=fair")
    assert result.exit_code == 130
    assert "Stopped with 1 of 2 tasks done. To go on: " in result.stderr
    assert "hatchel study run test-coins --scale laptop --seeds 2 --engine here --only method=fair" in result.stderr
    monkeypatch.setattr(Coin, "compute", whole)
    assert coins("--seeds", "2").exit_code == 0


def test_query_as_table_csv_and_json() -> None:
    coins()
    sql = "SELECT method, avg(value) AS mean, count(*) AS n FROM results WHERE metric='heads' GROUP BY method"
    expected = {
        name: np.mean([bias + s / 10 for s in range(3)]) for name, bias in {"fair": 0.5, "unfair": 0.25}.items()
    }
    rows = json.loads(said("query", sql, "--json"))
    assert {row["method"]: row["mean"] for row in rows} == pytest.approx(expected)
    assert [row["n"] for row in rows] == [3, 3]
    assert re.search(r"method +mean +n\nfair +0\.6 +3\nunfair +0\.35 +3", said("query", sql))
    table = list(csv.DictReader(io.StringIO(said("query", sql, "--csv"))))
    assert float(table[1]["mean"]) == pytest.approx(expected["unfair"])
    assert "scale of it" in said("query", "--columns").splitlines()


def test_query_cannot_write() -> None:
    coins()
    before = {p: p.read_bytes() for p in Path("studies").rglob("*.json")}
    for sql in ("DROP TABLE entries", "ATTACH 'x.db' AS x", "PRAGMA journal_mode=WAL", "DELETE FROM entries"):
        with pytest.raises(HatchelError, match="may only read"):
            call("query", sql)
    assert {p: p.read_bytes() for p in Path("studies").rglob("*.json")} == before
    assert not Path("x.db").exists()
    assert "read-only" in said("query", "--help")
    with pytest.raises(HatchelError, match="name a query"):
        call("query")


def test_export_in_three_forms() -> None:

    coins()
    for form in ("csv", "json", "parquet"):
        assert f"out.{form}: 12 rows" in said("export", f"out.{form}")
    plain = pd.DataFrame(json.loads(Path("out.json").read_text()))
    for frame in (pd.read_csv("out.csv"), pd.read_parquet("out.parquet"), plain):
        heads = frame[frame.metric == "heads"].sort_values(["method", "seed"])
        assert heads.value.tolist() == pytest.approx([0.5, 0.6, 0.7, 0.25, 0.35, 0.45])
    said("export", "some.csv", "--query", "SELECT DISTINCT method FROM results ORDER BY method")
    assert Path("some.csv").read_text() == "method\nfair\nunfair\n"
    with pytest.raises(HatchelError, match=r"has to end in .csv, .json or .parquet"):
        call("export", "out.xlsx")


def test_report_from_the_records(tmp_path: Path) -> None:
    with pytest.raises(
        HatchelError, match=r"no task is done at laptop in studies; first: hatchel study run test-coins"
    ):
        call("report", "test-coins")
    coins()
    text = said("report", "test-coins")
    page = tmp_path / "studies" / "reports" / "test-coins-laptop" / "report.html"
    assert f"Report: {page.relative_to(tmp_path)}" in text
    assert "Fair coins are above unfair ones." in page.read_text()


def test_a_study_file_from_the_example(tmp_path: Path) -> None:
    text = said("show", "grid")
    Path("mine.yaml").write_text(text.replace("name: example", "name: mine"))
    assert "6 tasks at laptop" in said("show", "mine.yaml")
    result = call("run", "mine.yaml", "--scale", "smoke", "--engine", "here", "--only", "method=vae")
    assert result.exit_code == 0
    assert "1 of 3 tasks done; seeds 0" in result.output
    (row,) = json.loads(said("query", "SELECT study, scale, value FROM results WHERE metric='mig'", "--json"))
    assert (row["study"], row["scale"]) == ("mine", "smoke")
    assert f"| vae | {row['value']:.3f} |" in result.output


def test_tune_prints_the_best_and_a_warning() -> None:
    arguments = [
        "tune",
        "beta_vae",
        "steps=[1,25]",
        "data={kind: xy_squares, size: 16}",
        "batch_size=8",
        "latent.dim=2",
    ]
    options = ["--metric", "reconstruction", "--seeds", "1", "--items", "64", "--trials", "4", "--engine", "here"]
    result = call(*arguments, *options)
    assert result.exit_code == 0
    lines = result.output.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("trial  steps"))
    assert lines[head + 1].split()[1] == "25"
    assert lines[head + 2].split()[1] == "1"
    assert "reconstruction (lower is better)" in result.output
    assert "reconstruction was what the points were chosen by" in result.output
    best = "hatchel train beta_vae 'data={kind: xy_squares, size: 16}' batch_size=8 latent.dim=2 steps=25 seed=1"
    assert best in result.output
    folder = re.search(r"Its runs: (\S+)", result.output)
    assert folder is not None
    assert (Path(folder[1]) / "config.json").is_file()
    with pytest.raises(HatchelError, match="nothing to tune"):
        call("tune", "vae", "steps=4", "data=xy_squares")
    with pytest.raises(HatchelError, match=r"unknown method 'vaee'. Did you mean 'vae'"):
        call("tune", "vaee", "steps=[4,5]", "data=xy_squares")


def test_a_study_of_a_plugin_runs_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_module, "_STUDIES", dict(study_module._STUDIES))
    Path("mine.py").write_text(
        "from hatchel.study.grid import Grid\n"
        "from hatchel.study.study import Study, register\n"
        "from hatchel.study.table import Column\n"
        "from hatchel.study.task import Case\n"
        "from tests.study.coin import Coin\n"
        "grid = lambda scale: Grid((Case({'method': 'coin'}, Coin(seed=0)),), 2)\n"
        "register(Study('plugged-in', 'One coin.', grid, (Column('heads', 'heads'),)))\n"
    )
    text = said("run", "plugged-in", "--engine", "here", "--plugin", "mine.py")
    assert "| coin | 0.550 [-0.085, 1.185] | 2 |" in text
    assert "plugged-in" in said("list", "--plugin", "mine.py")
