from __future__ import annotations

import base64
import dataclasses
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from hatchel.core.errors import HatchelError
from hatchel.core.spec import to_dict
from hatchel.data.table import TableColumn
from hatchel.metrics.score import Score
from hatchel.report.columns import columns_moved, traversals
from hatchel.report.dimensions import Curve, Dimensions, Fit
from hatchel.report.findings import Control, Findings, analyse
from hatchel.report.page import (
    NumberText,
    by_reason,
    factor_lines,
    learned,
    page,
    training_seconds,
    write_report,
)
from hatchel.report.panels.panel import draw_panels
from hatchel.report.pictures import typical
from hatchel.training.run import TrainedRun
from tests.report.links import outside

SECTIONS = ("summary", "factors", "chart", "mutual-information", "r2", "importance", "information", "positions",
            "losses", "disintegration", "diffusion", "factor-plots", "pair-plots", "reconstructions", "traversals",
            "prior-samples", "configuration", "run")  # fmt: skip


IMAGES = SimpleNamespace(columns=())
FLAT = Curve(np.zeros(1), np.zeros(1), np.zeros(1))


@pytest.fixture(scope="module")
def html(found: Findings) -> str:
    return page(found, [Control("<untrained>", "the same & more", found)])


def ids(text: str) -> set[str]:
    return set(re.findall(r'<(?:section|figure) id="([^"]+)"', text))


def test_every_section_is_there_and_every_id_is_one(html: str) -> None:
    assert set(SECTIONS) | {"measures"} == ids(html)
    everything = re.findall(r'\bid="([^"]+)"', html)
    assert len(everything) == len(set(everything))


def test_nothing_is_loaded_from_anywhere(html: str) -> None:
    assert outside(html) == []
    assert "<script" not in html
    assert "default-src 'none'" in html
    assert len(html) < 6e6


def test_the_parser_sees_what_would_be_loaded() -> None:
    assert outside('<img src="x.png"><use href="#a"/><img src="data:image/png;base64,AA">') == ["x.png"]
    assert outside('<svg><image xlink:href="http://a/b.png"/></svg>') == ["http://a/b.png"]
    assert outside("<style>a { background: url(font.woff) } @import 'b.css';</style>") == ["font.woff", "b.css"]
    assert outside('<p style="fill: url(#a)">') == []
    assert outside("<link rel=x href=//a/b>") == ["//a/b"]


def test_names_are_escaped(html: str) -> None:
    assert "<untrained>" not in html
    assert "&lt;untrained&gt;" in html
    assert "the same &amp; more" in html


def test_numbers_on_the_page_are_the_scores(html: str, found: Findings) -> None:
    for key in ("mig", "factor_vae_score", "tc_mean", "tc_sample"):
        score = found.scores[key]
        assert f'<td class="own" data-label="Value">{score.value:.3f}<small>' in html
        assert score.interval is not None
        assert f"{score.interval.low:.3f} – {score.interval.high:.3f}" in html
    assert "lower is better" in html
    assert "-log p(x|z)" in html
    assert "TC(z)[mss]" in html
    assert "30 of 30 steps, batch 16" in html
    config = re.search(r"<pre>(.*?)</pre>", html, re.DOTALL)
    assert config is not None
    text = config[1].replace("&#34;", '"').replace("&#39;", "'").replace("&gt;", ">").replace("&lt;", "<")
    assert json.loads(text) == json.loads(json.dumps(to_dict(found.run.spec)))


def test_the_images_are_the_rows_in_the_order_of_information(html: str, found: Findings) -> None:
    section = html[html.index('<section id="traversals">') : html.index('<section id="reconstructions">')]
    rows = re.findall(r'<div class="strip"><div><b>(z\d)</b>', section)
    assert rows == [
        f"z{d}" for d in (found.dimensions.active if len(found.dimensions.active) else found.dimensions.order)
    ]
    pictures = [base64.b64decode(data) for data in re.findall(r"data:image/png;base64,([^\"]+)", section)]
    sizes = [Image.open(io.BytesIO(p)).size for p in pictures]
    assert sizes == [(11 * 17 - 1, 16)] * len(rows)


def test_what_a_person_wants_first_comes_first(html: str) -> None:
    wanted = ("traversals", "reconstructions", "summary", "factors", "run", "mutual-information", "chart", "losses")
    places = [html.index(f' id="{name}"') for name in wanted]
    assert places == sorted(places)
    assert "<h1>beta_tcvae on xy_squares</h1>" in html


