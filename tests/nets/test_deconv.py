import pytest
import torch
from torch import nn

from hatchel.core.errors import HatchelError
from hatchel.nets.conv import Conv, Deconv
from hatchel.nets.layers import Upconv


@pytest.mark.parametrize(
    "shape, expected",
    [
        # 10 * 256 + 256, 256 * 1024 + 1024, then kernels 16 * in * out + out
        ((1, 64, 64), 2816 + 263168 + 65600 + 32800 + 16416 + 513),
        ((3, 64, 64), 2816 + 263168 + 65600 + 32800 + 16416 + 1539),
        ((1, 32, 32), 2816 + 263168 + 65600 + 32800 + 513),
        ((3, 16, 16), 2816 + 263168 + 65600 + 3075),
    ],
)
def test_parameters_counted_by_hand(shape: tuple[int, ...], expected: int) -> None:
    assert sum(p.numel() for p in Deconv().build(10, shape).parameters()) == expected


def test_the_same_function_as_the_net_written_out() -> None:
    torch.manual_seed(0)
    net = Deconv(channels=(4, 8), hidden=(6,)).build(3, (2, 16, 16))
    hidden, grid = [m for m in net.modules() if isinstance(m, nn.Linear)]
    first, last = [m.kernels for m in net.modules() if isinstance(m, Upconv)]
    z = torch.randn(5, 3)
    y = torch.relu(grid(torch.relu(hidden(z)))).reshape(5, 4, 4, 8).permute(0, 3, 1, 2)
    torch.testing.assert_close(net(z), last(torch.relu(first(y))))


@pytest.mark.parametrize("side", [16, 32, 64, 128])
def test_mirrors_the_encoder(side: int) -> None:
    def kernels(net: nn.Module, kind: type) -> list[tuple[int, ...]]:
        return [m.weight.shape for m in net.modules() if isinstance(m, kind)]

    encoder, decoder = Conv().build((3, side, side), (2,)), Deconv().build(1, (3, side, side))
    # A transposed convolution's weight is (in, out, 4, 4): the shapes of the encoder's (out, in, 4, 4), reversed.
    assert kernels(decoder, nn.ConvTranspose2d) == kernels(encoder, nn.Conv2d)[::-1]


def test_other_sizes_are_the_middle_of_the_next_larger_image() -> None:
    whole, middle = Deconv().build(3, (2, 32, 32)), Deconv().build(3, (2, 28, 30))
    middle.load_state_dict(whole.state_dict())
    z = torch.randn(5, 3)
    torch.testing.assert_close(middle(z), whole(z)[:, :, 2:30, 1:31])


def test_what_does_not_fit() -> None:
    with pytest.raises(HatchelError, match=r"decoder=deconv .* decoder=mlp_decoder"):
        Deconv().build(10, (28,))
    with pytest.raises(HatchelError, match="channels: name at least one"):
        Deconv(channels=())
