"""Write docs/results.md and docs/results/ from the records of a store: what was run, and nothing else.

python benchmarks/papers/results.py --store studies --out docs
python benchmarks/papers/results.py --store studies --out docs --restore   # the other way, to go on where it was left

The top of the page and docs/leaderboard.md are made of the published records (`hatchel study publish pool`); of the
other studies, one that the store has nothing of stays as it is. Restored are the records themselves (records.json.gz),
so that a study can be drawn again, or extended by further cells and seeds, on another machine.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from pathlib import Path

import pandas as pd
from comb_page import write as write_comb
from head import head
from notes import NOTES

from hatchel.core.files import read_json
from hatchel.study.grid import Scale
from hatchel.study.report import facts, slug, write_report
from hatchel.study.store import Store
from hatchel.study.study import Study

HEAD = """# Results

What the five papers claim, held against what was run here: written from the records alone, without training, by
`python benchmarks/papers/results.py`. Columns marked “paper” are the paper's own figures.
"""
STUDIES = """## Every study that was run at its own scale
"""


LINES = ("| study | scale | seeds |", "| --- | --- | --- |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, default=Path("studies"))
    parser.add_argument("--out", type=Path, default=Path("docs"))
    parser.add_argument("--restore", action="store_true", help="records from OUT into STORE, and nothing else")
    options = parser.parse_args()
    if options.restore:
        print(f"{restore(Store(options.store).create(), options.out / 'results')} cells restored")
        return
    store, page = Store(options.store), options.out / "results.md"
    lines, sections = published(page.read_text(encoding="utf-8")) if page.is_file() else ({}, {})
    for made in store.studies():
        name, scale = made["study"], made["scale"]
        frame = store.frame(name, scale)
        if len(frame) and scale != "smoke":
            lines[name] = line(name, scale, frame)
            sections[name] = section(store, name, scale, frame, options.out / "results")
    parts = [
        HEAD,
        head(options.out),
        STUDIES,
        *LINES,
        *(lines[name] for name in sorted(lines)),
        "",
        *(sections[name] for name in sorted(sections)),
    ]
    page.write_text("\n".join(parts), encoding="utf-8")
    write_comb(options.out)


def published(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """The lines of the table and the sections of a page that was written before, by study."""
    lines = {found[1]: found[0] for found in re.finditer(r"^\| \[(\S+)\].*$", text, flags=re.MULTILINE)}
    parts = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    return lines, {name: f"## {part.rstrip()}\n" for part in parts if (name := part.split()[0]) in lines}


def restore(store: Store, folder: Path) -> int:
    """Write the published records into a store; how many it did not have."""
    count = 0
    for file in sorted(folder.glob("*/records.json.gz")):
        body = read_json(file.with_name("results.json"))
        scale = body["facts"]["Scale"].partition(":")[0]
        # By the digests they were published with: a later version may compute others for the same labels.
        store.list_study(body["study"], scale, [(c["labels"], c["seed"], c["cell"]) for c in body["cells"]])
        for record in json.loads(gzip.decompress(file.read_bytes())):
            if store.status(record["digest"]) == "waiting":
                store.keep(record)
                count += 1
    return count


def line(name: str, scale: Scale, frame: pd.DataFrame) -> str:
    """One study in the table at the top."""
    study = Study.load(name)
    seeds = frame["seed"].nunique()
    anchor = re.sub(r"[^\w\- ]", "", title(name, study).lower()).replace(" ", "-")  # as GitHub and Sphinx make them
    return f"| [{name}](#{anchor}) | {scale} | {seeds} |"


def title(name: str, study: Study) -> str:
    """Over a study."""
    return f"{name} ({study.paper})"


def section(store: Store, name: str, scale: Scale, frame: pd.DataFrame, out: Path) -> str:
    """One study: its facts, its claims, its tables and figures."""
    study = Study.load(name)
    cases = study.tasks(scale)
    where = made_on(store, frame)
    write_report(study, frame, scale, out / name, machine=where)
    body = read_json(out / name / "results.json")
    (out / name / "results.json").write_text(json.dumps(body, separators=(",", ":")) + "\n", encoding="utf-8")
    records = json.dumps([store.record(digest) for digest in sorted({*frame["task"]})], separators=(",", ":"))
    (out / name / "records.json.gz").write_bytes(gzip.compress(records.encode(), mtime=0))  # the same at every time
    shown = chosen(study, frame)
    for file in (out / name).iterdir():
        if file.suffix in (".html", ".svg", ".tex") or (file.suffix == ".png" and file.stem not in map(slug, shown)):
            file.unlink()
    lines = [f"## {title(name, study)}\n", f"{study.about}\n"]
    lines += [f"- {k}: {v}" for k, v in facts(study, frame, scale, where).items()]
    missing = len({c.task.digest() for c in cases}) - frame["task"].nunique()
    lines += [f"- Not run: {missing} of the tasks of this scale"] if missing else []
    lines += ["", f"Looked into: {NOTES[name]}"] if name in NOTES else []
    lines += [f"\n{t.title}:\n\n{t.markdown()}" for t in study.tables(frame) if len(t.rows) <= 24]
    lines += ["", *(f"![{n}](results/{name}/{slug(n)}.png)" for n in shown)]
    return "\n".join(lines).rstrip() + "\n"


def chosen(study: Study, frame: pd.DataFrame) -> list[str]:
    """The figures for the docs: of the box plots, which show a column each, the first alone."""
    columns = [c.heading for t in study.tables(frame) for c in t.columns]
    names = list(study.figures(frame))
    boxes = [n for n in names if n in columns]
    return [n for n in names if n not in boxes[1:]]


def made_on(store: Store, frame: pd.DataFrame) -> str:
    """The machine and the days of the records."""
    records = [store.record(digest) for digest in frame["task"].unique()]
    days = sorted({str(r["finished"])[:10] for r in records})
    machines = dict.fromkeys(str(r["machine"]) for r in records)
    return "; ".join([*machines, " to ".join(dict.fromkeys((days[0], days[-1])))])


if __name__ == "__main__":
    main()
