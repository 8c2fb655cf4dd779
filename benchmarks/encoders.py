"""Step time of the split and the recursive encoder beside the plain one, and of MINE beside none, interleaved, medians.

    python benchmarks/encoders.py [--batch 64] [--steps 3] [--rounds 7] [--size 64]

Every side makes whole training steps (forward, backward, Adam) of the library's own systems on the same random images;
the rounds alternate, so that a busy machine hurts all alike. Seconds are the process's own on one core, which other
people's work does not count into; ratios are medians over rounds of ratios within a round.
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch

from hatchel.model import System
from hatchel.presets.preset import preset
from hatchel.spec import updated
from hatchel.training.loop import make_optimizer
from hatchel.training.memory import keep_memory
from hatchel.training.spec import RunSpec, build

PLAIN = {"decoder": "deconv", "likelihood": "bernoulli"}
TABLES = {"likelihood": "bernoulli"}


def sides() -> dict[str, RunSpec]:
    """Every side by name, as a run's spec."""
    vae = preset("beta_vae", data="xy_squares")
    sides = {name: updated(vae, {**PLAIN, "encoder": name}) for name in ("conv", "split", "sharing")}
    for depth, dim in ((1, 8), (2, 16)):
        tables = {"decoder": "recurd0_decoder", "latent.dim": dim, **TABLES}
        sides[f"recurd0, {dim} sites"] = updated(vae, {**tables, "encoder": "recurd0"})
        for name, fields in (("", {"l2": 0}), (", shared MINE", {}), (", specific MINE", {"nets": "specific"})):
            sides[f"recurd{depth}{name}"] = updated(preset("recurd", data="xy_squares", depth=depth, **fields), TABLES)
    return sides


TARGETS = [
    ("split", "conv", 2.5),
    ("recurd1", "recurd0, 8 sites", 2.5),
    ("recurd2", "recurd0, 16 sites", 2.5),
    ("recurd1, shared MINE", "recurd1", 1.5),
    ("recurd2, shared MINE", "recurd2", 1.5),
    ("recurd1, specific MINE", "recurd1", None),
    ("recurd2, specific MINE", "recurd2", None),
]


class Side:
    """A system in training."""

    def __init__(self, spec: RunSpec, x: torch.Tensor) -> None:
        self.x = x
        self.system: System = build(spec, tuple(x.shape[1:]))
        self.system.to(memory_format=torch.channels_last)
        self.optimizer = make_optimizer(self.system, spec, torch.device("cpu"))
        self.done = 0

    def step(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        self.system(self.x, 10_000, self.done, 0).total.backward()
        self.optimizer.step()
        self.done += 1

    def seconds(self, steps: int) -> float:
        began = time.process_time()
        for _ in range(steps):
            self.step()
        return (time.process_time() - began) / steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--only", default="", help="sides whose names hold this")
    options = parser.parse_args()
    keep_memory()
    torch.set_num_threads(1)
    x = torch.rand(options.batch, 1, options.size, options.size).to(memory_format=torch.channels_last)
    running = {name: Side(spec, x) for name, spec in sides().items() if options.only in name}
    for side in running.values():
        side.step()
    times: dict[str, list[float]] = {name: [] for name in running}
    for _ in range(options.rounds):
        for name, side in running.items():
            times[name].append(side.seconds(options.steps))
    print(f"{options.size} px, batch {options.batch}, one core, {options.rounds} rounds of {options.steps} steps")
    for name, values in times.items():
        parameters = sum(p.numel() for p in running[name].system.parameters())
        print(f"  {name:24} {statistics.median(values) * 1000:7.1f} ms/step  {parameters / 1e6:6.3f} M parameters")
    for name, other, target in (t for t in TARGETS if set(t[:2]) <= running.keys()):
        ratio = statistics.median(a / b for a, b in zip(times[name], times[other], strict=True))
        verdict = f"target at most {target}: {'met' if ratio <= target else 'MISSED'}" if target else ""
        print(f"  {name} takes {ratio:.2f}x the time of {other}".ljust(70), verdict)


if __name__ == "__main__":
    main()
