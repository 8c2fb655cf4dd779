from __future__ import annotations

import pytest

from hatchel.study.statistics import probability_of_improvement
from hatchel.study.table import Column, Table, differences, probability, table
from tests.study.made import both, rows, seeds

ROWS = both(
    rows({"method": "A_1", "rho": 0.5}, mig=[0.2, 0.4], tc=[1.0, 1.0]),
    rows({"method": "B|C", "rho": 1}, tc=[2.0]),
)


def made() -> Table:
    columns = (Column("mig", "MIG", {("A_1", 0.5): 0.35, ("gone", 1): 9.0}, 2), Column("tc", "TC < 5 %", digits=1))
    return table("Both", ROWS, ("method", "rho"), columns)


def test_the_papers_column_stands_beside_ours_and_never_in_it():
    found = made()
    assert found.headings == ["method", "rho", "MIG", "MIG (paper)", "TC < 5 %", "seeds"]
    assert found.sides == ["label", "label", "ours", "paper", "ours", "seeds"]
    assert found.texts() == [
        ["A_1", "0.5", "0.30 [-0.97, 1.57]", "0.35", "1.0", "2"],
        ["B|C", "1", "–", "–", "2.0", "1"],  # neither measured nor published
    ]
    assert found.rows[1].ours[0] is None
    # A line that was not computed is not shown, even though the paper has it.
    assert "9.0" not in found.markdown()


def test_markdown():
    assert made().markdown() == "\n".join(
        [
            "| method | rho | MIG | MIG (paper) | TC < 5 % | seeds |",
            "| --- | --- | --- | --- | --- | --- |",
            "| A_1 | 0.5 | 0.30 [-0.97, 1.57] | 0.35 | 1.0 | 2 |",
            r"| B\|C | 1 | – | – | 2.0 | 1 |",
        ]
    )


def test_latex():
    assert made().latex() == "\n".join(
        [
            r"\begin{tabular}{llrrrr}",
            r"\toprule",
            r"method & rho & MIG & MIG (paper) & TC $<$ 5 \% & seeds \\",
            r"\midrule",
            r"A\_1 & 0.5 & 0.30 [-0.97, 1.57] & 0.35 & 1.0 & 2 \\",
            r"B$|$C & 1 & -- & -- & 2.0 & 1 \\",
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def test_latex_signs_are_escaped_once():
    odd = table("", rows({"method": r"\{x}^2 ~ R² ± 1 $ & #·"}, mig=[1.0]), ("method",), [Column("mig", "MIG")])
    wanted = r"\textbackslash{}\{x\}\^{}2 \~{} R$^2$ $\pm$ 1 \$ \& \#$\cdot$ & 1.000 & 1 \\"
    assert odd.latex().splitlines()[4] == wanted


PLAIN = rows({"method": "plain"}, mig=[0.1, 0.2, 0.6], reconstruction=[5.0, 6.0, 7.0])
NEW = rows({"method": "new"}, mig=[0.2, 0.3, 0.7], reconstruction=[5.5, 5.5, 9.0])
ONCE = rows({"method": "once"}, mig=[0.9])
COLUMNS = (Column("mig", "MIG", {("plain",): 0.5}), Column("reconstruction", "error", digits=1), Column("no", "never"))


def test_each_method_less_the_first_seed_by_seed():
    table = differences(both(PLAIN, NEW, ONCE), "method", COLUMNS, "mig")
    assert table is not None
    assert table.title == "Difference from plain, paired over seeds"
    assert table.headings == ["method", "MIG", "error", "P(better MIG)", "seeds"]  # nothing of the paper's
    # 0.1 at every seed: no interval. Of nine pairs of runs 0.2 = 0.2 is half a win: 1 + .5, 2, 3 of 3.
    found = probability_of_improvement([0.2, 0.3, 0.7], [0.1, 0.2, 0.6])
    assert found.value == pytest.approx(6.5 / 9)
    better = f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"
    assert table.texts() == [["new", "0.100", "0.7 [-2.5, 3.8]", better, "3"]]


def test_a_method_is_held_against_the_first_with_the_same_other_labels():
    pairs = both(
        rows({"method": "a", "encoder": "plain"}, mig=[1.0, 2.0]),
        rows({"method": "a", "encoder": "split"}, mig=[2.0, 4.0]),
        rows({"method": "b", "encoder": "plain"}, mig=[5.0, 5.0]),
        rows({"method": "b", "encoder": "split"}, mig=[4.0, 4.0]),
    )
    table = differences(pairs, "encoder", COLUMNS, "mig")
    assert table is not None
    assert [(line.labels, line.ours[0].value) for line in table.rows if line.ours[0]] == [
        (("a", "split"), 1.5),
        (("b", "split"), -1.0),
    ]


def test_one_shared_seed_is_no_difference():
    assert differences(both(seeds(PLAIN, 0), NEW), "method", COLUMNS, "mig") is None


def test_of_an_error_the_lower_is_better():
    found = probability(NEW, PLAIN, "reconstruction")
    assert found is not None
    assert found.value == pytest.approx((2 + 2 + 0) / 9)  # 5.5 is below 6 and 7, 9 below nothing
    assert probability(ONCE, PLAIN, "mig") is None
