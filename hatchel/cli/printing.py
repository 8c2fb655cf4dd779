"""What the `study` commands print: tables, claims, failures."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from hatchel.core.errors import HatchelError

if TYPE_CHECKING:
    from hatchel.study.cell import Cell
    from hatchel.study.index import Answer
    from hatchel.study.store import Entry, Row, Store
    from hatchel.study.study import Claim, Scale, Study

T = TypeVar("T")
VERDICTS = {True: "holds", False: "does NOT hold", None: "undecided"}


def print_summary(study: Study, entries: Sequence[Entry], kept: Store, scale: Scale, report: str, retry: str) -> int:
    """Print what the finished cells show, and at which scale; the number of cells that failed."""
    rows = kept.rows(entries)
    seeds = sorted({row.seed for row in rows})
    cells = {entry.cell.digest() for entry in entries}
    print(f"Scale {scale}: {study.scales.get(scale, '')}")
    print(f"{len({r.digest for r in rows})} of {len(cells)} cells done; seeds {', '.join(map(str, seeds)) or 'none'}")
    if rows:
        for table in _made(study.tables, rows, "tables"):
            print(f"\n{table.title}")
            print_table(table.headings, table.cells(), markdown=table.markdown())
        _print_claims(_made(study.claims, rows, "claims"))
        print(f"\nReport with figures: {report}")
    lines = failures(entries, kept)
    if lines:
        print(f"\n{len(lines)} failed; again with: {retry}")
        print("\n".join(lines))
    return len(lines)


def failures(entries: Sequence[Entry], kept: Store) -> list[str]:
    """One line for each cell that failed."""
    failed = {e.cell.digest(): e for e in entries if kept.status(e.cell.digest()) == "failed"}
    return [
        f"{', '.join(f'{k}={v}' for k, v in e.labels.items())}, seed {e.cell.seed} ({digest}): "
        + " ".join(kept.error(digest).split())
        for digest, e in failed.items()
    ]


def label_names(entries: Sequence[Entry]) -> list[str]:
    """Every label that one of them has."""
    return list(dict.fromkeys(label for entry in entries for label in entry.labels))


def by_labels(entries: Sequence[Entry]) -> dict[tuple[Any, ...], list[Entry]]:
    """Entries that differ in their seed alone."""
    names = label_names(entries)
    found: dict[tuple[Any, ...], list[Entry]] = {}
    for entry in entries:
        found.setdefault(tuple(entry.labels.get(name, "") for name in names), []).append(entry)
    return found


def status_of(kept: Store, cell: Cell) -> str:
    """done, failed, waiting, or running: some process holds its lock."""
    from hatchel.core.files import claimed

    digest = cell.digest()
    status, lock = kept.status(digest), kept.place(digest) / "lock"
    if status == "waiting" and (kept.place(digest) / "attempt.json").is_file() and lock.is_file():
        with claimed(lock) as free:
            return "waiting" if free else "running"
    return status


def print_table(headings: Sequence[str], rows: Sequence[Sequence[Any]], markdown: str = "") -> None:
    """Columns on a terminal; elsewhere Markdown if given, else aligned text that is never cut."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if markdown and not sys.stdout.isatty():
        print(markdown)
        return
    texts = [["" if v is None else f"{v:.6g}" if isinstance(v, float) else str(v) for v in row] for row in rows]
    if not sys.stdout.isatty():
        widths = [max(map(len, column)) for column in zip(headings, *texts, strict=True)]
        for line in (headings, *texts):
            print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
        return
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in texts:
        table.add_row(*(Text(text) for text in row))
    Console().print(table)


def written(answer: Answer, form: str) -> str:
    """An answer as CSV or JSON text."""
    if form == "json":
        rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
        return json.dumps(rows, indent=1) + "\n"
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(answer.columns)
    writer.writerows(answer.rows)
    return out.getvalue()


def _print_claims(claims: Sequence[Claim]) -> None:
    if claims:
        print("\nClaims")
    for claim in claims:
        print(f"- {VERDICTS[claim.holds]}: {claim.text}\n  {claim.evidence}")


def _made(make: Callable[[Sequence[Row]], list[T]], rows: Sequence[Row], what: str) -> list[T]:
    """Part of a study may not be enough for its tables: print that, and go on with the rest."""
    try:
        return make(rows)
    except HatchelError as error:
        print(f"\nNo {what} yet: {error}")
        return []
