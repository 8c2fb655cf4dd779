"""beta-VAE and FactorVAE of pythae 0.1.2 beside ours: the same images, networks, batches and rate, in turns.

    python benchmarks/pythae.py [--rounds 7] [--folder FOLDER]

Installs pythae by itself into an environment of its own, which takes torch and Hatchel from the one this runs in. Every
side has a process there with one thread, and they take turns, each as its library trains: pythae's trainer over its own
DataLoader; Hatchel's order of items, reader, optimiser, and the settings it makes of the C allocator and of float32
products. pythae's FactorVAE halves its batch, for the model and for the discriminator's permuted codes; so it gets
batches of 128, and ours 64 with 64 of an independent batch: equal work.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any

PACKAGES = ("pythae==0.1.2", "cloudpickle", "imageio", "pydantic", "pydantic-core", "annotated-types",
            "typing-inspection")  # fmt: skip
TARGETS = {"beta-VAE": 1.3, "FactorVAE": 1.5}
BATCH, SIZE, STEPS = 64, 32, 4


def install(folder: Path) -> Path:
    """The Python of an environment with pythae, without what pip would take for its torch."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        site = subprocess.run(
            [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        shared = [sysconfig.get_path("purelib"), str(Path(__file__).parents[1])]
        (Path(site) / "shared.pth").write_text("\n".join(shared) + "\n")
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, *PACKAGES], check=True)
    return python


def theirs(method: str, system: Any, images: Any, folder: str) -> Any:
    """One epoch of pythae's trainer, with copies of our networks."""
    import copy

    import torch
    from pythae.data.datasets import BaseDataset
    from pythae.models import BetaVAE, BetaVAEConfig, FactorVAE, FactorVAEConfig
    from pythae.models.base.base_utils import ModelOutput
    from pythae.models.nn import BaseDecoder, BaseEncoder
    from pythae.trainers import AdversarialTrainer, AdversarialTrainerConfig, BaseTrainer, BaseTrainerConfig

    class Down(BaseEncoder):
        def __init__(self, net: torch.nn.Module) -> None:
            BaseEncoder.__init__(self)
            self.net = net

        def forward(self, x: torch.Tensor) -> Any:
            mean, log_variance = self.net(x).parameters.unflatten(1, (-1, 2)).unbind(2)
            return ModelOutput(embedding=mean, log_covariance=log_variance)

    class Up(BaseDecoder):
        def __init__(self, net: torch.nn.Module) -> None:
            BaseDecoder.__init__(self)
            self.net = net

        def forward(self, z: torch.Tensor) -> Any:
            return ModelOutput(reconstruction=self.net(z).sigmoid())

    shape = {"input_dim": tuple(images.shape[1:]), "latent_dim": 10, "reconstruction_loss": "bce"}
    down, up = Down(copy.deepcopy(system.model.encoder)), Up(copy.deepcopy(system.model.decoder))
    common: dict[str, Any] = {"output_dir": folder, "num_epochs": 1, "no_cuda": True}
    data = BaseDataset(images, torch.zeros(len(images)))
    if method == "beta-VAE":
        model = BetaVAE(BetaVAEConfig(beta=4.0, **shape), down, up)
        config = BaseTrainerConfig(per_device_train_batch_size=BATCH, learning_rate=1e-4, **common)
        trainer = BaseTrainer(model, data, training_config=config)
    else:
        model = FactorVAE(FactorVAEConfig(gamma=10.0, **shape), down, up)
        config = AdversarialTrainerConfig(per_device_train_batch_size=2 * BATCH, **common)
        trainer = AdversarialTrainer(model, data, training_config=config)
    trainer.prepare_training()
    return lambda: trainer.train_step(1)


