import pytest
import torch
from torch import nn

from hatchel.core.errors import HatchelError
from hatchel.nets.conv import Rtc, RtcDecoder


def count(net: nn.Module) -> int:
    return sum(p.numel() for p in net.parameters())


def test_table_2_by_hand() -> None:
    convolutions = 544 + (16 * 32 * 64 + 64) + 2 * (16 * 64 * 64 + 64)
    last = (16 * 64 * 512 + 512) + (512 * 20 + 20)
    assert count(Rtc().build((1, 64, 64), (2,) * 10)) == convolutions + last
    up = (10 * 512 + 512) + (16 * 512 * 64 + 64) + (16 * 64 * 64 + 64) + (16 * 64 * 32 + 32) + (16 * 32 * 32 + 32)
    assert count(RtcDecoder().build(10, (3, 64, 64))) == up + (16 * 32 * 3 + 3)


def test_the_fully_connected_layer_is_the_tables_4x4_convolution() -> None:
    torch.manual_seed(0)
    net = Rtc().build((1, 64, 64), (2,) * 10)
    hidden, head = [m for m in net.modules() if isinstance(m, nn.Linear)]
    encoded = net(torch.rand(3, 1, 64, 64))
    kernels = hidden.weight.reshape(512, 4, 4, 64).permute(0, 3, 1, 2)
    inner = torch.relu(nn.functional.conv2d(encoded.features["conv4"], kernels, hidden.bias))
    outer = nn.functional.conv2d(inner, head.weight[:, :, None, None], head.bias)
    torch.testing.assert_close(encoded.parameters, outer[:, :, 0, 0])


def test_the_error_names_this_encoder() -> None:
    with pytest.raises(HatchelError, match="encoder=rtc needs images"):
        Rtc().build((28,), (2,))
    with pytest.raises(HatchelError, match="decoder=rtc_decoder needs images"):
        RtcDecoder().build(1, (28,))
