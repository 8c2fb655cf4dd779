"""Time to score: core-seconds until MIG >= .6 and FactorVAE score >= .98 on held-out items.

    python benchmarks/speedrun.py [--side comb --side factor_vae ...] [--seeds 10] [--out speedrun.jsonl]
    python benchmarks/speedrun.py --rival their_library.py --seeds 10

Every 500 steps the clock, which counts the CPU time of all threads (`time.process_time`), is halted and 5,000 held-out
items are encoded and scored; the first of `--most` steps at which both limits are reached counts. Sides:

- `comb`: the method as it is shipped, with the schedule of 12,000 steps;
- `factor_vae`, `beta_tcvae`: as published, by disentanglement_lib's settings (Locatello et al. 2019): Adam 1e-4 for
  model and discriminator, batches of 64, ten latents, gamma = 10 with 6 x 1,000 units, beta = 6 by minibatch weights;
  at 32 px the reconstruction counts four times, so that both weights mean what they mean at 64 px;
- `--rival FILE`: another library. FILE has `train(images, seed, check)`: `images` are the training items, uint8
  (n, height, width, channels); it calls `check(step, encode)` before the first step (step 0) and after every step, and
  stops when that is true. `encode` takes such images to codes (m, D). It runs in this process, in an environment that
  has both libraries.

A side and seed that --out has already is not run again.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import runpy
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

LIMITS = {"mig": 0.6, "factor_vae_score": 0.98}
PUBLISHED: dict[str, Any] = {
    "encoder": "conv", "decoder": "deconv", "latent": {"kind": "diagonal", "dim": 10}, "batch_size": 64,
    "optimizer.lr": 1e-4, "reconstruction_scale": "64px",
}  # fmt: skip
SIDES: dict[str, dict[str, Any]] = {
    "comb": {
        "method": "comb",
        "decoder": "deconv",
        "latent": {"kind": "diagonal", "dim": 10},
        "batch_size": 64,
        "steps": 12_000,
    },
    "factor_vae": {"method": "factor_vae", "gamma": 10, **PUBLISHED},
    "beta_tcvae": {"method": "beta_tcvae", "beta": 6, "by": "mws", **PUBLISHED},
}


class Clock:
    """CPU seconds of training, halted while codes are measured."""

    def __init__(self, data: Any, held: Any, every: int, most: int) -> None:
        self.every, self.most = every, most
        self.images, self.factors = data.images(held), data.factors(held)
        self.spent, self.curve = 0.0, list[dict[str, float]]()
        self.since = time.process_time()

    @property
    def reached(self) -> bool:
        return bool(self.curve) and all(self.curve[-1][name] >= limit for name, limit in LIMITS.items())

    def check(self, step: int, encode: Callable[[Any], Any]) -> bool:
        """Whether training is over. Step 0 starts the clock; between multiples of `every` nothing is measured."""
        if step and step % self.every == 0:
            from hatchel.metrics import evaluate

            self.spent += time.process_time() - self.since
            scores = evaluate(encode(self.images), self.factors, list(LIMITS), seed=0)
            self.curve.append({"step": step, "seconds": self.spent, **{n: float(scores[n].value) for n in LIMITS}})
        if step % self.every == 0:
            self.since = time.process_time()
        return self.reached or step >= self.most


class Stop(Exception):
    """Both limits are reached."""


class Watch:
    """A callback of Hatchel's training that asks the clock."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def on_start(self, run: Any, step: int) -> None:
        self.clock.check(0, run.encode)

    def on_checkpoint(self, run: Any, step: int) -> None:
        if self.clock.check(step, run.encode):
            raise Stop


def hatchel_run(side: str, source: Any, seed: int, clock: Clock, precision: str) -> None:
    """Train by a side's settings, without the held-out tenth."""
    import hatchel

    fields = dict(SIDES[side])
    run = {"seed": seed, "test_share": 0.1, "precision": precision}
    spec = hatchel.resolve(fields.pop("method"), source, {"steps": clock.most, **fields, **run})
    spec = spec.with_fields(checkpoint_every=clock.every)
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(Stop):
        hatchel.train(spec, out=Path(folder) / "run", progress=False, callbacks=[Watch(clock)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", action="append", choices=[*SIDES], help="default: all")
    parser.add_argument("--rival", action="append", default=[], metavar="FILE", help="another library's train()")
    parser.add_argument("--data", default="shapes3d")
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--every", type=int, default=500)
    parser.add_argument("--most", type=int, default=20_000, help="steps after which it is not reached")
    parser.add_argument("--items", type=int, default=5_000)
    parser.add_argument("--precision", default="float32", help="of Hatchel's sides: float32, bfloat16 or auto")
    parser.add_argument("--out", type=Path, help="a line of JSON for each run, added to what is there")
    options = parser.parse_args()

    import hatchel
    from hatchel.core.spec import from_dict

    source = from_dict(hatchel.Source, {"kind": options.data, "size": options.size})
    data = source.load()
    lines = options.out.read_text().splitlines() if options.out and options.out.is_file() else []
    found: list[dict[str, Any]] = [json.loads(line) for line in lines]
    sides = options.side or ([] if options.rival else [*SIDES])
    for seed in range(options.seeds):
        for side in [*sides, *options.rival]:
            if any((r["side"], r["seed"]) == (side, seed) for r in found):
                continue
            items, held = data.split(seed, 0.1)
            some = np.random.default_rng(0).choice(held, min(options.items, len(held)), replace=False)
            clock = Clock(data, some, options.every, options.most)
            if side in options.rival:
                runpy.run_path(side)["train"](data.images(items), seed, clock.check)
            else:
                hatchel_run(side, source, seed, clock, options.precision)
            found.append({"side": side, "seed": seed, "reached": clock.reached, "curve": clock.curve})
            if options.out:
                with options.out.open("a") as file:
                    file.write(json.dumps(found[-1]) + "\n")
            print(
                f"{side}, seed {seed}: {'reached' if clock.reached else 'not reached'}, {clock.curve[-1]}", flush=True
            )
    what = f"{options.data} at {options.size} px, {options.items:,} held-out items, at most {options.most:,} steps"
    print(f"{what}, limits {LIMITS}")
    for side in dict.fromkeys(r["side"] for r in found):
        runs = [r for r in found if r["side"] == side]
        times = [r["curve"][-1]["seconds"] for r in runs if r["reached"]]
        median = f", median of these {statistics.median(times):.0f} core-seconds" if times else ""
        print(f"  {side:20} {len(times)} of {len(runs)} seeds{median}")


if __name__ == "__main__":
    main()
