"""How long a hand on a slider waits for its picture of 64 px over HTTP, alone and with seven others.

    python benchmarks/explorer.py

Each server runs in a process of its own, as `hatchel explore` does, with the untrained 64 px convolutional networks of
the dSprites methods: what they have learnt does not change how long they take. A client asks as the page does:

- `moves`: a slider is dragged, and the next position is sent once the last picture has come, or with the next event of
  the mouse 16 ms after the last: one picture a request;
- `rows`: the hand rests, and the rows of the traversals are drawn one after the other: 11 pictures a request.

`first come` is the same server without what `hatchel/explorer/desk.py` does: one request at a time, in the order in
which they came. Both take turns, so that whatever else the machine does meets both. Wall-clock time, on a busy machine
too. Exit code 1 if the promise is not kept.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import torch

TURNS, DRAGS, MOVES, ROWS, PICTURES = 4, 3, 40, 4, 11
"""A turn is so many drags of so many moves, each followed by so many rows of pictures."""
EVENT = 0.016
"""Seconds between two positions of a mouse."""
TARGET = 50.0
"""Milliseconds, at the 95th percentile."""


def serve(pipe: Connection, patient: bool) -> None:
    from hatchel.data.xy_squares import XYSquares
    from hatchel.explorer import desk, server
    from hatchel.explorer.session import Session
    from hatchel.methods.resolve import resolve
    from hatchel.training.checkpoint import Description
    from hatchel.training.run import TrainedRun

    class FirstCome(desk.Desk):
        def next_batch(self) -> list[desk.Order]:
            return [self.waiting.pop(0)]

    if patient:
        server.Desk = FirstCome
    data = XYSquares(size=64).load()
    spec = resolve("beta_vae", XYSquares(size=64)).fit_to(data)
    with tempfile.TemporaryDirectory() as folder:
        description = Description(spec, data.shape, len(data), data.fingerprint)
        run = TrainedRun(Path(folder), description, spec.build(data.shape).model, 0)
        opened = server.Listening.on(Session([run]))
        layers = f"{spec.decoder.kind}, {sum(p.numel() for p in run.model.decoder.parameters()):,} parameters"
        pipe.send((opened.address, spec.latent.width, layers))
        opened.run()


@contextmanager
def served(patient: bool) -> Iterator[tuple[str, int, str]]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, patient), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.terminate()
        process.join()


def client(address: str, width: int, seed: int, drags: int, rows: int) -> dict[str, list[float]]:
    """Milliseconds of each move and row."""
    where = urlsplit(address)
    connection = HTTPConnection(where.netloc)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {parse_qs(where.query)['token'][0]}"}
    rng = np.random.default_rng(seed)
    taken: dict[str, list[float]] = {"moves": [], "rows": []}

    def ask(kind: str, codes: int) -> None:
        body = json.dumps({"codes": rng.normal(size=(codes, width)).round(4).tolist()})
        begin = time.perf_counter()
        connection.request("POST", "/api/decode", body, headers)
        answer = connection.getresponse()
        picture = answer.read()
        taken[kind].append(1000 * (time.perf_counter() - begin))
        if answer.status != 200 or len(picture) != codes * 64 * 64:
            raise SystemExit(f"the server answered {answer.status}: {picture[:200]!r}")

    for _ in range(drags):
        for _ in range(MOVES):
            begin = time.perf_counter()
            ask("moves", 1)
            time.sleep(max(0.0, EVENT - (time.perf_counter() - begin)))
        for _ in range(rows):
            ask("rows", PICTURES)
    connection.close()
    return taken


def together(clients: int, address: str, width: int, rows: int) -> dict[str, list[float]]:
    with ThreadPoolExecutor(clients) as pool:
        futures = [pool.submit(client, address, width, n, DRAGS, rows) for n in range(clients)]
        found = [future.result() for future in futures]
    return {kind: [ms for one in found for ms in one[kind]] for kind in ("moves", "rows")}


def main() -> int:
    with served(False) as ours, served(True) as other:
        load = os.getloadavg()[0]
        print(f"torch {torch.__version__}, {os.cpu_count()} cores, load {load:.1f}; 64 px, {ours[2]}")
        sides = {"desk": ours, "first come": other}
        cases = [(1, 0), (8, 0), (8, ROWS)]
        taken: dict[tuple[int, int, str, str], list[float]] = {}
        for side in sides.values():
            together(2, *side[:2], ROWS)  # warm
        for _ in range(TURNS):
            for clients, rows in cases:
                for name, side in sides.items():
                    for kind, found in together(clients, *side[:2], rows).items():
                        taken.setdefault((clients, rows, kind, name), []).extend(found)
    print(f"{'clients':>8} {'':<24} {'server':<12} {'n':>6} {'median':>8} {'95 %':>8} {'99 %':>8}   ms a round trip")
    slow = 0.0
    for (clients, rows, kind, name), found in taken.items():
        if found:
            middle, high, higher = np.quantile(found, (0.5, 0.95, 0.99))
            what = f"{kind}, {'with rows between' if rows else 'nothing else'}"
            print(f"{clients:>8} {what:<24} {name:<12} {len(found):>6} {middle:>8.1f} {high:>8.1f} {higher:>8.1f}")
            slow = max(slow, high) if (kind, name) == ("moves", "desk") else slow
    kept = slow <= TARGET
    promise = f"a slider's picture within {TARGET:.0f} ms at the 95th percentile, of one client and of eight"
    print(f"  {'kept' if kept else 'NOT KEPT'}: {promise} ({slow:.1f} ms)")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
