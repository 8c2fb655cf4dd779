"""Studies from files: read, refused, run at smoke, and what their tables say."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from hatchel.core.errors import HatchelError
from hatchel.studies.grid_file import EXAMPLE, GridStudy, name_of, read_study, target_of
from hatchel.study.engines.here import Here
from hatchel.study.runner import run_cells
from hatchel.study.store import Row, Store

FILE = """
name: mine
data: {kind: xy_squares, size: 32}
methods: [{preset: beta_vae, beta: [1, 4]}, {preset: factor_vae, label: FactorVAE}]
set: {steps: 40, latent.dim: 3}
product: {batch_size: [8, 16]}
seeds: 2
metrics: [mig, reconstruction]
figures: [box, scatter, lines, curves]
"""


def written(folder: Path, text: str, name: str = "mine.yaml") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_yaml_and_json_say_the_same(tmp_path: Path) -> None:
    body = {"name": "mine", "data": "xy_squares", "methods": "vae", "metrics": "mig"}
    first = read_study(written(tmp_path, json.dumps(body), "mine.json"))
    second = read_study(written(tmp_path, "name: mine\ndata: xy_squares\nmethods: vae\nmetrics: mig\n"))
    assert isinstance(first, GridStudy)
    assert isinstance(second, GridStudy)
    assert first.grid == second.grid
    assert (name_of(first), target_of(first)) == ("mine", str(tmp_path / "mine.json"))


def test_the_example_is_a_file_that_reads(tmp_path: Path) -> None:
    study = read_study(written(tmp_path, EXAMPLE))
    assert isinstance(study, GridStudy)
    assert study.grid == GridStudy().grid
    assert [e.labels["method"] for e in study.entries("laptop", 1)] == ["vae", "beta-VAE beta=4", "beta-VAE beta=16"]


def test_the_example_of_the_docs_has_as_many_cells_as_they_say(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "studies.md").read_text(encoding="utf-8")
    block = text[text.index("    name: my-comparison") :].split("\n\n")[0]
    study = read_study(written(tmp_path, textwrap.dedent(block)))
    assert len({e.cell.digest() for e in study.entries("laptop")}) == 80
    assert "x 5 = 80." in text


def test_entries_are_points_times_seeds(tmp_path: Path) -> None:
    study = read_study(written(tmp_path, FILE))
    entries = study.entries("laptop")
    assert len(entries) == 3 * 2 * 2  # methods x product x seeds
    assert len({e.cell.digest() for e in entries}) == 12
    assert [e.cell.seed for e in entries[:4]] == [0, 1, 0, 1]
    assert len(study.entries("laptop", seeds=5)) == 30
    assert study.scales["laptop"] == "40 steps on xy_squares, 15,000 items measured, 2 seeds"


def test_runs_and_tabulates(tmp_path: Path) -> None:
    study = read_study(written(tmp_path, FILE))
    store = Store(tmp_path / "store")
    entries = study.entries("smoke", 2)[:4]
    tally = run_cells([e.cell for e in entries], store, Here())
    assert (tally.done, tally.failed) == (4, 0)
    rows = store.rows(entries)
    (table,) = study.tables(rows)
    assert table.headings == ["method", "batch_size", "mig", "reconstruction", "seeds"]
    assert [line.labels for line in table.lines] == [("beta_vae beta=1", 8), ("beta_vae beta=1", 16)]
    mean = np.mean([store.record(e.cell.digest())["values"]["reconstruction"] for e in entries[:2]])
    assert table.lines[0].ours[1] is not None
    assert table.lines[0].ours[1].value == pytest.approx(mean)
    figures = study.figures(rows)
    assert sorted(figures) == [
        "mig against reconstruction", "mig by batch_size", "mig by method", "reconstruction by batch_size",
        "reconstruction by method",
    ]  # fmt: skip
    assert all(isinstance(figure, Figure) for figure in figures.values())


def test_only_what_was_measured_is_tabulated(tmp_path: Path) -> None:
    study = read_study(written(tmp_path, FILE))
    rows = [Row({"method": "a", "batch_size": 8}, s, f"{s}", {"mig": s / 10}, {}, 1.0) for s in (1, 3)]
    (table,) = study.tables(rows)
    assert table.headings == ["method", "batch_size", "mig", "seeds"]
    assert table.lines[0].ours[0] is not None
    assert table.lines[0].ours[0].value == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: mine\nmethods: [", r"mine.yaml: is not YAML or JSON \(.*line 2\)"),
        ("- a\n- b\n", r"mine.yaml: expected fields and values"),
        ("name: mine\ndata: xy_squares\n", r"mine.yaml: Grid needs the field 'methods'"),
        ("name: mine\ndata: xy_squares\nmethods:\n", r"mine.yaml: methods: the grid is empty"),
        (
            "name: mine\ndata: ./nowhere\nmethods: vae\n",
            r"mine.yaml: data\[0\]: unknown dataset './nowhere'",
        ),
        ("name: mine\ndata: 5\nmethods: vae\n", r"mine.yaml: data\[0\]: expected a dataset, got 5"),
        ("name: tc-disparity\ndata: xy_squares\nmethods: vae\n", r"'tc-disparity' is a study of Hatchel's"),
        (
            "name: mine\ndata: xy_squares\nmethods: vae\nproduct: {steps: 4}\n",
            r"product.steps: input should",
        ),
    ],
)
def test_files_with_mistakes(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(HatchelError, match=message):
        read_study(written(tmp_path, text))


def test_files_that_are_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(HatchelError, match=r"nowhere.yaml: cannot be read \(No such file"):
        read_study(str(tmp_path / "nowhere.yaml"))
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(HatchelError, match=r"bytes.yaml: is not"):
        read_study(str(tmp_path / "bytes.yaml"))
    with pytest.raises(HatchelError, match=r"unknown study 'tc-disparty'. Did you mean 'tc-disparity'"):
        read_study("tc-disparty")
