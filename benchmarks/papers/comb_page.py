"""The tables of docs/comb.md, from the published records of Comb's studies and of the pool.

python benchmarks/papers/comb_page.py   # writes them again; results.py does the same
"""

from __future__ import annotations

import re
from pathlib import Path

from hatchel.core.files import write_bytes
from hatchel.report.style import png
from hatchel.studies.comb_winner import against_all
from hatchel.study.report import DPI
from hatchel.study.study import Study

BLOCK = re.compile(r"(<!-- made: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
FIGURE = "results/comb-against-all.png"


def write(out: Path) -> None:
    """Into OUT/comb.md, between its marks; the figure into OUT/results. Nothing where that page is not."""
    page = out / "comb.md"
    if not page.is_file():
        return
    page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
    figure = against_all(Study.load("comb-confirm").found("laptop"))
    if figure is not None:
        write_bytes(out / FIGURE, png(figure, DPI))


def filled(text: str) -> str:
    """The page with the tables that the records make now."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{tables(found[2])}\n{found[3]}", text)


def tables(name: str) -> str:
    """Every table of a study that has rows, under its title."""
    study = Study.load(name)
    frame = study.found("laptop")
    made = study.tables(frame) if len(frame) else []
    return "".join(f"{t.title}:\n\n{t.markdown()}\n\n" for t in made if t.rows) or "Not run yet.\n"


if __name__ == "__main__":
    write(Path("docs"))
