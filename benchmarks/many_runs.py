"""Many runs at once: N training runs of one thread each on C cores, beside one alone and beside one of C threads.

    python benchmarks/many_runs.py [--cores 2] [--rounds 7] [--seconds 5]

Every run is a process that makes whole training steps (forward, backward, Adam) of a beta-VAE on random images, as
`hatchel train --seeds` has them. What counts is steps in passed time, so that the machine must be idle: other work
takes cores from the many and leaves one to the one. The sides take turns, each for some seconds; ratios are medians
over the turns. The processor's time a step is beside it: what runs take from one another (caches, memory, clock) is in
it, and other work's share of the cores is not.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import time
from multiprocessing.connection import Connection

import torch
from encoders import PLAIN, Side

from hatchel.core.memory import keep_memory
from hatchel.core.spec import updated
from hatchel.methods.resolve import resolve

TARGET = 0.95


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(threads: int, told: Connection) -> None:
    """Trains for as long as it is told to, again and again; tells its steps a second, and the processor's seconds."""
    keep_memory()
    torch.set_num_threads(threads)
    x = torch.rand(64, 3, 32, 32).to(memory_format=torch.channels_last)
    side = Side(updated(resolve("beta_vae", "xy_squares"), {**PLAIN, "encoder": "conv"}), x)
    side.seconds(3)
    told.send((0.0, 0.0))
    while seconds := told.recv():
        began, busy, steps = time.perf_counter(), time.process_time(), 0
        while time.perf_counter() - began < seconds:
            side.step()
            steps += 1
        told.send((steps / (time.perf_counter() - began), (time.process_time() - busy) / steps))


class Runs:
    """Processes that train, or wait."""

    def __init__(self, count: int, threads: int) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._ends: list[Connection] = []
        for _ in range(count):
            ours, theirs = spawn.Pipe()
            spawn.Process(target=run, args=(threads, theirs), daemon=True).start()
            self._ends.append(ours)
        for end in self._ends:
            end.recv()

    def speed(self, seconds: float, count: int | None = None) -> tuple[float, float]:
        """Of all, or of so many: steps a second together, and the processor's seconds for each."""
        used = self._ends[:count]
        for end in used:
            end.send(seconds)
        speeds, costs = zip(*(end.recv() for end in used), strict=True)
        return sum(speeds), statistics.mean(costs)

    def stop(self) -> None:
        for end in self._ends:
            end.send(0.0)


def section(rounds: int, count: int | None = None, seconds: float = 5.0) -> list[str]:
    count = count or cores()
    single, threaded = Runs(2 * count, 1), Runs(1, count)
    found: dict[str, list[tuple[float, float]]] = {}
    sides = {
        "one run of one thread": lambda: single.speed(seconds, 1),
        f"one run of {count} threads": lambda: threaded.speed(seconds),
        f"{count} runs of one thread": lambda: single.speed(seconds, count),
        f"{2 * count} runs of one thread": lambda: single.speed(seconds),
    }
    for _ in range(rounds):
        for name, measure in sides.items():
            found.setdefault(name, []).append(measure())
    single.stop()
    threaded.stop()
    alone = found["one run of one thread"]
    lines = [
        f"Steps of beta-VAE (32 px, batch 64) in passed time on {count} cores; the load at the end was "
        f"{os.getloadavg()[0]:.1f}, these runs at most {2 * count} of it.",
        "",
        "| | steps a second, together | times one run alone | ms of the processor a step | target |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, turns in found.items():
        speed, cost = (statistics.median(values) for values in zip(*turns, strict=True))
        gain = statistics.median(a[0] / b[0] for a, b in zip(turns, alone, strict=True))
        met = "met" if gain >= TARGET * count else "**missed**"
        target = f"at least {TARGET * count:.2f}: {met}" if name == f"{count} runs of one thread" else ""
        lines.append(f"| {name} | {speed:.1f} | {gain:.2f} | {1000 * cost:.1f} | {target} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", type=int, default=cores())
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    print("\n".join(section(options.rounds, options.cores, options.seconds)))


if __name__ == "__main__":
    main()
