from __future__ import annotations

import numpy as np
import pytest

from hatchel.study import figures
from hatchel.study.figures import agreement, joined, wins
from tests.study.made import both, rows, seeds

THREE = both(
    rows({"method": "a"}, mig=[0.1, 0.2, 0.6], rec=[1.0, 2.0, 3.0]), rows({"method": "b"}, mig=[0.5], rec=[4.0])
)
FIVE = rows({"method": "a"}, mig=[0.1, 0.2, 0.3, 0.4, 0.9])


def dots(axes, marker="o"):
    return [line for line in axes.lines if line.get_marker() == marker]


def test_boxes_show_every_seed_and_the_papers_figure_apart():
    axes = figures.boxes(THREE, "mig", "method", "MIG", {"b": 0.45, "gone": 0.9}).axes[0]
    seeds = [np.asarray(line.get_xdata()).tolist() for line in dots(axes)]
    assert seeds == [[0.1, 0.2, 0.6], [0.5]]
    paper = [np.asarray(line.get_xdata()).tolist() for line in dots(axes, "D")]
    assert [p for p in paper if p] == [[0.45]]
    assert dots(axes, "D")[0].get_fillstyle() == "none"
    assert [t.get_text() for t in axes.get_yticklabels()] == ["a  (n=3)", "b  (n=1)"]
    mean = [line.get_xdata() for line in axes.lines if line.get_marker() == "None" and len(line.get_xdata()) == 2]
    assert np.allclose(mean, [[0.3, 0.3]])  # of a alone: one seed is its own mean


def test_a_box_needs_five_seeds():
    axes = figures.boxes(FIVE, "mig", "method").axes[0]
    strokes = [np.asarray(line.get_xdata()) for line in axes.lines]
    assert any(len(s) == 2 and np.allclose(s, 0.3) for s in strokes)  # the median, not the mean 0.38
    assert not any(len(s) == 2 and np.allclose(s, 0.38) for s in strokes)


def test_scatter_draws_a_dot_a_task_and_tells_many_labels_apart():
    axes = figures.scatter(THREE, "rec", "mig", "method", ("error", "MIG")).axes[0]
    assert [np.asarray(line.get_xydata()).tolist() for line in axes.lines] == [
        [[1.0, 0.1], [2.0, 0.2], [3.0, 0.6]],
        [[4.0, 0.5]],
    ]
    many = both(*(rows({"method": f"m{i}"}, x=[0.0], y=[0.0]) for i in range(20)))
    drawn = figures.scatter(many, "x", "y", "method").axes[0].lines
    assert len({(line.get_color(), line.get_marker()) for line in drawn}) == 20


def test_named_means_stand_at_the_mean_and_their_names_apart():
    close = both(*(rows({"method": f"method {i}"}, mig=[0.1 * i, 0.2 + 0.1 * i], rec=[10.0, 30.0]) for i in range(6)))
    figure = figures.named_means(close, "rec", "mig", "method", ("error", "MIG"))
    axes = figure.axes[0]
    means = [line.get_xydata()[0].tolist() for line in axes.lines if line.get_markersize() == 8]
    assert np.allclose(means, [[20.0, 0.1 + 0.1 * i] for i in range(6)])
    assert sorted(text.get_text() for text in axes.texts) == [f"method {i}" for i in range(6)]
    boxes = [text.get_window_extent() for text in axes.texts]
    assert not any(box.count_overlaps(boxes[:i]) for i, box in enumerate(boxes))


def test_more_lines_than_colours_are_told_apart_by_their_markers():
    many = both(*(rows({"method": f"m{i}", "D": d}, tc=[float(i)]) for i in range(9) for d in (1, 2)))
    drawn = [(line.get_color(), line.get_marker()) for line in figures.lines(many, "D", "tc", "method").axes[0].lines]
    assert len(set(drawn)) == len(drawn) == 9


def test_lines_are_means_in_order_of_the_label():
    means = {20: [2.0, 4.0], 5: [1.0, 1.0]}
    by_dim = both(*(rows({"M": 64, "D": d}, tc=m, truth=m) for d, m in means.items()))
    axes = figures.lines(by_dim, "D", {"tc": "estimated", "truth": "true"}, "M").axes[0]
    assert [np.asarray(line.get_xydata()).tolist() for line in axes.lines] == [[[5.0, 1.0], [20.0, 3.0]]] * 2
    legend = axes.get_legend()
    assert legend is not None
    assert [t.get_text() for t in legend.get_texts()] == ["M = 64: estimated", "M = 64: true"]
    assert [line.get_linestyle() for line in axes.lines] == ["-", "--"]