@pytest.mark.parametrize(
    "shares, r2, said",
    [
        # x alone in z0; y in z1 and z2; the third has no dimension.
        (
            [[0.9, 0, 0], [0, 0.6, 0], [0, 0.4, 0.1]],
            {},
            "1 of 3 factors is in one dimension of its own: x (z0); y and v are not.",
        ),
        (
            [[0.9, 0, 0.1], [0, 0.6, 0], [0, 0.2, 0.8]],
            {},
            "All 3 factors are in one dimension each: x (z0), y (z1) and v (z2).",
        ),
        # z0 knows x better than y; of v little entropy, but all of its variance.
        (
            [[0.9, 0.6, 0], [0, 0.1, 0], [0, 0, 0.4]],
            {"v": 0.9},
            "2 of 3 factors are in one dimension each: x (z0) and v (z2); y is not.",
        ),
        (
            [[0.3, 0, 0], [0, 0.2, 0], [0, 0, 0.4]],
            {"v": 0.7},
            "None of the 3 factors (x, y, v) is in one dimension of its own.",
        ),
    ],
)
def test_what_was_learned_in_a_sentence(shares: list[list[float]], r2: dict[str, float], said: str) -> None:
    dims = Dimensions(np.ones(3), np.zeros(3), np.ones(3), np.array(shares), ("x", "y", "v"))
    fits = [Fit(name, 2, "z2", Score(name, value), FLAT) for name, value in r2.items()]
    found: Any = SimpleNamespace(dimensions=dims, fits=fits, run=IMAGES)
    assert learned(found) == said
    found.dimensions = dataclasses.replace(dims, information=np.zeros(3))
    assert learned(found) == "Nothing was learned: none of the 3 dimensions says anything about the input."


def test_the_sentence_on_a_single_factor() -> None:
    dims = Dimensions(np.ones(2), np.zeros(2), np.ones(2), np.array([[0.9], [0.1]]), ("city",))
    found: Any = SimpleNamespace(dimensions=dims, fits=[], run=IMAGES)
    assert learned(found) == "The factor city (z0) is in one dimension of its own."
    found.dimensions = dataclasses.replace(dims, shares=np.array([[0.9], [0.8]]))
    assert learned(found) == "The factor city is in no one dimension."


def test_the_sentence_says_why_a_line_does_not_fit() -> None:
    shares = np.array([[0.9, 0, 0], [0, 0.6, 0], [0, 0.1, 0.3]])
    dims = Dimensions(np.ones(3), np.zeros(3), np.ones(3), shares, ("x", "y", "v"))
    fit = Fit("v", 2, "z2", Score("v", 0.01), FLAT, turned_by="x", within=0.9)
    assert learned(SimpleNamespace(dimensions=dims, fits=[fit], run=IMAGES)) == (  # type: ignore[arg-type]
        "2 of 3 factors are in one dimension each: x (z0) and y (z1); v is not. "
        "z2 follows v in a direction that depends on x: R² 0.90 at each value of that, 0.01 over all."
    )


def test_images_without_factors(unknown: Callable[[tuple[int, ...]], TrainedRun]) -> None:
    text = page(analyse(unknown((16, 16, 3)), bootstrap=0))
    assert ids(text) == {"summary", "run", "measures", "information", "pair-plots", "reconstructions", "traversals",
                         "prior-samples", "configuration"}  # fmt: skip
    assert re.search(r"Nothing was learned: none of the \d+ dimensions says anything about the input\.", text)
    assert "MIG, SAP, DCI disentanglement, FactorVAE score: not measured (needs the factors of every row)." in text
    assert "No intervals were computed" in text


TABLE = (
    TableColumn("size", "gaussian", mean=50, scale=10),
    TableColumn("warm", "bernoulli", values=("False", "True")),
    TableColumn("colour", "categorical", 2, values=("red", "blue")),
)


def decoded(codes: np.ndarray) -> np.ndarray:
    """size follows z0; colour follows z1, and size a little; warm follows nothing."""
    red = 1 / (1 + np.exp(-4 * codes[:, 1]))
    return np.stack([50 + 8 * codes[:, 0] + codes[:, 1], np.full(len(codes), 0.3), red, 1 - red], axis=1)


