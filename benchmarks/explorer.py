"""How long one decode takes over HTTP: a slider has moved, a picture of 64 px has come back.

    python benchmarks/explorer.py

The server runs in a process of its own, as `hatchel explore` does, with the untrained 64 px convolutional networks of
the dSprites methods: what they have learnt does not change how long they take. Requests of a client
come one after the other over one connection, as the page sends them; of eight clients, all at once. Wall-clock time, on
a busy machine too: that is what a hand on a slider feels.
Exit code 1 if the promise is not kept.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import torch

WARM, REQUESTS = 50, 1000
TARGET = 50.0
"""Milliseconds, at the 95th percentile."""


def serve(pipe: Connection) -> None:
    from hatchel.data.xy_squares import XYSquares
    from hatchel.explorer.server import Listening
    from hatchel.explorer.session import Session
    from hatchel.methods.resolve import resolve
    from hatchel.training.checkpoint import Description
    from hatchel.training.run import TrainedRun

    data = XYSquares(size=64).load()
    spec = resolve("beta_vae", XYSquares(size=64)).fit_to(data)
    with tempfile.TemporaryDirectory() as folder:
        description = Description(spec, data.shape, len(data), data.fingerprint)
        run = TrainedRun(Path(folder), description, spec.build(data.shape).model, 0)
        opened = Listening.on(Session([run]))
        layers = f"{spec.decoder.kind}, {sum(p.numel() for p in run.model.decoder.parameters()):,} parameters"
        pipe.send((opened.address, spec.latent.width, layers))
        opened.run()


def round_trips(address: str, width: int, codes: int, requests: int) -> np.ndarray:
    """Milliseconds of each request."""
    where = urlsplit(address)
    connection = HTTPConnection(where.netloc)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {parse_qs(where.query)['token'][0]}"}
    rng, taken = np.random.default_rng(0), []
    for n in range(WARM + requests):
        body = json.dumps({"codes": rng.normal(size=(codes, width)).round(4).tolist()})
        begin = time.perf_counter()
        connection.request("POST", "/api/decode", body, headers)
        answer = connection.getresponse()
        picture = answer.read()
        if n >= WARM:
            taken.append(1000 * (time.perf_counter() - begin))
        if answer.status != 200 or len(picture) != codes * 64 * 64:
            raise SystemExit(f"the server answered {answer.status}: {picture[:200]!r}")
    connection.close()
    return np.array(taken)


def main() -> int:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs,), daemon=True)
    process.start()
    address, width, layers = ours.recv()
    load = os.getloadavg()[0]
    print(f"torch {torch.__version__}, {os.cpu_count()} cores, load {load:.1f}; 64 px, {layers}")
    print(f"{'clients':>8} {'pictures':>9} {'median':>8} {'95 %':>8} {'99 %':>8} {'worst':>8}   ms a round trip")
    slow = 0.0
    for clients, codes, requests in (
        (1, 1, REQUESTS),
        (1, 11, REQUESTS // 5),
        (8, 1, REQUESTS // 4),
        (8, 11, REQUESTS // 10),
    ):
        with ThreadPoolExecutor(clients) as pool:
            futures = [pool.submit(round_trips, address, width, codes, requests) for _ in range(clients)]
            taken = np.concatenate([future.result() for future in futures])
        middle, high, higher = np.quantile(taken, (0.5, 0.95, 0.99))
        print(f"{clients:>8} {codes:>9} {middle:>8.2f} {high:>8.2f} {higher:>8.2f} {taken.max():>8.2f}")
        slow = max(slow, high) if codes == 1 else slow
    process.terminate()
    process.join()
    kept = slow < TARGET
    promise = f"one decode under {TARGET:.0f} ms at the 95th percentile, of one client and of eight"
    print(f"  {'kept' if kept else 'NOT KEPT'}: {promise} ({slow:.1f} ms)")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
