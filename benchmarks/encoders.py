"""Step time of the split and recursive encoders and of DeVAE beside the plain one, of MINE beside none, interleaved.

    python benchmarks/encoders.py [--batch 64] [--steps 3] [--rounds 7] [--sizes 32 64]

Every side makes whole training steps (forward, backward, Adam) of the library's own systems on the same random images;
the rounds alternate, so that a busy machine hurts all alike. Seconds are the process's own on one core, which other
people's work does not count into; ratios are medians over rounds of ratios within a round.

RecurD's encoders are those of the reading that fits its paper's Table 10: RecurD-1 makes 6 M multiplications an image
at 64 px, two thirds of the plain encoder's 9 M; with `reading=literal` it makes 49 M. MINE's cost, 128 units for every
pair, does not depend on the images' size and weighs most at 32 px, where a step is short: its target is missed there,
and at 64 px too since the networks have 128 units in place of 32.
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch

from hatchel.core.memory import keep_memory
from hatchel.core.products import fast_products
from hatchel.core.spec import updated
from hatchel.methods.resolve import resolve
from hatchel.objective.trace import Batch
from hatchel.training.cost import cost
from hatchel.training.loop import make_optimizer
from hatchel.training.model import System
from hatchel.training.spec import RunSpec

PLAIN = {"decoder": "deconv", "likelihood": "bernoulli"}
TABLES = {"likelihood": "bernoulli"}


def sides() -> dict[str, RunSpec]:
    """Every side by name, as a run's spec."""
    vae = resolve("beta_vae", "xy_squares")
    sides = {name: updated(vae, {**PLAIN, "encoder": name}) for name in ("conv", "split", "sharing")}
    sides["de_vae"] = updated(resolve("de_vae", "xy_squares"), {**PLAIN, "encoder": "conv"})
    for depth, dim in ((1, 8), (2, 16)):
        tables = {"decoder": "recurd0_decoder", "latent.dim": dim, **TABLES}
        sides[f"recurd0, {dim} sites"] = updated(vae, {**tables, "encoder": "recurd0"})
        kinds = (
            ("", {"l2": 0, "between": "none"}),
            (" literal", {"l2": 0, "between": "none", "reading": "literal"}),
            (", within", {"between": "none"}),
            (", shared MINE", {}),
            (", specific MINE", {"nets": "specific"}),
        )
        for name, fields in kinds:
            sides[f"recurd{depth}{name}"] = updated(
                resolve("recurd", "xy_squares", {"depth": depth, "heads": dim, **fields}), TABLES
            )
    return sides


TARGETS = [
    ("split", "conv", 2.5),
    ("de_vae", "conv", 1.15),
    ("recurd1", "recurd0, 8 sites", 1.5),
    ("recurd2", "recurd0, 16 sites", 2.5),
    ("recurd1 literal", "recurd0, 8 sites", None),
    ("recurd1, within", "recurd1", None),
    ("recurd1, shared MINE", "recurd1", 1.5),
    ("recurd2, shared MINE", "recurd2", 1.5),
    ("recurd1, specific MINE", "recurd1", None),
    ("recurd2, specific MINE", "recurd2", None),
]


class Side:
    """A system in training."""

    def __init__(self, spec: RunSpec, x: torch.Tensor) -> None:
        self.x = x
        macs = cost(spec, tuple(x.shape[1:])).macs
        self.macs = sum(macs.values())
        self.system: System = spec.build(tuple(x.shape[1:]))
        self.system.to(memory_format=torch.channels_last)
        self.optimizer = make_optimizer(self.system, spec, torch.device("cpu"))
        self.done = 0

    def step(self) -> None:
        with fast_products(self.system):
            self.optimizer.zero_grad(set_to_none=True)
            self.system(Batch(self.x, 10_000, self.done)).total.backward()
            self.optimizer.step()
        self.done += 1

    def work(self, batch: int) -> int:
        """Multiplications of one step: forward, and backward to the inputs and to the weights of every layer."""
        return 3 * batch * self.macs

    def seconds(self, steps: int) -> float:
        began = time.process_time()
        for _ in range(steps):
            self.step()
        return (time.process_time() - began) / steps


class Product:
    """A bare matrix product, as a measure of the machine: rows of the second convolution of RecurD-1, unfolded."""

    def __init__(self) -> None:
        self.a, self.b = torch.rand(16384, 512), torch.rand(512, 64)

    @fast_products()
    def speed(self) -> float:
        """Multiplications a second."""
        began = time.process_time()
        for _ in range(4):
            self.a @ self.b
        return 4 * self.a.shape[0] * self.a.shape[1] * self.b.shape[1] / (time.process_time() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sizes", type=int, nargs="+", default=[32, 64], help="pixels a side [32 64]")
    parser.add_argument("--only", default="", help="sides whose names hold this")
    options = parser.parse_args()
    keep_memory()
    torch.set_num_threads(1)
    for size in options.sizes:
        measure(size, options)


def measure(size: int, options: argparse.Namespace) -> None:
    x = torch.rand(options.batch, 1, size, size).to(memory_format=torch.channels_last)
    running = {name: Side(spec, x) for name, spec in sides().items() if options.only in name}
    for side in running.values():
        side.step()
    times: dict[str, list[float]] = {name: [] for name in running}
    product, speeds = Product(), list[float]()
    for _ in range(options.rounds):
        for name, side in running.items():
            times[name].append(side.seconds(options.steps))
        speeds.append(product.speed())
    bare = statistics.median(speeds)
    print(f"{size} px, batch {options.batch}, one core, {options.rounds} rounds of {options.steps} steps")
    print(f"a bare matrix product: {bare / 1e9:.1f} G multiplications a second; a step counts forward three times")
    for name, values in times.items():
        side, seconds = running[name], statistics.median(values)
        parameters = sum(p.numel() for p in side.system.parameters())
        print(
            f"  {name:24} {seconds * 1000:7.1f} ms/step  {parameters / 1e6:6.3f} M parameters  "
            f"{side.macs / 1e6:5.1f} M multiplications  {side.work(options.batch) / seconds / 1e9:5.1f} G/s"
        )
    for name, other, target in (t for t in TARGETS if set(t[:2]) <= running.keys()):
        ratio = statistics.median(a / b for a, b in zip(times[name], times[other], strict=True))
        verdict = f"target at most {target}: {'met' if ratio <= target else 'MISSED'}" if target else ""
        print(f"  {name} takes {ratio:.2f}x the time of {other}".ljust(70), verdict)
        if target and ratio > target:
            needed = running[name].work(options.batch) / (target * statistics.median(times[other]))
            more = running[name].macs / running[other].macs
            print(f"    {more:.2f}x the multiplications, at the target to be made at")
            print(f"    {needed / 1e9:.1f} G/s over the whole step, {needed / bare:.0%} of a bare product's speed")


if __name__ == "__main__":
    main()
