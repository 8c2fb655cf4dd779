import pytest
import torch

from hatchel.nets.recursive import Recurd0, Recurd0Decoder

CONVOLUTIONS = 544 + 16416 + 32832 + 65600  # 16 * in * out + out for 1, 32, 32, 64, 64


def count(net) -> int:
    return sum(p.numel() for p in net.parameters())


def test_table_3_by_hand() -> None:
    assert count(Recurd0().build((1, 64, 64), (2,) * 8)) == CONVOLUTIONS + (1024 * 128 + 128) + (128 * 16 + 16)
    up = 65600 + 32800 + 16416 + 513
    linear, transposed = (128 * 1024 + 1024), (128 * 1024 + 64)
    assert count(Recurd0Decoder(first="linear").build(8, (1, 64, 64))) == (8 * 128 + 128) + linear + up
    assert count(Recurd0Decoder().build(8, (1, 64, 64))) == (8 * 128 + 128) + transposed + up


@pytest.mark.parametrize("dim, ours", [(8, 763_795), (16, 769_955)], ids=["3DShapes", "CelebA"])
def test_with_colour_the_parameters_of_table_10(dim: int, ours: int) -> None:
    """beta-VAE: 0.769 million on both, which is 16 dimensions; the layers have 256 units by themselves."""
    shape = (3, 64, 64)
    total = count(Recurd0().build(shape, (2,) * dim)) + count(Recurd0Decoder().build(dim, shape))
    assert total == ours
    assert total / 0.769e6 == pytest.approx(1, abs=0.008)
    assert count(Recurd0(128).build(shape, (2,) * dim)) < count(Recurd0().build(shape, (2,) * dim))


def test_a_transposed_convolution_from_1x1_is_a_linear_layer_with_a_bias_a_channel() -> None:
    torch.manual_seed(0)
    ours, linear = (Recurd0Decoder(first=first).build(8, (1, 32, 32)) for first in ("transposed", "linear"))
    kernels, z = ours[3].kernels, torch.randn(3, 8)
    linear[0].load_state_dict(ours[0].state_dict())
    linear[2].weight.data = kernels.weight.data.permute(2, 3, 1, 0).flatten(0, 2)
    linear[2].bias.data = kernels.bias.data.repeat(16)
    torch.testing.assert_close(ours[:5](z), linear[:5](z))
