"""Cells that are quick, leave a trace of having been computed, and misbehave on demand."""

from __future__ import annotations

import errno
import math
import os
import signal
import socket
import time
from pathlib import Path
from typing import Literal

from hatchel.study.task import Result, Task, Workspace

ROOT = Path(__file__).parents[2]


class Toy(Task):
    """Appends a line to a log, waits at a gate if there is one, then does as it is told."""

    log: str
    """Each computation appends its seed and process."""
    act: Literal["compute", "raise", "die", "fill the disk", "not a number"] = "compute"
    """What it does to its worker or its record."""
    gate: str = ""
    """A file: the computation goes on when it is there."""

    def compute(self, workspace: Workspace) -> Result:
        """sqrt of the seed, in many digits."""
        with Path(self.log).open("a") as file:  # one write of one line: appends of several processes do not mix
            file.write(f"{self.seed} {os.getpid()}\n")
        wait_for(Path(self.gate).exists if self.gate else lambda: True)
        if self.act == "raise":
            raise ZeroDivisionError("one over nothing")
        if self.act == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.act == "fill the disk":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        value = math.nan if self.act == "not a number" else math.sqrt(self.seed) / 3
        return Result({"root": value, "seed": self.seed}, {"curve": [[0, value]]})


def wait_for(condition, seconds: float = 300) -> None:
    """Look until it is so; the limit only keeps a broken test from hanging."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def plugin(folder: Path) -> Path:
    """A plug-in file through which a worker of any engine knows the cells of this file."""
    path = folder / "toys.py"
    path.write_text(f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nimport tests.study.toy\n")
    return path


def computed(log: Path) -> list[int]:
    """Seeds in the order in which they were begun."""
    return [int(line.split()[0]) for line in log.read_text().splitlines()] if log.exists() else []


def processes(log: Path) -> list[int]:
    """Who computed, in the same order."""
    return [int(line.split()[1]) for line in log.read_text().splitlines()] if log.exists() else []


def alive(process: int) -> bool:
    """Whether a process is still there and no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def free_port() -> int:
    """One that nobody listens at now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def answers(port: int) -> bool:
    """Whether somebody listens there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
