"""Training speed: Hatchel's whole loop against hand-written loops of the same network, interleaved, medians.

    python benchmarks/train.py [--batch 256] [--steps 12] [--rounds 5]

Three sides do the same work on the same 64 px dSprites images with the same conv network and Adam:
`eager` a minimal loop as most code bases have it; `tuned` the same with channels_last, fused Adam and a C allocator
that keeps its memory; `hatchel` the library end to end (data, terms, logging). Each side runs in a process of its own,
because the allocator's settings are the process's; the rounds alternate, so that a busy machine hurts all alike.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIDES = ("eager/beta_vae", "tuned/beta_vae", "hatchel/beta_vae", "eager/beta_tcvae", "tuned/beta_tcvae",
         "hatchel/beta_tcvae", "hatchel/factor_vae")  # fmt: skip
TARGETS = [
    ("hatchel/beta_vae", "eager/beta_vae", 1.4, "at least"),
    ("hatchel/beta_tcvae", "eager/beta_tcvae", 1.4, "at least"),
    ("hatchel/beta_vae", "tuned/beta_vae", 0.9, "at least"),
    ("hatchel/beta_tcvae", "tuned/beta_tcvae", 0.9, "at least"),
    ("hatchel/beta_vae", "hatchel/factor_vae", 1.9, "at most"),
]


def hand_written(method: str, tuned: bool, batch: int, steps: int, warm: int) -> float:
    """Seconds a step of a loop such as one writes oneself."""
    import numpy as np
    import torch
    import torch.nn.functional as F
    from torch import nn

    import hatchel.data

    if tuned:
        mallopt = ctypes.CDLL(None).mallopt
        for key, value in ((-4, 0), (-1, 2**31 - 1), (-2, 2**28)):
            mallopt(key, value)
    data = hatchel.data.load("dsprites", size=64)
    rows = np.random.default_rng(0).choice(len(data), 20_000, replace=False)
    images = torch.from_numpy(data.images(rows)).permute(0, 3, 1, 2).contiguous()

    def conv(i: int, o: int) -> list[nn.Module]:
        return [nn.Conv2d(i, o, 4, 2, 1), nn.ReLU()]

    def deconv(i: int, o: int) -> list[nn.Module]:
        return [nn.ConvTranspose2d(i, o, 4, 2, 1), nn.ReLU()]

    down = [*conv(1, 32), *conv(32, 32), *conv(32, 64), *conv(64, 64)]
    up = [*deconv(64, 64), *deconv(64, 32), *deconv(32, 32), nn.ConvTranspose2d(32, 1, 4, 2, 1)]
    encoder = nn.Sequential(*down, nn.Flatten(), nn.Linear(1024, 256), nn.ReLU(), nn.Linear(256, 20))
    dense = [nn.Linear(10, 256), nn.ReLU(), nn.Linear(256, 1024), nn.ReLU()]
    decoder = nn.Sequential(*dense, nn.Unflatten(1, (64, 4, 4)), *up)
    model = nn.ModuleList([encoder, decoder])
    if tuned:
        model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4, fused=tuned)

    def gaussian(z, mean, log_variance):
        return -0.5 * ((z - mean) ** 2 * (-log_variance).exp() + log_variance + 1.8378770664093453)

    def loss_of(x):
        mean, log_variance = encoder(x).chunk(2, 1)
        z = mean + (0.5 * log_variance).exp() * torch.randn_like(mean)
        rec = F.binary_cross_entropy_with_logits(decoder(z), x, reduction="sum") / len(x)
        if method == "beta_vae":
            return rec + 4 * 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(1).mean()
        n, m = 737_280, len(x) - 1
        weight = torch.full((len(x), len(x)), 1 / m)
        weight.fill_diagonal_(1 / n)
        weight[torch.arange(len(x)), (torch.arange(len(x)) + 1) % len(x)] = (n - m) / (n * m)
        cross = gaussian(z[:, None], mean[None], log_variance[None])
        log_qz = (cross.sum(2) + weight.log()).logsumexp(1)
        log_marginals = (cross + weight.log()[:, :, None]).logsumexp(1).sum(1)
        log_qzx = gaussian(z, mean, log_variance).sum(1)
        log_pz = gaussian(z, torch.zeros_like(z), torch.zeros_like(z)).sum(1)
        return rec + (log_qzx - log_qz + 6 * (log_qz - log_marginals) + log_marginals - log_pz).mean()

    for step in range(warm + steps):
        if step == warm:
            began = time.perf_counter()
        x = images[torch.randint(len(images), (batch,))].float() / 255
        if tuned:
            x = x.to(memory_format=torch.channels_last)
        loss = loss_of(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
    return (time.perf_counter() - began) / steps


def whole_library(method: str, batch: int, steps: int, warm: int) -> float:
    """Seconds a step of `hatchel.train`, as its own events say, without the first steps."""
    import hatchel
    from hatchel.training.events import read_events

    with tempfile.TemporaryDirectory() as folder:
        spec = hatchel.resolve(method).with_fields(steps=warm + steps, batch_size=batch, log_every=warm)
        hatchel.train(spec, out=folder, progress=False)
        return statistics.mean(event["seconds_per_step"] for event in read_events(Path(folder))[1:])


def child(side: str, batch: int, steps: int) -> None:
    import torch

    torch.set_num_threads(2)
    kind, method = side.split("/")
    warm = 3
    seconds = (
        whole_library(method, batch, steps, warm)
        if kind == "hatchel"
        else hand_written(method, kind == "tuned", batch, steps, warm)
    )
    print(json.dumps(seconds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child")
    options = parser.parse_args()
    if options.child:
        child(options.child, options.batch, options.steps)
        return
    times: dict[str, list[float]] = {side: [] for side in SIDES}
    for number in range(options.rounds):
        for side in SIDES:
            command = [
                sys.executable,
                __file__,
                "--child",
                side,
                "--batch",
                str(options.batch),
                "--steps",
                str(options.steps),
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            times[side].append(json.loads(done.stdout.splitlines()[-1]))
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    median = {side: statistics.median(values) for side, values in times.items()}
    print(f"64 px dSprites, batch {options.batch}, {options.rounds} rounds of {options.steps} steps, medians")
    for side, seconds in median.items():
        print(f"  {side:22} {seconds * 1000:7.1f} ms/step  {options.batch / seconds:7.0f} images/s")
    for ours, other, target, sense in TARGETS:
        ratio = median[other] / median[ours]
        met = ratio >= target if sense == "at least" else ratio <= target
        what = f"{ours} is {ratio:.2f}x the speed of {other}"
        print(f"  {what:60} target {sense} {target}: {'met' if met else 'MISSED'}")


if __name__ == "__main__":
    main()