def ours(method: str, images: Any, fast: bool = True) -> tuple[Any, Any]:
    """The system, and as many steps as an epoch of pythae's has."""
    import torch

    from hatchel.core.products import fast_products
    from hatchel.core.spec import updated
    from hatchel.data.dataset import Dataset
    from hatchel.methods.resolve import resolve
    from hatchel.training.loop import make_optimizer
    from hatchel.training.order import Batches

    kind, changes = ("beta_vae", {}) if method == "beta-VAE" else ("factor_vae", {"by.product": "independent"})
    parts = {"encoder": "conv", "decoder": "deconv", "likelihood": "bernoulli", "latent.dim": 10}
    spec = updated(resolve(kind, "xy_squares", changes), parts).with_fields(batch_size=BATCH)
    data = Dataset("random", images)
    system = spec.build(data.shape)
    if fast:
        system.to(memory_format=torch.channels_last)
    batches = Batches(spec, data, torch.arange(len(data)), system.objective.needs)
    optimizer, read, done = make_optimizer(system, spec, torch.device("cpu")), data.reader(), [0]

    @fast_products(system)
    def epoch() -> None:
        for _ in range(STEPS):
            loss = system(batches.at(done[0], read))
            optimizer.zero_grad(set_to_none=True)
            loss.total.backward()
            optimizer.step()
            float(loss.objective)
            done[0] += 1

    return system, epoch


def child(side: str) -> None:
    """Answers every line on its input with the seconds that a step took."""
    import io

    import numpy as np
    import torch

    from hatchel.core.memory import keep_memory

    torch.set_num_threads(1)
    library, method = side.split("/")
    images = np.random.default_rng(0).integers(0, 256, (2 * BATCH * STEPS, SIZE, SIZE, 3)).astype(np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        if library == "Hatchel":
            keep_memory()
            _, epoch = ours(method, images)
        else:
            floats = torch.from_numpy(images).permute(0, 3, 1, 2).float().div(255).contiguous()
            rows = floats if method == "FactorVAE" else floats[: BATCH * STEPS]
            epoch = theirs(method, ours(method, images, fast=False)[0], rows, folder)
        for _ in sys.stdin:
            with contextlib.redirect_stdout(io.StringIO()):
                began = time.process_time()
                epoch()
                seconds = (time.process_time() - began) / STEPS
            print(seconds, flush=True)


def turns(python: Path, method: str, rounds: int) -> list[list[float]]:
    """Seconds a step of pythae and of Hatchel, in each round."""
    command = [str(python), __file__, "--child"]
    pipe = subprocess.PIPE
    pipes: dict[str, Any] = {"stdin": pipe, "stdout": pipe, "stderr": subprocess.DEVNULL, "text": True}
    with contextlib.ExitStack() as stack:
        sides = [
            stack.enter_context(subprocess.Popen([*command, f"{library}/{method}"], **pipes))
            for library in ("pythae", "Hatchel")
        ]

        def seconds(side: subprocess.Popen[str]) -> float:
            assert side.stdin is not None
            assert side.stdout is not None
            print(file=side.stdin, flush=True)
            return float(side.stdout.readline())

        times = [[seconds(side) for side in sides] for _ in range(rounds + 1)]
        for side in sides:
            assert side.stdin is not None
            side.stdin.close()
    return times[1:]  # the first is to warm up


def section(rounds: int = 7, folder: Path | None = None) -> list[str]:
    python = install(folder or Path(tempfile.gettempdir()) / "hatchel-bench-pythae")
    lines = ["| 32 px colour, batch 64, D = 10 | pythae, ms a step | Hatchel | times as fast | target |",
             "| --- | --- | --- | --- | --- |"]  # fmt: skip
    for method in TARGETS:
        times = turns(python, method, rounds)
        other, own = (1000 * statistics.median(t[i] for t in times) for i in (0, 1))
        gain, target = statistics.median(a / b for a, b in times), TARGETS[method]
        verdict = f"at least {target:g}: {'met' if gain >= target else '**missed**'}"
        lines.append(f"| {method} | {other:.1f} | {own:.1f} | {gain:.2f} | {verdict} |")
    note = (
        "Both sides make the same convolutions, 17 ms of a step on an AMD EPYC (Precision, below): 1.3 times would "
        "leave our beta-VAE 4 to 5 ms for its linear layers, likelihood, Adam, reading and all calls; these take 6."
    )
    return [*lines, "", note]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="of the environment with pythae [a temporary one, kept]")
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        sys.path = [p for p in sys.path if Path(p or ".").resolve() != Path(__file__).parent.resolve()]
        child(options.child)
    else:
        print("\n".join(section(options.rounds, options.folder)))


if __name__ == "__main__":
    main()