def test_curves_are_the_mean_over_seeds():
    made = both(*(
        rows({"method": "a"}, {"curves": {"mig": [[10, a], [20, b]]}}, mig=[b]).assign(task=str(a))
        for a, b in ([1.0, 2.0], [3.0, 6.0])
    ))  # fmt: skip
    axes = figures.curves(made, "mig", "method").axes[0]
    assert np.asarray(axes.lines[0].get_xydata()).tolist() == [[10.0, 2.0], [20.0, 4.0]]


def test_heat_leaves_out_what_is_missing():
    axes = figures.heat([[0.1, None], [0.7, 1.0]], ["z0", "z1"], ["x", "y"]).axes[0]
    assert [t.get_text() for t in axes.texts] == ["0.10", "0.70", "1.00"]


def test_grid_of_hides_empty_panels():
    seen = []
    figure = figures.grid_of({"a": 1, "b": 2, "c": 3, "d": 4}, lambda axes, entry: seen.append(entry), across=3)
    assert seen == [1, 2, 3, 4]
    assert [axes.get_visible() for axes in figure.axes] == [True] * 4 + [False] * 2


@pytest.mark.parametrize("count", [2, 20])
def test_the_axes_stay_large_beside_any_legend(count):
    many = both(*(rows({"method": f"a longer name {i}"}, x=[0.0], y=[0.0]) for i in range(count)))
    figure = figures.scatter(many, "x", "y", "method")
    figure.draw_without_rendering()
    assert figure.axes[0].get_position().height * figure.get_figheight() > 1.8  # inches


def test_violins_from_five_seeds_on():
    many = rows({"method": "a"}, mig=[0.1, 0.2, 0.3, 0.4, 0.5])
    few = rows({"method": "b"}, mig=[0.1, 0.2])
    axes = figures.boxes(both(many, few), "mig", "method", shape="violin").axes[0]
    (body,) = axes.collections
    assert np.allclose(body.get_paths()[0].get_extents().intervalx, [0.1, 0.5], atol=0.01)
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first on top


PLAIN = rows({"method": "plain"}, mig=[0.1, 0.2, 0.6], reconstruction=[5.0, 6.0, 7.0])
NEW = rows({"method": "new"}, mig=[0.2, 0.3, 0.7], reconstruction=[5.5, 5.5, 9.0])
ONCE = rows({"method": "once"}, mig=[0.9])


def numbers(figure) -> list[list[str]]:
    texts = [t.get_text() for t in figure.axes[0].texts]
    side = len(figure.axes[0].get_yticklabels())
    return [texts[i : i + side - 1] for i in range(0, len(texts), side - 1)]  # the diagonal is empty


def test_wins_are_drawn_within_a_data_set():
    third = rows({"method": "third"}, mig=[0.0, 0.0])
    drawn = wins(both(PLAIN, NEW, third, ONCE), "mig", "MIG")
    assert list(drawn) == ["Probability of a better MIG, line against column"]
    (figure,) = drawn.values()
    assert numbers(figure) == [["0.28", "1.00"], ["0.72", "1.00"], ["0.00", "0.00"]]
    all_three = both(PLAIN, NEW, third)
    two = both(*(all_three.assign(data=data) for data in "xy"))
    assert [name[-3:] for name in wins(two, "mig", "MIG")] == [", x", ", y"]
    assert wins(both(PLAIN, NEW), "mig", "MIG") == {}


def test_scores_that_rank_alike_and_the_other_way_round():
    runs = rows({"method": "a"}, mig=[1, 2, 3, 4, 5, 6], dci=[1, 4, 9, 16, 25, 36], reconstruction=[6, 5, 4, 3, 2, 1])
    drawn = agreement(runs, {"mig": "MIG", "dci": "DCI", "reconstruction": "error", "no": "never"})
    assert list(drawn) == ["Rank correlation of the scores over 6 runs"]
    (figure,) = drawn.values()
    assert numbers(figure) == [["1.00", "-1.00"], ["1.00", "-1.00"], ["-1.00", "-1.00"]]
    shade = figure.axes[0].collections[0].get_array()[..., 3]
    assert np.allclose(shade, 1 - np.eye(3))  # as strong, whatever the sign
    scores = {"mig": [1, 2, 3, 4, 5, 6], "dci": [1, 4, 9, 16, 25, 36], "reconstruction": [6, 5, 4, 3, 2, 1]}
    rare = rows({"method": "a"}, **scores, no=[1.0])  # one run alone has it: left out
    assert list(agreement(rare, {"mig": "MIG", "dci": "DCI", "reconstruction": "error", "no": "rare"})) == list(drawn)
    assert agreement(seeds(runs, 0, 1, 2, 3, 4), {"mig": "MIG", "dci": "DCI", "reconstruction": "error"}) == {}


def test_labels_in_one():
    assert joined(rows({"method": "a", "beta": 0.5}, mig=[1.0])) == ["a · 0.5"]
