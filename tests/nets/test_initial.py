"""He's initial weights: every layer passes on the variance of what it reads, the last one a twentieth of it."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from hatchel.data.xy_squares import XYSquares
from hatchel.methods.resolve import resolve
from hatchel.nets.group import GroupedConv, GroupedLinear
from hatchel.nets.initial import LAST, he, inputs

SHAPE = (3, 64, 64)


@pytest.mark.parametrize(
    "layer, x",
    [
        (nn.Linear(200, 300), (500, 200)),
        (nn.Conv2d(16, 64, 4, stride=2, padding=1), (50, 16, 32, 32)),
        (nn.ConvTranspose2d(64, 32, 4, stride=2, padding=1), (50, 64, 16, 16)),
        (GroupedConv(4, 16, 64), (50, 64, 32, 32)),
        (GroupedLinear(8, 200, 50), (8, 500, 200)),
    ],
)
def test_a_layer_followed_by_relu_keeps_the_mean_square(layer: nn.Module, x: tuple[int, ...]) -> None:
    """Away from the border, where padding adds nothing: E y² = E x² for y = relu(layer(x)) of relu'd inputs."""
    torch.manual_seed(0)
    he(nn.Sequential(layer, nn.Linear(1, 1)))
    given = torch.randn(x).relu()
    with torch.no_grad():
        out = layer(given).relu()
    if out.ndim == 4:
        out = out[:, :, 2:-2, 2:-2]
    assert float(out.square().mean() / given.square().mean()) == pytest.approx(1, rel=0.15)
    assert not any(bool(p.any()) for name, p in layer.named_parameters() if name == "bias")


@pytest.mark.parametrize("encoder", ["conv", "split", "recursive", "mlp"])
def test_codes_and_logits_begin_near_zero(encoder: str) -> None:
    run = resolve("vae", XYSquares(), {"encoder": encoder, "initial": "he"}).fit_to_shape(SHAPE)
    model = run.build(SHAPE).model
    for net in (model.encoder, model.decoder):
        last = [m for m in net.modules() if isinstance(m, nn.Linear | nn.ConvTranspose2d | GroupedLinear)][-1]
        assert float(last.weight.detach().std()) == pytest.approx(math.sqrt(LAST / inputs(last)), rel=0.1)
    with torch.no_grad():
        codes = model.encoder(torch.rand(64, *SHAPE)).parameters
        logits = model.decoder(torch.randn(64, 10))
    assert 0.01 < float(codes.std()) < 0.6
    assert float(logits.abs().max()) < 3


def test_the_default_leaves_a_run_what_it_was() -> None:
    plain, he_run = (resolve("vae", XYSquares(), {"initial": one}) for one in ("torch", "he"))
    assert plain.digest() == resolve("vae", XYSquares()).digest() != he_run.digest()
