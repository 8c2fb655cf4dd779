"""Steps with `compile=true` beside steps without: what torch's compiler makes of a whole loss on one core.

    python benchmarks/compiled.py [--rounds 7] [--steps 3]

Whole training steps (forward, backward, Adam) on random images, in turns, in seconds of the processor; the compilation
is timed apart, with nothing in torch's cache of compiled code.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time

import torch
from encoders import PLAIN, Side

from hatchel.core.memory import keep_memory
from hatchel.core.spec import updated
from hatchel.methods.resolve import resolve
from hatchel.objective.trace import Batch
from hatchel.training.compiled import CompiledLoss
from hatchel.training.spec import RunSpec


class CompiledSide(Side):
    """The same with its loss compiled."""

    def __init__(self, spec: RunSpec, x: torch.Tensor) -> None:
        super().__init__(spec, x)
        self._loss = CompiledLoss(self.system)

    def step(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        self._loss(Batch(self.x, 10_000, self.done)).total.backward()
        self.optimizer.step()
        self.done += 1


def methods() -> dict[str, RunSpec]:
    def plain(method: str, changes: dict[str, object] | None = None, **fields: object) -> RunSpec:
        spec = resolve(method, "xy_squares", changes or {})
        return updated(spec, {**PLAIN, "encoder": "conv", **fields})

    small = {"encoder": {"kind": "mlp", "hidden": [32]}, "decoder": {"kind": "mlp_decoder", "hidden": [32]}}
    return {
        "beta-VAE": plain("beta_vae"),
        "beta-TCVAE": plain("beta_tcvae"),
        "HFVAE": plain("hf_vae"),
        "FactorVAE, 256 units": plain("factor_vae", {"by.hidden": 256}),
        "HFVAE, MLPs of 32 units": plain("hf_vae", **small),
    }


def section(rounds: int, steps: int = 3) -> list[str]:
    lines = [
        "| 32 px, batch 64 | ms a step | compiled | speed-up | s to compile, passed |",
        "| --- | --- | --- | --- | --- |",
    ]
    x = torch.rand(64, 3, 32, 32).to(memory_format=torch.channels_last)
    for name, spec in methods().items():
        torch._dynamo.reset()
        plain, compiled = Side(spec, x), CompiledSide(spec, x)
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
            compiled.step()
        passed = time.perf_counter() - began
        plain.seconds(2)
        compiled.seconds(2)
        turns = [(plain.seconds(steps), compiled.seconds(steps)) for _ in range(rounds)]
        before, after = (1000 * statistics.median(values) for values in zip(*turns, strict=True))
        gain = statistics.median(a / b for a, b in turns)
        lines.append(f"| {name} | {before:.1f} | {after:.1f} | {gain:.2f} | {passed:.0f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=3)
    options = parser.parse_args()
    keep_memory()
    torch.set_num_threads(1)
    print("\n".join(section(options.rounds, options.steps)))


if __name__ == "__main__":
    main()
