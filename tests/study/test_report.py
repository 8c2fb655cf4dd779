from __future__ import annotations

import json
import re

import pytest

from hatchel.studies.common import at
from hatchel.studies.pool import SPRITES
from hatchel.study.report import claims, facts, markdown, write_report
from hatchel.study.study import Study
from tests.study.made import both, rows, seeds

OWN, OTHER = at(SPRITES, "RecurD-1", 0.1), at(SPRITES, "beta-VAE", 4, "D = 8")
STUDY = Study.load("recurd")
NAMES = ("reconstruction.mse_per_pixel", "sap", "mig", "dci", "dci.completeness", "dci.informativeness")
SEEDS = range(5)
ROWS = both(*(
    rows(
        labels,
        **{n: [0.1 + 0.3 * i + 0.02 * s + 0.001 * i * s**2 for s in SEEDS] for n in ("reconstruction", *NAMES)},
        x=[1.0] * 5,
    )
    for i, labels in enumerate((OWN, OTHER))
))  # fmt: skip


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return write_report(
        STUDY, ROWS, "laptop", tmp_path_factory.mktemp("report"), ["beta-VAE 16: <out of memory>"], "a box"
    )


def test_page_holds_ours_and_the_papers_apart(written):
    page = re.sub(r"\s+", " ", written.read_text())
    assert '<td data-label="MIG">0.1400<small>[0.1007, 0.1793]</small></td>' in page
    assert '<td data-label="MIG (paper)" class="quiet">0.2707</td>' in page
    assert "they were not computed here" in page
    assert "steps of 64 images" in page
    assert "10 done, seeds 0, 1, 2, 3, 4" in page
    assert "5.0 min of computing" in page
    assert "a box" in page
    assert "hatchel study run recurd --scale laptop" in page
    assert "beta-VAE 16: &lt;out of memory&gt;" in page
    assert "R1.dsprites (Table 2): dSprites: RecurD&#39;s reconstruction error is below each baseline&#39;s." in page


def test_files_beside_it(written):
    folder = written.parent
    names = {p.name for p in folder.iterdir()}
    assert {"report.html", "tables.md", "tables.tex", "results.json"} <= names
    assert {f"dsprites-mig-against-reconstruction.{kind}" for kind in ("png", "svg")} <= names
    assert (folder / "tables.tex").read_text().count(r"\begin{tabular}") == 1
    said = (folder / "tables.md").read_text()
    wanted = (
        "- R1.dsprites (Table 2) **undecided**: dSprites: RecurD's reconstruction error is below each baseline's. so: "
    )
    assert f"{wanted}beta-VAE 4 conv D = 8 -0.306" in said
    body = json.loads((folder / "results.json").read_text())
    assert body["cells"][0]["values"] == dict.fromkeys(NAMES, 0.1)  # what the tables use
    verdict = {claim["id"]: claim["verdict"] for claim in body["claims"]}
    assert verdict["R1.dsprites"] == "undecided"  # the other baselines are missing
    assert verdict["R2.mig.dsprites"] == "does not hold"  # one is enough to speak against it
    assert verdict["R2.mig.shapes3d"] == "not run"
    assert "published" not in json.dumps(body)  # the paper's numbers are no results


def test_a_smoke_run_decides_nothing():
    assert False in {v.holds for v in claims(STUDY, ROWS, "laptop")}
    assert {v.holds for v in claims(STUDY, ROWS, "smoke")} == {None}
    assert "**does not hold**" not in markdown(STUDY, ROWS, "smoke")


def test_facts_and_verdicts():
    assert facts(STUDY, ROWS[ROWS["task"] == ROWS["task"].iloc[0]], "smoke")["Time"].startswith(
        "30 s of computing (runs"
    )
    assert "Machine" not in facts(STUDY, ROWS, "smoke")
    assert facts(STUDY, seeds(ROWS), "smoke")["Tasks"] == "0 done, seeds none"


def test_a_report_before_any_task_is_done(tmp_path):
    page = write_report(STUDY, seeds(ROWS), "laptop", tmp_path).read_text()
    assert "0 done" in page
    assert "<table" not in page
    assert json.loads((tmp_path / "results.json").read_text())["cells"] == []
