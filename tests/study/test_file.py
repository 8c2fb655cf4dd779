"""Studies from files: read, refused, run at smoke, and what their tables say."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from hatchel.core.errors import HatchelError
from hatchel.studies.example import EXAMPLE
from hatchel.study.engines.local import Here
from hatchel.study.file import study_of
from hatchel.study.runner import run_tasks
from hatchel.study.store import Store
from hatchel.study.study import Study
from tests.study.made import rows as made

FILE = """
name: mine
data: {kind: xy_squares, size: 32}
methods: [{method: beta_vae, beta: [1, 4]}, {method: factor_vae, label: FactorVAE}]
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
    first = Study.load(written(tmp_path, json.dumps(body), "mine.json"))
    second = Study.load(written(tmp_path, "name: mine\ndata: xy_squares\nmethods: vae\nmetrics: mig\n"))
    assert first.grid("laptop") == second.grid("laptop")
    assert (first.name, first.target) == ("mine", str(tmp_path / "mine.json"))


def test_the_example_is_a_file_that_reads(tmp_path: Path) -> None:
    study = Study.load(written(tmp_path, EXAMPLE))
    assert study.grid("laptop") == study_of(EXAMPLE).grid("laptop") == Study.load("grid").grid("laptop")
    assert [e.labels["method"] for e in study.tasks("laptop", 1)] == ["vae", "beta-VAE beta=4", "beta-VAE beta=16"]


def test_the_example_of_the_docs_has_as_many_tasks_as_they_say(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "studies.md").read_text(encoding="utf-8")
    block = text[text.index("    name: my-comparison") :].split("\n\n")[0]
    study = Study.load(written(tmp_path, textwrap.dedent(block)))
    assert len({e.task.digest() for e in study.tasks("laptop")}) == 80
    assert "x 5 = 80." in text


def test_entries_are_points_times_seeds(tmp_path: Path) -> None:
    study = Study.load(written(tmp_path, FILE))
    entries = study.tasks("laptop")
    assert len(entries) == 3 * 2 * 2  # methods x product x seeds
    assert len({e.task.digest() for e in entries}) == 12
    assert [e.task.seed for e in entries] == [0] * 6 + [1] * 6  # seed by seed
    assert len(study.tasks("laptop", seeds=5)) == 30
    assert study.words("laptop") == (
        "40 steps of 8 or 16 images, xy_squares at 32 px, learning rate 0.0005, weights as printed, 2 seeds; "
        "15,000 items measured"
    )


def test_runs_and_tabulates(tmp_path: Path) -> None:
    study = Study.load(written(tmp_path, FILE))
    store = Store(tmp_path / "store")
    entries = [e for e in study.tasks("smoke", 2) if e.labels["method"] == "beta_vae beta=1"]
    tally = run_tasks([e.task for e in entries], store, Here())
    assert (tally.done, tally.failed) == (4, 0)
    rows = store.frame_of(entries)
    (table,) = study.tables(rows)
    assert table.headings == ["method", "batch_size", "mig", "reconstruction", "seeds"]
    assert [line.labels for line in table.rows] == [("beta_vae beta=1", 8), ("beta_vae beta=1", 16)]
    mean = np.mean([store.record(e.task.digest())["values"]["reconstruction"] for e in entries[::2]])
    assert table.rows[0].ours[1] is not None
    assert table.rows[0].ours[1].value == pytest.approx(mean)
    figures = study.figures(rows)
    assert sorted(figures) == [
        "mig against reconstruction", "mig by batch_size", "mig by method", "reconstruction by batch_size",
        "reconstruction by method",
    ]  # fmt: skip
    assert all(isinstance(figure, Figure) for figure in figures.values())


def test_only_what_was_measured_is_tabulated(tmp_path: Path) -> None:
    study = Study.load(written(tmp_path, FILE))
    rows = made({"method": "a", "batch_size": 8}, mig=[0.1, 0.3])
    (table,) = study.tables(rows)
    assert table.headings == ["method", "batch_size", "mig", "seeds"]
    assert table.rows[0].ours[0] is not None
    assert table.rows[0].ours[0].value == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: mine\nmethods: [", r"mine.yaml: is not YAML or JSON \(.*line 2\)"),
        ("- a\n- b\n", r"mine.yaml: expected fields and values"),
        ("name: mine\ndata: xy_squares\n", r"mine.yaml: StudyFile needs the field 'methods'"),
        ("name: mine\ndata: xy_squares\nmethods:\n", r"mine.yaml: methods: the grid is empty"),
        (
            "name: mine\ndata: ./nowhere\nmethods: vae\n",
            r"mine.yaml: data\[0\].data: there is no file or folder ./nowhere \(seen from .*\); correct the path",
        ),
        ("name: mine\ndata: 5\nmethods: vae\n", r"mine.yaml: data\[0\]: expected a dataset, got 5"),
        ("name: split-encoder\ndata: xy_squares\nmethods: vae\n", r"'split-encoder' is a study of Hatchel's"),
        (
            "name: mine\ndata: xy_squares\nmethods: vae\nproduct: {steps: 4}\n",
            r"product.steps: input should",
        ),
    ],
)
def test_files_with_mistakes(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(HatchelError, match=message):
        Study.load(written(tmp_path, text))


def test_files_that_are_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(HatchelError, match=r"nowhere.yaml: cannot be read \(No such file"):
        Study.load(str(tmp_path / "nowhere.yaml"))
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(HatchelError, match=r"bytes.yaml: is not"):
        Study.load(str(tmp_path / "bytes.yaml"))
    with pytest.raises(HatchelError, match=r"unknown study 'split-encodr'. Did you mean 'split-encoder'"):
        Study.load("split-encodr")
