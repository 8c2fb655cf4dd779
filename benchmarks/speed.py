"""The costs of methods, precisions and the study runner, as ratios within one run; writes docs/speed.md.

    python benchmarks/speed.py [--rounds 7] [--out docs/speed.md]        or: make bench

Every side makes whole training steps (forward, backward, Adam) of the library's own systems on random images, on one
core; the rounds alternate. Seconds are the process's own, and ratios medians over rounds of ratios within a round, so
that other work on the machine counts little. A bare matrix product is timed in the same rounds: the limit.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import statistics
import tempfile
import time
from pathlib import Path

import torch
from encoders import Product, Side

from hatchel.core.memory import keep_memory
from hatchel.core.spec import updated
from hatchel.methods.resolve import resolve
from hatchel.objective.trace import Batch
from hatchel.study.engines.local import Local
from hatchel.study.runner import run_tasks
from hatchel.study.store import Store
from hatchel.study.task import Result, Task, Workspace
from hatchel.training.spec import RunSpec

CELLS, NAP = 1000, 0.01
PLAIN = {"encoder": "conv", "decoder": "deconv", "likelihood": "bernoulli"}
TARGETS = {
    "split encoder": 1.3,
    "FactorVAE, 256 units": 1.35,
    "FactorVAE, 1000 units": 1.35,
    "RecurD-1 with MINE": 2.0,
    "beta-TCVAE": 1.05,
    "HFVAE": 1.05,
}


class Nap(Task):
    """A task that takes ten milliseconds."""

    def compute(self, workspace: Workspace) -> Result:
        time.sleep(NAP)
        return Result({"slept": NAP})


class HalfSide(Side):
    """The same in mixed precision."""

    def step(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16):
            loss = self.system(Batch(self.x, 10_000, self.done))
        loss.total.backward()
        self.optimizer.step()
        self.done += 1


def methods() -> dict[str, RunSpec]:
    def plain(method: str, changes: dict[str, object] | None = None, **fields: object) -> RunSpec:
        return updated(resolve(method, "xy_squares", changes or {}), {**PLAIN, **fields})

    def recurd(**changes: object) -> RunSpec:
        spec = resolve("recurd", "xy_squares", {"depth": 1, "heads": 10, **changes})
        return updated(spec, {"likelihood": "bernoulli"})

    return {
        "beta-VAE": plain("beta_vae"),
        "split encoder": plain("beta_vae", encoder="split"),
        "FactorVAE, 256 units": plain("factor_vae", {"by.hidden": 256}),
        "FactorVAE, 1000 units": plain("factor_vae", {"by.hidden": 1000}),
        "FactorVAE, 256 units, split encoder": plain("factor_vae", {"by.hidden": 256}, encoder="split"),
        "RTC-VAE's terms, 1000 units": plain("rtc_vae", {"by.hidden": 1000}),
        "beta-TCVAE": plain("beta_tcvae"),
        "HFVAE": plain("hf_vae"),
        "RecurD-1 without MINE": recurd(l2=0, between="none"),
        "RecurD-1 with MINE": recurd(),
    }


def images(batch: int, channels: int, size: int) -> torch.Tensor:
    return torch.rand(batch, channels, size, size).to(memory_format=torch.channels_last)


def timed(sides: dict[str, Side], rounds: int, steps: int) -> tuple[dict[str, list[float]], float]:
    """Seconds a step of each side in each round, and the bare product's multiplications a second."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    product, speeds = Product(), list[float]()
    for side in sides.values():
        side.seconds(2)
    for _ in range(rounds):
        for name, side in sides.items():
            times[name].append(side.seconds(steps))
        speeds.append(product.speed())
    return times, statistics.median(speeds)


def ratio(times: dict[str, list[float]], one: str, other: str) -> float:
    return statistics.median(a / b for a, b in zip(times[one], times[other], strict=True))


def verdict(value: float, target: float | None, most: bool = True) -> str:
    if target is None:
        return ""
    met = value <= target if most else value >= target
    return f"{'at most' if most else 'at least'} {target:g}: {'met' if met else '**missed**'}"


def of_methods(rounds: int) -> list[str]:
    x = images(64, 3, 32)
    sides = {name: Side(spec, x) for name, spec in methods().items()}
    times, bare = timed(sides, rounds, 3)
    lines = [
        f"A bare float32 matrix product makes {bare / 1e9:.0f} G multiplications a second here; a step counts its "
        "networks' forward pass three times.",
        "",
        "| 32 px, batch 64, D = 10 | ms a step | of the bare product | times beta-VAE | target |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, side in sides.items():
        seconds, times_plain = statistics.median(times[name]), ratio(times, name, "beta-VAE")
        share, target = side.work(64) / seconds / bare, verdict(times_plain, TARGETS.get(name))
        lines.append(f"| {name} | {1000 * seconds:.1f} | {share:.0%} | {times_plain:.2f} | {target} |")
    return lines


def of_precision(rounds: int) -> list[str]:
    lines = ["| beta-VAE | float32, ms a step | bfloat16 | speed-up | target |", "| --- | --- | --- | --- | --- |"]
    for size, batch, channels in ((32, 64, 3), (64, 256, 1)):
        spec, x = methods()["beta-VAE"], images(batch, channels, size)
        times, _ = timed({"float32": Side(spec, x), "bfloat16": HalfSide(spec, x)}, rounds, 2)
        whole, half = (1000 * statistics.median(values) for values in times.values())
        gain = ratio(times, "float32", "bfloat16")
        target = verdict(gain, 1.6, False)
        lines.append(f"| {size} px, batch {batch} | {whole:.1f} | {half:.1f} | {gain:.2f} | {target} |")
    return lines


def of_runner() -> list[str]:
    """What the runner costs beside the tasks themselves, with one worker; the worker's start is not counted."""
    with tempfile.TemporaryDirectory() as folder:
        started: list[float] = []
        began = time.perf_counter()

        def note(tally: object) -> None:
            if not started and getattr(tally, "done", 0):
                started.append(time.perf_counter())

        tasks = [Nap(seed=seed) for seed in range(CELLS)]
        run_tasks(tasks, Store(folder), Local(workers=1), on_progress=note)
        cost = (time.perf_counter() - (started or [began])[0]) / (CELLS - 1) - NAP
    return [f"A study of {CELLS:,} tasks of 10 ms on one worker: {1000 * cost:.1f} ms a task for the runner "
            f"({verdict(1000 * cost, 5)})."]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "speed.md")
    options = parser.parse_args()
    keep_memory()
    torch.set_num_threads(1)
    parts = [
        "# Speed",
        f"Written by `make bench` (benchmarks/speed.py) on {datetime.date.today()}: one core of {platform.machine()}, "
        f"{torch.backends.cpu.get_cpu_capability()}, torch {torch.__version__}, {options.rounds} rounds, medians of "
        "processor time.",
        "\n".join(of_methods(options.rounds)),
        "\n".join(of_precision(options.rounds)),
        "\n".join(of_runner()),
    ]
    text = "\n\n".join(parts) + "\n"
    options.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
