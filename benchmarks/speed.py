"""Costs of methods, precisions, compiled steps, many runs, studies, large data, pythae beside us; writes docs/speed.md.

    python benchmarks/speed.py [--rounds 7] [--only runner] [--out docs/speed.md]        or: make bench

With `--only`, one section is measured and put in the place of the old one. In the first two, every side makes whole
training steps (forward, backward, Adam) of the library's own systems on random images, on one core; the rounds
alternate. Seconds are the process's own, and ratios medians over rounds of ratios within a round, so that other work on
the machine counts little. A bare matrix product is timed in the same rounds: the limit.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import compiled
import many_runs
import metrics_suite
import numpy as np
import pythae
import runner
import streaming
import torch
from encoders import Side
from limits import Limit, arithmetic, halves

from hatchel.core.memory import keep_memory
from hatchel.core.products import fast_products
from hatchel.core.spec import updated
from hatchel.data.dataset import Dataset
from hatchel.methods.resolve import resolve
from hatchel.objective.trace import Batch
from hatchel.training.cost import cost
from hatchel.training.spec import RunSpec
from hatchel.training.stacked import Stacked

PLAIN = {"encoder": "conv", "decoder": "deconv", "likelihood": "bernoulli"}
TARGETS = {
    "split encoder": 1.3,
    "FactorVAE, 256 units": 1.35,
    "FactorVAE, 1000 units": 1.35,
    "RecurD-1 with MINE": 2.0,
    "RecurD-1 with MINE, by.share=0.5": 2.0,
    "beta-TCVAE": 1.05,
    "HFVAE": 1.05,
}


MANY = "Many runs at once"


class HalfSide(Side):
    """The same in mixed precision."""

    def step(self) -> None:
        with fast_products(self.system):
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
        "RecurD-1 with MINE, by.share=0.5": recurd(**{"by.share": 0.5}),
    }


def images(batch: int, channels: int, size: int) -> torch.Tensor:
    return torch.rand(batch, channels, size, size).to(memory_format=torch.channels_last)


def timed(sides: dict[str, Side], rounds: int, steps: int) -> tuple[dict[str, list[float]], float]:
    """Seconds a step of each side in each round, and the bare product's multiplications a second."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    product, speeds = Limit(), list[float]()
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
    macs = {name: cost(spec, (3, 32, 32)).macs for name, spec in methods().items()}
    lines = [
        f"A bare float32 matrix product makes {bare / 1e9:.0f} G multiplications a second here; a step counts its "
        "networks' forward pass three times; of critics no share is given.",
        "",
        "| 32 px, batch 64, D = 10 | ms a step | of the bare product | times beta-VAE | target |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, side in sides.items():
        seconds, times_plain = statistics.median(times[name]), ratio(times, name, "beta-VAE")
        # A critic's passes are shared between its reading and its lesson, so that three times forward is not its work.
        critics = macs[name]["objective"]
        share, target = side.work(64) / seconds / bare, verdict(times_plain, TARGETS.get(name))
        shown = "" if critics else f"{share:.0%}"
        lines.append(f"| {name} | {1000 * seconds:.1f} | {shown} | {times_plain:.2f} | {target} |")
    return [*lines, "", arithmetic(macs, statistics.median(times["beta-VAE"]), bare)]


def of_stacked(rounds: int) -> list[str]:
    """Seconds a seed of several seeds in one step, beside one after another."""
    wide = {"encoder": "mlp", "decoder": "mlp_decoder"}
    small = {name: {"kind": kind, "hidden": [32]} for name, kind in wide.items()}
    lines = [
        "| beta-VAE, batch 64 | seeds | ms a seed, one by one | stacked | speed-up |",
        "| --- | --- | --- | --- | --- |",
    ]
    for title, shape, nets, seeds in (
        ("32 px colour, convolutions", (32, 32, 3), PLAIN, 4),
        ("16 px, an MLP of 256 units", (16, 16, 1), wide, 4),
        ("16 px, an MLP of 32 units", (16, 16, 1), small, 8),
    ):
        data = Dataset("random", np.random.default_rng(0).integers(0, 256, (512, *shape)).astype(np.uint8))
        spec = updated(resolve("beta_vae", "xy_squares"), {**PLAIN, **nets})
        stacked, single = Stacked(spec, range(seeds), data), Side(spec, data.reader()(torch.arange(64)))
        stacked.step(0)
        single.step()
        times = list[tuple[float, float]]()
        for step in range(1, rounds + 1):
            began = time.process_time()
            stacked.step(step)
            many = (time.process_time() - began) / seeds
            times.append((single.seconds(seeds), many))
        one, many = (1000 * statistics.median(values) for values in zip(*times, strict=True))
        gain = statistics.median(a / b for a, b in times)
        lines.append(f"| {title} | {seeds} | {one:.1f} | {many:.1f} | {gain:.2f} |")
    return lines


def of_precision(rounds: int) -> list[str]:
    lines = ["| beta-VAE | float32, ms a step | bfloat16 | speed-up | target |", "| --- | --- | --- | --- | --- |"]
    spec = methods()["beta-VAE"]
    for size, batch, channels in ((32, 64, 3), (64, 256, 1)):
        x = images(batch, channels, size)
        times, _ = timed({"float32": Side(spec, x), "bfloat16": HalfSide(spec, x)}, rounds, 2)
        whole, half = (1000 * statistics.median(values) for values in times.values())
        gain = ratio(times, "float32", "bfloat16")
        target = verdict(gain, 1.6, False)
        lines.append(f"| {size} px, batch {batch} | {whole:.1f} | {half:.1f} | {gain:.2f} | {target} |")
    many, few = ([kind(spec, images(n, 3, 32)) for kind in (Side, HalfSide)] for n in (64, 2))
    return [*lines, "", halves(many, few, rounds)]


def sections(rounds: int) -> dict[str, tuple[str, Callable[[], list[str]]]]:
    """By name: the title and what measures it."""
    return {
        "methods": ("Methods", lambda: of_methods(rounds)),
        "stacked": ("Several seeds in one step", lambda: of_stacked(rounds)),
        "precision": ("Precision", lambda: of_precision(rounds)),
        "compiled": ("Compiled steps", lambda: compiled.section(rounds)),
        "many": (MANY, lambda: many_runs.section(rounds)),
        "runner": ("The runner of studies", runner.section),
        "streaming": ("Data larger than memory", lambda: streaming.section(rounds)),
        "metrics": ("Metrics", lambda: metrics_suite.section(rounds)),
        "pythae": ("Beside pythae", lambda: pythae.section(rounds)),
    }


def machine(cores: str = "One core") -> str:
    """In a few words; the model of the processor where Linux says it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    cpu = f"{model or platform.processor() or platform.machine()}, {torch.backends.cpu.get_cpu_capability()}"
    return f"{cores} of {cpu}, torch {torch.__version__}, {datetime.date.today()}, load {os.getloadavg()[0]:.1f}"


def written(text: str, title: str, body: list[str]) -> str:
    """The page with a section in the place of the old one of that title, or at the end."""
    where = machine("All cores") if title == MANY else machine()
    own = f"## {title}\n\n{where}.\n\n" + "\n".join(body) + "\n"
    head, *parts = text.split("\n## ")
    kept = [f"## {part}" for part in parts]
    places = [i for i, part in enumerate(kept) if part.startswith(f"## {title}\n")]
    kept = [own if i in places else part for i, part in enumerate(kept)] + ([] if places else [own])
    return "\n".join([head.rstrip("\n") + "\n", *(part.rstrip("\n") + "\n" for part in kept)])


HEAD = """# Speed

Written by `make bench` (benchmarks/speed.py). Every section says on what and when it was measured, and how many
processes wanted the machine's cores meanwhile (the load). Both sides of a ratio run in turns, and ratios are medians
over the turns; seconds are the process's own unless it says otherwise. Targets that were missed stay here as such.
What follows from these numbers for larger machines is in [scale.md](scale.md).
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", nargs="+", choices=list(sections(1)), default=list(sections(1)))
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "speed.md")
    options = parser.parse_args()
    keep_memory()
    torch.set_num_threads(1)
    for name in options.only:
        title, measure = sections(options.rounds)[name]
        body = measure()
        before = options.out.read_text() if options.out.exists() else ""
        options.out.write_text(written(HEAD + before[len(before.partition("\n## ")[0]) :], title, body))
        print("\n".join([f"## {title}", "", *body, ""]))


if __name__ == "__main__":
    main()