def test_of_a_table_the_sentence_names_the_columns_that_each_dimension_moves() -> None:
    dims = Dimensions(np.array([1, 0.5, 0]), -np.ones(3), np.ones(3), None, ())
    probe = SimpleNamespace(codes=np.random.default_rng(0).uniform(-1, 1, (50, 3)))
    run = SimpleNamespace(columns=TABLE, decode=decoded)
    found: Any = SimpleNamespace(dimensions=dims, probe=probe, run=run, fits=[])
    # z1 moves size by 2 of 10: less than the quarter that is named.
    assert columns_moved(found) == {"z0": ["size"], "z1": ["colour"]}
    assert learned(found) == "2 of 3 dimensions say something about the input: z0 moves size; z1 moves colour."
    figure, values = traversals(found, 2)
    np.testing.assert_allclose(values[0, :, 0], 50 + np.linspace(-8, 8, 11) + typical(probe.codes, dims)[1], rtol=1e-5)
    # As high as the column varies in the table, 50 +- 2 * 10, however little a dimension moves it.
    assert [axes.get_ylim() for axes in figure.axes] == [(30, 70), (-0.05, 1.05), (-0.05, 1.05)] * 2
    assert [text.get_text() for axes in figure.axes for text in axes.texts] == ["red", "blue"]
    known = dataclasses.replace(dims, shares=np.array([[0.9, 0], [0, 0.1], [0, 0]]), factors=("age", "job"))
    assert learned(SimpleNamespace(**{**vars(found), "dimensions": known})) == (  # type: ignore[arg-type]
        "1 of 2 factors is in one dimension of its own: age (z0); job is not. "
        "2 of 3 dimensions say something about the input: z0 moves size; z1 moves colour."
    )
    one = dataclasses.replace(dims, information=np.array([1.0, 0, 0]))
    found = SimpleNamespace(dimensions=one, probe=probe, run=run, fits=[])
    assert learned(found) == "1 of 3 dimensions says something about the input: z0 moves size."
    found.run.columns = ()
    assert learned(found).endswith("says something about the input; which factors it stands for is not known.")
    found.dimensions = dataclasses.replace(dims, information=np.zeros(3))
    assert learned(found) == "Nothing was learned: none of the 3 dimensions says anything about the input."


def test_a_reason_is_given_once() -> None:
    assert by_reason({"MIG": "a", "SAP": "b", "DCI": "a"}) == {"MIG, DCI": "a", "SAP": "b"}


def test_the_rows_of_a_table(unknown: Callable[[tuple[int, ...]], TrainedRun]) -> None:
    text = page(analyse(unknown((5,)), bootstrap=0))
    assert ids(text) == {"summary", "run", "measures", "information", "pair-plots", "configuration"}
    assert "5 values a row" in text
    assert "<img" not in text


def test_every_kind_of_latent_has_its_panels(hierarchy: Findings, mixed: Findings, recursive: Findings) -> None:
    for found, own in ((hierarchy, "levels"), (mixed, "classes"), (recursive, "layers")):
        anchors = {panel.anchor for panel in draw_panels(found)}
        assert {own, "prior-samples"} <= anchors
        assert not ({"levels", "classes", "layers"} - {own}) & anchors


def test_a_folder_is_not_a_file(found: Findings, tmp_path: Path) -> None:
    with pytest.raises(HatchelError, match="is a folder; name the file"):
        write_report(found, tmp_path)
    assert not list(tmp_path.iterdir())


def test_factor_lines_are_the_largest_shares(found: Findings) -> None:
    shares = found.dimensions.shares
    assert shares is not None
    for k, line in enumerate(factor_lines(found)):
        first, second = np.argsort(-shares[:, k])[:2]
        assert line.name == ("x", "y")[k]
        assert line.dimension.split(",")[0] == f"z{first}"
        assert ("inactive" in line.dimension) == (found.dimensions.information[first] < 0.05)
        assert line.share == f"{shares[:, k].max():.2f}"
        assert line.rival == f"{shares[second, k]:.2f} (z{second})"


def test_training_time_is_what_the_events_add_up_to(run: TrainedRun, tmp_path: Path) -> None:
    events = [{"step": 50, "seconds_per_step": 0.1}, {"step": 80, "seconds_per_step": 0.5}]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events))
    made = TrainedRun(tmp_path, run.description, run.model, 80)
    assert training_seconds(made) == pytest.approx(50 * 0.1 + 30 * 0.5)


def test_a_missing_score_is_a_dash() -> None:
    assert NumberText.of(None) == NumberText("–", "")
