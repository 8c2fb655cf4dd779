"""Write docs/results.md and docs/results/ from the records of a store: what was run, and nothing else.

python benchmarks/papers/results.py --store studies --out docs
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path

from notes import NOTES

from hatchel.files import read_json
from hatchel.spec import decode
from hatchel.study.report import facts, slug, summary, verdict, write_report
from hatchel.study.store import Row, Store
from hatchel.study.study import Scale, Study

HEAD = """# Results

Every study of `hatchel study list` that has been run, at the scale that is named beside it; written by
`benchmarks/papers/results.py` from the records alone. A verdict is about that scale: *holds here* and *does not hold
here* mean that the 95 % interval of the paired difference over seeds leaves out the limit, *undecided here* that it
does not, or that there are fewer than three seeds. Columns marked “paper” are the paper's own figures.
"""


LINES = (
    "| study | scale | seeds | claims that hold | do not hold | undecided |",
    "| --- | --- | --- | --- | --- | --- |",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, default=Path("studies"))
    parser.add_argument("--out", type=Path, default=Path("docs"))
    options = parser.parse_args()
    store = Store(options.store)
    pages: dict[tuple[str, Scale], list[Row]] = {}
    for page in store.studies():
        rows = store.rows(decode(Study, page["study"]).entries(page["scale"]))
        if rows and page["scale"] != "smoke":
            pages[page["study"], page["scale"]] = rows
    parts = [HEAD, *LINES, *(line(name, scale, rows) for (name, scale), rows in pages.items()), ""]
    parts += [section(store, name, scale, rows, options.out / "results") for (name, scale), rows in pages.items()]
    (options.out / "results.md").write_text("\n".join(parts), encoding="utf-8")


def line(name: str, scale: Scale, rows: Sequence[Row]) -> str:
    """One study in the table at the top."""
    study = decode(Study, name)
    found = [claim.holds for claim in study.claims(rows)]
    counts = (str(found.count(holds) or "") for holds in (True, False, None))
    seeds = len({r.seed for r in rows})
    anchor = re.sub(r"[^\w\- ]", "", title(name, study).lower()).replace(" ", "-")  # as GitHub and Sphinx make them
    return f"| [{name}](#{anchor}) | {scale} | {seeds} | {' | '.join(counts)} |"


def title(name: str, study: Study) -> str:
    """Over a study."""
    return f"{name} (paper {study.paper})"


def section(store: Store, name: str, scale: Scale, rows: Sequence[Row], out: Path) -> str:
    """One study: its facts, its claims, its tables and figures."""
    study = decode(Study, name)
    entries = study.entries(scale)
    where = made_on(store, rows)
    write_report(study, rows, scale, out / name, machine=where)
    compact = json.dumps(read_json(out / name / "results.json"), separators=(",", ":"))
    (out / name / "results.json").write_text(compact + "\n", encoding="utf-8")
    shown = chosen(study, rows)
    for file in (out / name).iterdir():
        if file.suffix in (".html", ".svg", ".tex") or (file.suffix == ".png" and file.stem not in map(slug, shown)):
            file.unlink()
    lines = [f"## {title(name, study)}\n", f"{summary(study)}\n"]
    lines += [f"- {k}: {v}" for k, v in facts(study, rows, scale, where).items()]
    missing = len({e.cell.digest() for e in entries}) - len({r.digest for r in rows})
    lines += [f"- Not run: {missing} of the cells of this scale"] if missing else []
    claims = study.claims(rows)
    lines += ["", *(f"- {verdict(c)}: {c.text} {c.evidence}" for c in claims)] if claims else []
    lines += ["", f"Looked into: {NOTES[name]}"] if name in NOTES else []
    lines += [f"\n{t.title}:\n\n{t.markdown()}" for t in study.tables(rows) if len(t.lines) <= 24]
    lines += ["", *(f"![{n}](results/{name}/{slug(n)}.png)" for n in shown)]
    return "\n".join([*lines, ""])


def chosen(study: Study, rows: Sequence[Row]) -> list[str]:
    """The figures for the docs: of the box plots, which show a column each, the first alone."""
    columns = [c.heading for t in study.tables(rows) for c in t.columns]
    names = list(study.figures(rows))
    boxes = [n for n in names if n in columns]
    return [n for n in names if n not in boxes[1:]]


def made_on(store: Store, rows: Sequence[Row]) -> str:
    """The machine and the days of the records."""
    records = [store.record(r.digest) for r in rows]
    days = sorted({str(r["finished"])[:10] for r in records})
    machines = dict.fromkeys(str(r["machine"]) for r in records)
    return "; ".join([*machines, " to ".join(dict.fromkeys((days[0], days[-1])))])


if __name__ == "__main__":
    main()
