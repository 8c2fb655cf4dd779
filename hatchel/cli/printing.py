"""What commands print: tables, JSON; of studies their claims and failures."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar, cast

from hatchel.core.errors import HatchelError

if TYPE_CHECKING:
    import pandas as pd

    from hatchel.study.claims import Verdict
    from hatchel.study.grid import Scale
    from hatchel.study.runner import Tally
    from hatchel.study.store import Store
    from hatchel.study.study import Study
    from hatchel.study.table import Table
    from hatchel.study.task import Case, Task

T = TypeVar("T")


def print_summary(
    study: Study, cases: Sequence[Case], kept: Store, scale: Scale, report: str, retry: str, as_json: bool = False
) -> int:
    """Print what the finished tasks show, and at which scale; the number of tasks that failed."""
    frame = kept.frame_of(cases, study.name, scale)
    seeds, done = sorted({*map(int, frame["seed"])}), int(frame["task"].nunique())
    every, lines = {case.task.digest() for case in cases}, failures(cases, kept)
    notes: list[str] = []
    tables = _made(study.tables, frame, "tables", notes) if len(frame) else []
    verdicts = _made(study.verdicts, frame, "claims", notes) if len(frame) else []
    if as_json:
        print_json(
            {
                "study": study.name, "scale": scale, "tasks": len(every), "done": done, "seeds": seeds,
                "tables": [table_rows(table) for table in tables],
                "claims": [verdict.to_dict() for verdict in verdicts], "notes": notes, "failed": lines,
            }
        )  # fmt: skip
        return len(lines)
    print(f"Scale {scale}: {study.words(scale)}")
    print(f"{done} of {len(every)} tasks done; seeds {', '.join(map(str, seeds)) or 'none'}")
    for table in tables:
        print(f"\n{table.title}")
        print_table(table.headings, table.texts(), markdown=table.markdown())
    print_claims(verdicts)
    for note in notes:
        print(f"\n{note}")
    if len(frame):
        print(f"\nReport with figures: {report}")
    if lines:
        print(f"\n{len(lines)} failed; again with: {retry}")
        print("\n".join(lines))
    return len(lines)


@contextmanager
def live_tally(quiet: bool) -> Generator[Callable[[Tally], None]]:
    """What `run_tasks` reports to: a live line of how far it is, or nothing if `quiet`."""
    from hatchel.core.progress import status

    with nullcontext() if quiet else status() as show:
        yield lambda t: show(t.done + t.failed, t.total, t.text()) if show else None


def table_rows(table: Table) -> dict[str, Any]:
    """A table for JSON: its title, and rows of labels and, by the column's heading, ours and the paper's."""
    rows: list[dict[str, Any]] = []
    for row in table.rows:
        found: dict[str, Any] = dict(zip(table.by, row.labels, strict=True))
        for column, ours, paper in zip(table.columns, row.ours, row.paper, strict=True):
            found[column.heading] = ours and {"value": ours.value, "low": ours.low, "high": ours.high, "seeds": ours.n}
            if column.published:
                found[f"{column.heading} (paper)"] = paper
        rows.append(found)
    return {"title": table.title, "rows": rows}


def print_json(body: Any) -> None:
    """The one thing that a command with --json prints; what is not a finite number is null, as JSON has it."""
    print(json.dumps(_plain(body), indent=2, default=str, allow_nan=False))


def _plain(body: Any) -> Any:
    if isinstance(body, Mapping):
        return {str(key): _plain(value) for key, value in cast(Mapping[Any, Any], body).items()}
    if isinstance(body, list | tuple):
        return [_plain(value) for value in cast(Sequence[Any], body)]
    if hasattr(body, "item"):  # a number of numpy's
        body = body.item()
    return None if isinstance(body, float) and not math.isfinite(body) else body


def failures(cases: Sequence[Case], kept: Store) -> list[str]:
    """One line for each task that failed."""
    failed = {c.task.digest(): c for c in cases if kept.status(c.task.digest()) == "failed"}
    return [
        f"{', '.join(f'{k}={v}' for k, v in c.labels.items())}, seed {c.task.seed} ({digest}): "
        + " ".join(kept.error(digest).split())
        for digest, c in failed.items()
    ]


def label_names(cases: Sequence[Case]) -> list[str]:
    """Every label that one of them has."""
    return list(dict.fromkeys(label for case in cases for label in case.labels))


def by_labels(cases: Sequence[Case]) -> dict[tuple[Any, ...], list[Case]]:
    """Cases that differ in their seed alone."""
    names = label_names(cases)
    found: dict[tuple[Any, ...], list[Case]] = {}
    for case in cases:
        found.setdefault(tuple(case.labels.get(name, "") for name in names), []).append(case)
    return found


def status_of(kept: Store, task: Task) -> str:
    """done, failed, waiting, or running: some process holds its lock."""
    from hatchel.core.files import claimed

    digest = task.digest()
    found, lock = kept.status(digest), kept.lock(digest)
    if found == "waiting" and kept.attempt(digest).is_file() and lock.is_file():
        with claimed(lock) as free:
            return "waiting" if free else "running"
    return found


def print_table(headings: Sequence[str], rows: Sequence[Sequence[Any]], markdown: str = "") -> None:
    """Columns on a terminal; elsewhere Markdown if given, else aligned text that is never cut."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if markdown and not console.is_terminal:
        print(markdown)
        return
    texts = [["" if v is None else f"{v:.6g}" if isinstance(v, float) else str(v) for v in row] for row in rows]
    if not console.is_terminal:
        widths = [max(map(len, column)) for column in zip(headings, *texts, strict=True)]
        for line in (headings, *texts):
            print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
        return
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(heading, overflow="fold", style="" if place else "cyan")
    for row in texts:
        table.add_row(*(Text(text) for text in row))
    console.print(table)


def as_text(answer: pd.DataFrame, form: str) -> str:
    """What a query found as CSV or JSON text."""
    if form == "json":
        return json.dumps(_plain(answer.to_dict("records")), indent=1, allow_nan=False) + "\n"
    return answer.to_csv(index=False, lineterminator="\n")


def print_claims(found: Sequence[Verdict]) -> None:
    """By paper, with a line that counts the verdicts."""
    for paper in dict.fromkeys(verdict.claim.paper for verdict in found):
        own = [verdict for verdict in found if verdict.claim.paper == paper]
        words = [verdict.word for verdict in own]
        names = {"holds": "hold", "does not hold": "do not", "undecided": "undecided", "not run": "not run"}
        counts = ", ".join(f"{words.count(word)} {name}" for word, name in names.items())
        print(f"\n{paper}: {len(own)} claims: {counts}")
        for verdict in own:
            claim = verdict.claim
            print(f"{claim.id} ({claim.where}{', ours' * claim.ours}) {verdict.word}: {claim.text}")
            if verdict.evidence != verdict.word:
                print(f"  {verdict.evidence}")


def _made(make: Callable[[pd.DataFrame], list[T]], frame: pd.DataFrame, what: str, notes: list[str]) -> list[T]:
    """Part of a study may not be enough for its tables: that is noted, and the rest goes on."""
    try:
        return make(frame)
    except HatchelError as error:
        notes.append(f"No {what} yet: {error}")
        return []
