"""Training on data larger than memory: 10^7 images in a memory-mapped file beside as many steps on a small set.

    python benchmarks/streaming.py [--items 10000000] [--rounds 7]

The file is sparse, so that it needs no disk: its pages are zeros, but each is read through the page cache as any other
file's. What a slow disk adds is not in it: that is the disk's own time for a batch, which the table gives for 500 MB/s.
Both sides train the same beta-VAE (32 px, colour, batch 64) step by step in turns, from the order of items
(a permutation of all of them) to the optimiser.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from hatchel.core.memory import keep_memory, physical
from hatchel.core.spec import updated
from hatchel.data.dataset import Dataset
from hatchel.methods.resolve import resolve
from hatchel.training.loop import make_optimizer
from hatchel.training.order import Batches

SIZE, BATCH, SMALL = 32, 64, 10_000
DISK = 500e6


class Side:
    """A training on one set of images."""

    def __init__(self, images: np.ndarray) -> None:
        spec = updated(
            resolve("beta_vae", "xy_squares"), {"encoder": "conv", "decoder": "deconv", "likelihood": "bernoulli"}
        )
        data = Dataset("zeros", images, None)
        spec = spec.with_fields(batch_size=BATCH)
        self.batches = Batches(spec, data, torch.arange(len(data)))
        self.read = data.reader()
        self.system = spec.build(data.shape)
        self.system.to(memory_format=torch.channels_last)
        self.optimizer = make_optimizer(self.system, spec, torch.device("cpu"))
        self.done = 0

    def seconds(self, steps: int) -> tuple[float, float]:
        """A step, and reading its batch, the processor's seconds."""
        reading, began = 0.0, time.process_time()
        for _ in range(steps):
            before = time.process_time()
            batch = self.batches.at(self.done, self.read)
            reading += time.process_time() - before
            self.optimizer.zero_grad(set_to_none=True)
            self.system(batch).total.backward()
            self.optimizer.step()
            self.done += 1
        return (time.process_time() - began) / steps, reading / steps


def section(rounds: int = 7, items: int = 10_000_000, steps: int = 5) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "images.npy"
        whole = np.lib.format.open_memmap(path, "w+", np.uint8, (items, SIZE, SIZE, 3))  # sparse: nothing is written
        began = time.process_time()
        sides = {"in memory": Side(np.zeros((SMALL, SIZE, SIZE, 3), np.uint8)), "memory-mapped": Side(whole)}
        for side in sides.values():
            side.seconds(2)
        first = time.process_time() - began
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
        for _ in range(rounds):
            for name, side in sides.items():
                times[name].append(side.seconds(steps))
        pairs = zip(times["memory-mapped"], times["in memory"], strict=True)
        ratio = statistics.median(a[0] / b[0] for a, b in pairs)
    lines = ["| beta-VAE, 32 px, batch 64 | ms a step | of it reading |", "| --- | --- | --- |"]
    for name, images in (("in memory", SMALL), ("memory-mapped", items)):
        step, reading = (1000 * statistics.median(t[i] for t in times[name]) for i in (0, 1))
        lines.append(f"| {images:,} images, {name} | {step:.1f} | {reading:.2f} |")
    size, peak = 3 * items * SIZE * SIZE / 1e9, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    own = 1000 * 3 * BATCH * SIZE * SIZE / DISK
    return [
        *lines,
        "",
        f"{ratio:.2f} times the time in memory (at most 1.1: {'met' if ratio <= 1.1 else '**missed**'}); {size:.1f} GB "
        f"of images on a machine with {physical() / 1e9:.0f} GB, the process at most {peak:.1f} GB; the first",
        f"permutation and steps of both took {first:.1f} s. The file is sparse: a disk of 500 MB/s takes {own:.2f} ms",
        "more for a batch, if it reads whole images.",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    keep_memory()
    torch.set_num_threads(1)
    print("\n".join(section(options.rounds, options.items)))


if __name__ == "__main__":
    main()
