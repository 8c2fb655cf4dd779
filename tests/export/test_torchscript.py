from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from hatchel.core.errors import HatchelError
from hatchel.export.torchscript import write
from hatchel.latents.diagonal import Diagonal
from hatchel.latents.latent import Latent
from hatchel.latents.scaled_hierarchy import ScaledHierarchy
from hatchel.nets.part import Decoder, Encoder
from hatchel.training.run import TrainedRun


def loaded(path: Path) -> torch.jit.ScriptModule:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch has deprecated the format
        return torch.jit.load(str(path))


@pytest.mark.parametrize(
    "encoder, decoder, latent", list(zip(Encoder.members(), cycle(Decoder.members()), cycle(Latent.members())))
)
def test_every_part(encoder: str, decoder: str, latent: str, run_of: Callable[..., TrainedRun], tmp_path: Path) -> None:
    parts = {"encoder": Encoder.members()[encoder](), "decoder": Decoder.members()[decoder]()}
    run = run_of(latent=Latent.members()[latent](), **parts)
    done = write(run, tmp_path / "out")
    assert done.difference < 1e-5
    images = np.random.default_rng(3).random((4, 16, 16, 1), dtype=np.float32)
    mean, std = loaded(done.files[0])(torch.from_numpy(images.transpose(0, 3, 1, 2)))
    wanted = run.posterior(images)
    np.testing.assert_allclose(mean, wanted[0], atol=1e-5)
    np.testing.assert_allclose(std, wanted[1], atol=1e-5)
    decoded = loaded(done.files[1])(mean).permute(0, 2, 3, 1)
    np.testing.assert_allclose(decoded, run.decode(mean.numpy()), atol=1e-5)


def test_each_file_holds_one_half_of_the_weights_at_the_level_asked_for(
    run_of: Callable[..., TrainedRun], tmp_path: Path
):
    run = run_of(latent=ScaledHierarchy(Diagonal(3), levels=2))
    done = write(run, tmp_path / "out", level=1)
    whole = sum(p.numel() * 4 for p in run.model.parameters())
    assert sum(f.stat().st_size for f in done.files) < whole + 100_000
    z = np.ones((2, 3), np.float32)
    found = loaded(done.files[1])(torch.from_numpy(z)).permute(0, 2, 3, 1)
    np.testing.assert_allclose(found, run.decode(z, 1), atol=1e-6)
    assert np.abs(found.numpy() - run.decode(z, 0)).max() > 1e-4


class Own(torch.autograd.Function):
    """2 x, with a gradient of its own."""

    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        return 2 * x

    @staticmethod
    def setup_context(ctx: object, inputs: object, output: object) -> None:
        pass

    @staticmethod
    def backward(ctx: object, *gradients: torch.Tensor) -> torch.Tensor:
        return 2 * gradients[0]


class Doubled(nn.Module):
    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return self.net(Own.apply(z))


def test_a_function_with_its_own_gradient_is_written_and_keeps_it(
    run_of: Callable[..., TrainedRun], tmp_path: Path
) -> None:
    run = run_of()
    plain = run.decode(np.ones((1, 3)))
    run.model.decoder = Doubled(run.model.decoder)
    found = loaded(write(run, tmp_path / "out").files[1])(torch.full((1, 3), 0.5)).permute(0, 2, 3, 1)
    np.testing.assert_allclose(found, plain, atol=1e-6)
    x = torch.ones(1, requires_grad=True)
    assert "Own" in type(Own.apply(x).grad_fn).__name__  # as before the export


class Failing(nn.Module):
    def forward(self, z: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("no tracing today\nreally")


def test_what_cannot_be_traced_says_why(run_of: Callable[..., TrainedRun], tmp_path: Path) -> None:
    run = run_of()
    run.model.decoder = Failing()
    run.decode = lambda *_: np.zeros((0, 1))  # the level's check alone
    with pytest.raises(HatchelError, match=r"decoder cannot be written as TorchScript \(no tracing today\)"):
        write(run, tmp_path / "out")
    assert not (tmp_path / "out").exists()
