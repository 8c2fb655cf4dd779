from __future__ import annotations

import json
import re

import pytest

from hatchel.study.claims import Claim
from hatchel.study.report import claims, facts, markdown, write_report
from hatchel.study.study import Study
from tests.study.made import both, rows, seeds

STUDY = Study.load("recurd-table2")
NAMES = ("reconstruction", "reconstruction.mse_per_pixel", "sap", "mig", "dci", "dci.completeness", "dci.error")
ROWS = both(*(
    rows(
        {"data": "dSprites", "method": method},
        **{n: [0.1 + 0.3 * i, 0.12 + 0.3 * i, 0.14 + 0.3 * i] for n in NAMES},
        x=[1.0] * 3,
    )
    for i, method in enumerate(("RecurD", "beta-VAE 4"))
))  # fmt: skip


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return write_report(
        STUDY, ROWS, "laptop", tmp_path_factory.mktemp("report"), ["beta-VAE 16: <out of memory>"], "a box"
    )


def test_page_holds_ours_and_the_papers_apart(written):
    page = re.sub(r"\s+", " ", written.read_text())
    assert '<td data-label="MIG">0.1200<small>[0.1000, 0.1400]</small></td>' in page
    assert '<td data-label="MIG (paper)" class="quiet">0.2707</td>' in page
    assert "they were not computed here" in page
    assert "laptop: 3,000 steps of 32 images" in page
    assert "6 done, seeds 0, 1, 2" in page
    assert "3.0 min of computing" in page
    assert "a box" in page
    assert "hatchel study run recurd-table2 --scale laptop" in page
    assert "beta-VAE 16: &lt;out of memory&gt;" in page
    assert "RecurD reconstructs better than every baseline." in page
    assert "Difference from RecurD, paired over seeds" in page


def test_files_beside_it(written):
    folder = written.parent
    names = {p.name for p in folder.iterdir()}
    assert {"report.html", "tables.md", "tables.tex", "results.json", "mig.png", "mig.svg", "sap.png"} <= names
    assert (folder / "tables.tex").read_text().count(r"\begin{tabular}") == 2
    said = (
        "**undecided here**: dSprites: RecurD reconstructs better than every baseline. so against beta-VAE 4; not run: "
    )
    assert said in (folder / "tables.md").read_text()
    body = json.loads((folder / "results.json").read_text())
    assert body["cells"][0]["values"] == {n: 0.1 for n in NAMES if n != "reconstruction"}  # what the tables use
    assert body["claims"][0]["holds"] is None  # six baselines are missing
    assert body["claims"][2]["holds"] is False  # one is enough to speak against it
    assert "published" not in json.dumps(body)  # the paper's numbers are no results


def test_a_smoke_run_decides_nothing():
    decided = {c.text: c.holds for c in STUDY.claims(ROWS)}
    assert decided["dSprites: RecurD's MIG is above every baseline's."] is False
    found = claims(STUDY, ROWS, "smoke")
    assert {c.holds for c in found} == {None}
    assert found[1].evidence.endswith("smoke decides nothing")
    assert "holds here" not in markdown(STUDY, ROWS, "smoke")


def test_facts_and_verdicts():
    assert facts(STUDY, ROWS[ROWS["task"] == ROWS["task"].iloc[0]], "smoke")["Time"].startswith(
        "30 s of computing (runs"
    )
    assert "Machine" not in facts(STUDY, ROWS, "smoke")
    assert facts(STUDY, seeds(ROWS), "smoke")["Tasks"] == "0 done, seeds none"
    assert [Claim("", h, "").verdict for h in (True, False, None)] == ["holds", "does not hold", "undecided"]


def test_a_report_before_any_task_is_done(tmp_path):
    page = write_report(STUDY, seeds(ROWS), "laptop", tmp_path).read_text()
    assert "0 done" in page
    assert "<table" not in page
    assert json.loads((tmp_path / "results.json").read_text())["cells"] == []
