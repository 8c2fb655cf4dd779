from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from hatchel.errors import HatchelError
from hatchel.report.findings import Control, Findings, examine
from hatchel.report.page import Cell, factor_lines, page, training_seconds, write_report
from hatchel.run import Run
from hatchel.spec import encode

LOADS = re.compile(r"""(?:\b(?:src|href|action|poster|data)\s*=\s*["']?|url\(|@import\s+)(?!["']?(?:data:|#))""")
SECTIONS = ("summary", "factors", "chart", "mutual-information", "information", "positions", "losses",
            "reconstructions", "traversals", "configuration")  # fmt: skip


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
    assert "http://" not in html
    assert "https://" not in html
    assert not LOADS.search(html)
    assert "<script" not in html
    assert "default-src 'none'" in html
    assert LOADS.search('<img src="x.png">')  # the pattern sees what it should
    assert LOADS.search("url(font.woff)")
    assert not LOADS.search('<use href="#a"/><img src="data:image/png;base64,AA">')


def test_names_are_escaped(html: str) -> None:
    assert "<untrained>" not in html
    assert "&lt;untrained&gt;" in html
    assert "the same &amp; more" in html


def test_numbers_on_the_page_are_the_scores(html: str, found: Findings) -> None:
    for key in ("mig", "factor_vae_score", "tc_mean", "tc_sample"):
        score = found.scores[key]
        assert f'<td class="own" data-label="Value">{score.value:.3f}</td>' in html
        assert score.interval is not None
        assert f"{score.interval.low:.3f} – {score.interval.high:.3f}" in html
    assert "lower is better" in html
    assert "-log p(x|z)" in html
    assert "TC(z)[mss]" in html
    assert "30 of 30 steps, batch 16" in html
    config = re.search(r"<pre>(.*?)</pre>", html, re.DOTALL)
    assert config is not None
    text = config[1].replace("&#34;", '"').replace("&#39;", "'").replace("&gt;", ">").replace("&lt;", "<")
    assert json.loads(text) == json.loads(json.dumps(encode(found.run.spec)))


def test_the_images_are_the_rows_in_the_order_of_information(html: str, found: Findings) -> None:
    rows = re.findall(r'<div class="strip"><div><b>(z\d)</b>', html)
    assert rows == [f"z{d}" for d in found.dimensions.order]
    pictures = [base64.b64decode(data) for data in re.findall(r"data:image/png;base64,([^\"]+)", html)]
    assert len(pictures) == 1 + len(rows)
    sizes = [Image.open(io.BytesIO(p)).size for p in pictures]
    assert sizes[0] == (12 * 17 - 1, 2 * 17 - 1)
    assert set(sizes[1:]) == {(11 * 17 - 1, 16)}


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


def test_training_time_is_what_the_events_add_up_to(run: Run, tmp_path: Path) -> None:
    events = [{"step": 50, "seconds_per_step": 0.1}, {"step": 80, "seconds_per_step": 0.5}]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events))
    made = Run(tmp_path, run.description, run.model, 80)
    assert training_seconds(made) == pytest.approx(50 * 0.1 + 30 * 0.5)


def test_images_without_factors(unknown: Callable[[tuple[int, ...]], Run]) -> None:
    text = page(examine(unknown((16, 16, 3)), bootstrap=0))
    assert ids(text) == {"summary", "measures", "information", "reconstructions", "traversals", "configuration"}
    assert "MIG: not measured" in text
    assert "No intervals were computed" in text


def test_the_rows_of_a_table(unknown: Callable[[tuple[int, ...]], Run]) -> None:
    text = page(examine(unknown((5,)), bootstrap=0))
    assert ids(text) == {"summary", "measures", "information", "configuration"}
    assert "5 values a row" in text
    assert "<img" not in text


def test_a_folder_is_not_a_file(found: Findings, tmp_path: Path) -> None:
    with pytest.raises(HatchelError, match="is a folder; name the file"):
        write_report(found, tmp_path)
    assert write_report(found, tmp_path / "new" / "r.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_missing_score_is_a_dash() -> None:
    assert Cell.of(None) == Cell("–", "")
