from __future__ import annotations

from hatchel.study.table import Column, Table, table
from tests.study.made import rows

ROWS = [
    *rows({"method": "A_1", "rho": 0.5}, mig=[0.2, 0.4], tc=[1.0, 1.0]),
    *rows({"method": "B|C", "rho": 1}, tc=[2.0]),
]


def made() -> Table:
    columns = (Column("mig", "MIG", {("A_1", 0.5): 0.35, ("gone", 1): 9.0}, 2), Column("tc", "TC < 5 %", digits=1))
    return table("Both", ROWS, ("method", "rho"), columns)


def test_the_papers_column_stands_beside_ours_and_never_in_it():
    found = made()
    assert found.headings == ["method", "rho", "MIG", "MIG (paper)", "TC < 5 %", "seeds"]
    assert found.sides == ["label", "label", "ours", "paper", "ours", "seeds"]
    assert found.cells() == [
        ["A_1", "0.5", "0.30 [0.20, 0.40]", "0.35", "1.0", "2"],
        ["B|C", "1", "–", "–", "2.0", "1"],  # neither measured nor published
    ]
    assert found.lines[1].ours[0] is None
    # A line that was not computed is not shown, even though the paper has it.
    assert "9.0" not in found.markdown()


def test_markdown():
    assert made().markdown() == "\n".join(
        [
            "| method | rho | MIG | MIG (paper) | TC < 5 % | seeds |",
            "| --- | --- | --- | --- | --- | --- |",
            "| A_1 | 0.5 | 0.30 [0.20, 0.40] | 0.35 | 1.0 | 2 |",
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
            r"A\_1 & 0.5 & 0.30 [0.20, 0.40] & 0.35 & 1.0 & 2 \\",
            r"B$|$C & 1 & -- & -- & 2.0 & 1 \\",
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def test_latex_signs_are_escaped_once():
    odd = table("", rows({"method": r"\{x}^2 ~ R² ± 1 $ & #·"}, mig=[1.0]), ("method",), [Column("mig", "MIG")])
    wanted = r"\textbackslash{}\{x\}\^{}2 \~{} R$^2$ $\pm$ 1 \$ \& \#$\cdot$ & 1.000 & 1 \\"
    assert odd.latex().splitlines()[4] == wanted
