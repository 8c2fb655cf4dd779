"""Worker: does one cell, wherever an engine has put it."""

from __future__ import annotations

import errno
import signal
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hatchel.errors import HatchelError
from hatchel.files import claimed, write_json
from hatchel.spec import decode
from hatchel.study.cell import Cell, Place
from hatchel.study.store import Store

Outcome = Literal["done", "failed", "stopped", "elsewhere", "full"]


@dataclass(frozen=True)
class Result:
    """How it went: `elsewhere` where another process is at the same cell, `full` where the disk is."""

    digest: str
    outcome: Outcome
    message: str = ""


def perform(
    store: str, cell: Mapping[str, Any], threads: int = 1, plugins: Sequence[str] = (), retry: bool = False
) -> Result:
    """Compute a cell and keep its record. Everything it takes is plain data, so that any engine can carry it."""
    from hatchel.plugins import load_file

    for plugin in plugins:
        load_file(Path(plugin))
    spec = decode(Cell, cell)
    digest, kept = spec.digest(), Store(store)
    place = kept.place(digest)
    with claimed(place / "lock") as mine:
        if not mine:
            return Result(digest, "elsewhere")
        status = kept.status(digest)
        if status == "done" or (status == "failed" and not retry):
            return Result(
                digest, "done" if status == "done" else "failed", "" if status == "done" else kept.error(digest)
            )
        return _compute(kept, spec, place, threads)


def _compute(kept: Store, cell: Cell, place: Path, threads: int) -> Result:
    import torch

    from hatchel.training.loop import Stopped

    digest = cell.digest()
    torch.set_num_threads(threads)
    begin = time.monotonic()
    try:
        # Left behind only by a process that was killed: the runner counts these.
        write_json(place / "attempt.json", {"begin": time.time()})
        record = cell.compute(Place(place, kept.runs, threads))
        kept.write(cell, record, time.monotonic() - begin)
    except Stopped as stopped:
        (place / "attempt.json").unlink(missing_ok=True)
        return Result(digest, "stopped", str(stopped))
    except Exception as error:
        (place / "attempt.json").unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return Result(digest, "full", f"{kept.folder}: no space left; free some and run the study again")
        message = str(error) if isinstance(error, HatchelError) else f"{type(error).__name__}: {error}"
        kept.write_error(cell, message, traceback.format_exc())
        return Result(digest, "failed", message)
    (place / "attempt.json").unlink(missing_ok=True)
    return Result(digest, "done")


def begin_worker() -> None:
    """For a local worker process: Ctrl-C is left to the runner and the training loop; it dies with the runner."""
    import multiprocessing
    import os

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)  # the loop saves itself on this; idle, it ends the process

    threading.Thread(target=follow, daemon=True).start()
