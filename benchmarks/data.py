"""Batches per second for dSprites against a torch DataLoader over the same array, and the price of making the data.

    python benchmarks/data.py

One process on both sides, with the allocator set as training sets it. The DataLoader is a plain
DataLoader(items, batch_size, shuffle=True) that gives the same float32 images, read as it reads: one by one (an index,
a numpy unpack or a torch conversion), then its own collation. It is timed over the very array that the data set holds
and the reader reads, numpy's memory map of the cache, which the promise is about; over the same memory as a plain numpy
array, which spares each item the price of the memory-map class (the reader takes it off once), and where the reader is
less than 10 times faster for small batches; and over the images as bytes in memory. The column
"written" is the bound: a batch of float32 filled with one number, nothing read. Rates are the best of several rounds
that take turns: of wall-clock time with torch's own number of threads on a quiet machine; of processor time with one
thread on a busy one, where wall-clock time would measure the others. The first line says which. Exit code 1 if a
promise is not kept.
"""

from __future__ import annotations

import functools
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch.utils.data import DataLoader

from hatchel.core.memory import keep_memory
from hatchel.data import load

ROUNDS, SECONDS = 6, 0.25
BATCHES = (64, 256, 1024)


class PackedItems(torch.utils.data.Dataset):
    """The same bit-packed array, item by item."""

    def __init__(self, packed: np.ndarray) -> None:
        self.bytes = packed

    def __len__(self) -> int:
        return len(self.bytes)

    def __getitem__(self, number: int) -> torch.Tensor:
        bits = np.unpackbits(self.bytes[number], bitorder="little")
        return torch.from_numpy(bits.astype(np.float32).reshape(1, 64, 64))


class PlainItems(torch.utils.data.Dataset):
    """The same images as bytes in memory, item by item: by numpy, which takes half the time of torch's operations."""

    def __init__(self, images: np.ndarray) -> None:
        self.images = images

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, number: int) -> torch.Tensor:
        return torch.from_numpy(self.images[number].astype(np.float32).reshape(1, 64, 64) / 255)


def endless(data: torch.utils.data.Dataset, batch: int) -> Iterator[torch.Tensor]:
    while True:
        yield from DataLoader(data, batch_size=batch, shuffle=True)


def reading(ds, batch: int) -> Callable[[], torch.Tensor]:
    reader = ds.reader()
    generator = torch.Generator().manual_seed(0)
    return lambda: reader(torch.randint(len(ds), (batch,), generator=generator))


def writing(batch: int) -> Callable[[], None]:
    """No reader can be faster: memory for a batch, filled with one number."""
    return lambda: np.empty((batch, 1, 64, 64), dtype=np.float32).fill(1)


def rates(contenders: dict[str, Callable[[], object]], clock: Callable[[], float]) -> dict[str, float]:
    """Calls per second of each, the best of rounds that take turns."""
    best = dict.fromkeys(contenders, 0.0)
    for call in contenders.values():
        call()
    for _ in range(ROUNDS):
        for name, call in contenders.items():
            begin, count = clock(), 0
            while clock() - begin < SECONDS:
                call()
                count += 1
            best[name] = max(best[name], count / (clock() - begin))
    return best


def promise(text: str, kept: bool) -> bool:
    print(f"  {'kept' if kept else 'NOT KEPT'}: {text}")
    return kept


def dsprites(clock: Callable[[], float]) -> list[bool]:
    begin = time.perf_counter()
    ds = load("dsprites")
    cold = time.perf_counter() - begin
    begin = time.perf_counter()
    ds = load("dsprites")
    warm = time.perf_counter() - begin
    print(f"dsprites: drawn and cached in {cold:.1f} s, opened and verified again in {warm:.2f} s")
    kept = [promise("whole set drawn and cached in under 30 s", cold < 30)]
    step = reading(ds, 256)
    for _ in range(500):
        step()
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    kept.append(promise(f"under 1 GB resident while reading ({resident:.0f} MB, torch included)", resident < 1024))

    drawn = load("dsprites", cache=False)
    items = {
        "same array": PackedItems(ds.array),
        "plain array": PackedItems(np.asarray(ds.array)),
        "bytes": PlainItems(ds.images(np.arange(0, len(ds), 8))),
    }
    print("dsprites, batches per second (64 px, float32, one process); in brackets: the reader is faster by")
    print(
        f"{'batch':>7} {'written':>9} {'reader':>9} {'drawn':>9}"
        + "".join(f"{f'DataLoader {name}':>24}" for name in items)
    )
    for batch in BATCHES:
        loaders = {name: functools.partial(next, endless(data, batch)) for name, data in items.items()}
        ours = {"written": writing(batch), "reader": reading(ds, batch), "drawn": reading(drawn, batch)}
        r = rates({**ours, **loaders}, clock)
        ratios = {name: r["reader"] / r[name] for name in items}
        columns = "".join(f"{r[name]:>17.1f} ({ratios[name]:>4.1f})" for name in items)
        print(f"{batch:>7}" + "".join(f" {r[name]:>9.0f}" for name in ours) + columns)
        text = f"at least 10 times a DataLoader over the same array at batch {batch}"
        kept.append(promise(text, ratios["same array"] >= 10))
        images = r["drawn"] * batch
        kept.append(promise(f"drawn on the fly at 50,000 images/s ({images:,.0f})", images >= 50_000))
    return kept


def shapes3d(clock: Callable[[], float]) -> list[bool]:
    begin = time.perf_counter()
    ds = load("shapes3d")
    cold = time.perf_counter() - begin
    print(f"shapes3d: 480 geometries cast and cached in {cold:.1f} s, all 480,000 images ready")
    r = rates({str(batch): reading(ds, batch) for batch in BATCHES}, clock)
    for batch in BATCHES:
        print(f"  batch {batch}: {r[str(batch)] * batch:,.0f} images/s")
    return [promise("ready in under three minutes", cold < 180)]


def main() -> int:
    keep_memory()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HATCHEL_CACHE"] = folder
        busy = os.getloadavg()[0] > (os.cpu_count() or 1) / 2
        clock = time.process_time if busy else time.perf_counter
        if busy:
            torch.set_num_threads(1)
        how = "busy machine: processor time" if busy else "quiet machine: wall-clock time"
        print(f"torch {torch.__version__}, {os.cpu_count()} cores, {torch.get_num_threads()} threads, {how}")
        kept = dsprites(clock) + shapes3d(clock)
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
