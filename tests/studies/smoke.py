"""What every study must be able to do, at `smoke`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from PIL import Image

from hatchel.core.spec import from_dict, to_dict
from hatchel.study.cell import Cell
from hatchel.study.engines.here import Here
from hatchel.study.report import slug, write_report
from hatchel.study.runner import run_cells
from hatchel.study.store import Row, Store
from hatchel.study.study import Scale, Study

SMOKED = {
    "recurd": ("recurd-table2", "recurd-baselines", "recurd-depth", "recurd-ablation", "recurd-layers", "recurd-cost"),
    "recurd, digits": ("downstream-mnist", "domain-generalisation"),
    "devae": ("tc-dimension", "devae-comparison", "devae-diffusion", "devae-highdim", "devae-ablation"),
    "split": ("split-violation", "split-encoder"),
    "hfvae": ("hfvae-scores", "objectives"),
    "hfvae, digits": ("hfvae-features", "hfvae-discrete", "hfvae-zero-shot"),
    "rtc": ("tc-estimators", "tc-bound", "dimension-shutdown", "tc-disparity", "disintegration"),
}
"""By paper; those on real digits need their files."""
SCALES: tuple[Scale, ...] = ("smoke", "laptop", "paper")


def named(name: str) -> Study:
    """The study as the program finds it."""
    study = from_dict(Study, name)
    assert study.kind == name
    return study


def builds(name: str) -> None:
    """At every scale: words for it, cells that are told apart by labels and seed, JSON that gives the cell back."""
    study = named(name)
    assert study.paper
    for scale in SCALES:
        entries = study.entries(scale)
        assert study.scales[scale]
        assert entries
        told = [(json.dumps(dict(e.labels), sort_keys=True), e.cell.seed) for e in entries]
        digests = [e.cell.digest() for e in entries]
        assert len(set(told)) == len(entries)
        assert len(set(digests)) == len(entries)
        assert len({tuple(e.labels) for e in entries}) == 1
        for entry in _ends(entries):
            assert from_dict(Cell, json.loads(json.dumps(to_dict(entry.cell)))).digest() == entry.cell.digest()
    few, more = study.entries("smoke", 1), study.entries("smoke", 2)
    if len(more) > len(few):  # counting and closed forms have no seed
        assert len(more) == 2 * len(few)
        assert {e.cell.digest() for e in few} < {e.cell.digest() for e in more}
        assert {e.cell.seed for e in more} == {0, 1}


def runs(name: str, folder: Path) -> list[Row]:
    """Every cell, then everything that is made of the rows; the rows."""
    study, store = named(name), Store(folder / "store")
    entries = study.entries("smoke")
    tally = run_cells([e.cell for e in entries], store, Here())
    failed = [store.error(e.cell.digest()) for e in entries if store.status(e.cell.digest()) != "done"]
    assert tally.failed == 0, failed[0]
    rows = store.rows(entries)
    assert [r.digest for r in rows] == [e.cell.digest() for e in entries]
    _made_of(study, rows)
    for row in _ends(rows):  # a report may come before the study's end
        _made_of(study, [row])
        assert all(isinstance(f, Figure) for f in study.figures([row]).values())
    _written(study, rows, folder / "report")
    return rows


def _made_of(study: Study, rows: Sequence[Row]) -> None:
    for table in study.tables(rows):
        widths = {len(table.headings), *(len(line) for line in table.cells())}
        assert len(widths) == 1
        assert table.markdown().count("\n") == table.latex().count("\n") - 4 == len(table.lines) + 1
        assert len({line.labels for line in table.lines}) == len(table.lines)
    for claim in study.claims(rows):
        assert claim.text.endswith(".")
        assert claim.evidence


def _written(study: Study, rows: Sequence[Row], folder: Path) -> None:
    page = write_report(study, rows, "smoke", folder).read_text()
    figures = study.figures(rows)
    assert len({slug(f) for f in figures}) == len(figures)
    for name in figures:
        with Image.open(folder / f"{slug(name)}.png") as picture:
            assert picture.width > 300
            assert picture.convert("L").getextrema()[0] < 128  # something is drawn
        assert "</svg>" in (folder / f"{slug(name)}.svg").read_text()
    assert page.count("<figure") == len(figures)
    body = json.loads((folder / "results.json").read_text())
    assert len(body["cells"]) == len(rows)
    used = {c.name for t in study.tables(rows) for c in t.columns}
    assert all(set(cell["values"]) == used & set(row.values) for cell, row in zip(body["cells"], rows, strict=True))
    assert all(claim["holds"] is None for claim in body["claims"])
    assert study.kind in (folder / "tables.md").read_text()


def _ends(items: Sequence[Any]) -> list[Any]:
    return [items[0], items[-1]] if len(items) > 1 else list(items)
