from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from hatchel.report.findings import Findings
from hatchel.study.comparison import Comparison, Group, estimate, grouped
from hatchel.study.comparison_page import comparison_page, comparison_panels, score_rows
from hatchel.study.frame import select, values
from hatchel.training.events import read_events
from hatchel.training.run import TrainedRun
from tests.report.links import outside


@pytest.fixture(scope="module")
def comparison(several: list[Findings]) -> Comparison:
    return grouped(several)


@pytest.fixture(scope="module")
def html(comparison: Comparison) -> str:
    return comparison_page(comparison)


def test_the_page_shows_means_intervals_seeds_and_steps(html: str, comparison: Comparison) -> None:
    for group in comparison.groups:
        found = estimate(select(comparison.frame, run=group.label), "tc_sample")
        assert found is not None
        assert found.has_interval
        assert f"{found.value:.3f}" in html
        assert f"<small>{found.low:.3f} – {found.high:.3f}</small>" in html
    each = values(select(comparison.frame, run=comparison.groups[0].label), "tc_sample")
    assert ", ".join(f"{v:.3f}" for v in each) in html
    assert "seeds 0, 1, 2, 3 steps, batch 8" in html
    assert "seed 0, 3 steps, batch 8" in html
    assert "<h1>4 runs on xy_squares</h1>" in html
    assert "different data" not in html


def test_it_asks_for_nothing_outside(html: str) -> None:
    assert outside(html) == []
    assert "<script" not in html
    assert len(html) < 6e6
    everything = re.findall(r'\bid="([^"]+)"', html)
    assert len(everything) == len(set(everything))


def test_the_best_has_a_star(several: list[Findings], monkeypatch: pytest.MonkeyPatch) -> None:
    """Three seeds of one method, and the same with less TC at every seed, as another method."""

    def better(found: Findings) -> Findings:
        score = found.scores["tc_sample"]
        less = dataclasses.replace(score, value=score.value - 1)
        return dataclasses.replace(found, scores={**found.scores, "tc_sample": less})

    monkeypatch.setattr("hatchel.study.claims.ENOUGH", 3)  # five are more than this test needs
    (group,) = grouped(several[:3]).groups
    other = Group("less", tuple(better(found) for found in group.members))
    comparison = Comparison((group, other))
    row = next(r for r in score_rows(comparison) if r.label == "TC of samples")
    assert [v.best for v in row.values] == [False, True]  # lower is better
    text = comparison_page(comparison, panels=[])
    assert text.count(" ★</span>") == sum(v.best for r in score_rows(comparison) for v in r.values) == 1


def test_runs_on_different_data_are_labelled_and_not_ranked(several: list[Findings], found: Findings) -> None:
    comparison = grouped([several[3], found])
    assert not comparison.one_data
    assert "These runs were trained on different data" in comparison_page(comparison, panels=[])
    assert not any(v.best for row in score_rows(comparison) for v in row.values)


def test_figures_hold_the_runs_numbers(comparison: Comparison, run: TrainedRun) -> None:
    panels = {p.anchor: p.drawing for p in comparison_panels(comparison)}
    assert set(panels) == {"chart", "losses", "information", "traversals"}
    (axes, *_) = panels["losses"].figures["losses"].axes
    members = [f for g in comparison.groups for f in g.members]
    drawn = [line.get_ydata().tolist() for line in axes.lines]
    assert drawn == [[e["loss"] for e in read_events(f.run.folder)] for f in members]
    bars = [a for a in panels["information"].figures["information"].axes if a.get_visible()]
    for one, found in zip(bars, members, strict=True):
        widths = [bar.get_width() for bar in one.patches]
        assert np.allclose(widths, np.sort(found.dimensions.information.clip(0))[::-1])
    dots = [li for li in panels["chart"].figures["scores"].axes[0].lines if li.get_marker() == "o"]
    beta = select(comparison.frame, run=comparison.groups[0].label)
    keys = ("mig", "sap", "dci", "factor_vae_score", "r2_x", "r2_y")
    expected = [e.value for e in (estimate(beta, key) for key in keys) if e]
    assert [dot.get_xdata()[0] for dot in dots[: len(expected)]] == expected
    assert len(panels["traversals"].figures) == 4
