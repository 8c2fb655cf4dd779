import pytest
import torch
from torch import nn

from hatchel.core.errors import HatchelError
from hatchel.core.spec import from_dict, to_dict
from hatchel.nets.conv import Conv


@pytest.mark.parametrize(
    "shape, expected",
    [
        # kernels 16 * in * out + out, then 1024 * 256 + 256, then 256 * 20 + 20
        ((1, 64, 64), 544 + 16416 + 32832 + 65600 + 262400 + 5140),
        ((3, 64, 64), 1568 + 16416 + 32832 + 65600 + 262400 + 5140),
        ((1, 32, 32), 544 + 32832 + 65600 + 262400 + 5140),
        ((3, 16, 16), 3136 + 65600 + 262400 + 5140),
        ((5, 128, 128), 2592 + 2 * 16416 + 32832 + 65600 + 262400 + 5140),
    ],
)
def test_parameters_counted_by_hand(shape: tuple[int, ...], expected: int) -> None:
    assert sum(p.numel() for p in Conv().build(shape, (2,) * 10).parameters()) == expected


def test_a_tiny_net_computed_by_hand() -> None:
    # All kernels 1: a 16x16 image of ones. conv1 counts the pixels under each 4x4 window (12 or 16 inside, as the
    # window hangs over the edge by one): edge 4*3, corner 3*3, inside 16. conv2 adds 4x4 of those, again with a rim.
    net = Conv(channels=(1, 1), hidden=()).build((1, 16, 16), (2,))
    with torch.no_grad():
        for p in net.parameters():
            p.fill_(1.0) if p.ndim > 1 else p.zero_()
    encoded = net(torch.ones(1, 1, 16, 16))
    first = encoded.features["conv1"][0, 0]
    assert first[0, 0] == 9
    assert first[0, 1] == 12
    assert first[1, 1] == 16
    line = [3.0] + [4.0] * 6 + [3.0]  # the windows factorise over the axes
    assert torch.equal(first, torch.outer(torch.tensor(line), torch.tensor(line)))
    windows = [3 + 4 + 4, 4 * 4, 4 * 4, 4 + 4 + 3]
    second = torch.outer(torch.tensor(windows), torch.tensor(windows)).float()
    assert torch.equal(encoded.features["conv2"][0, 0], second)
    assert encoded.parameters.tolist() == [[54.0**2, 54.0**2]]


def test_the_same_function_as_the_net_written_out() -> None:
    torch.manual_seed(0)
    net = Conv().build((3, 64, 64), (2,) * 4)
    convs = [m for m in net.modules() if isinstance(m, nn.Conv2d)]
    hidden, head = [m for m in net.modules() if isinstance(m, nn.Linear)]
    x = torch.rand(2, 3, 64, 64)
    y = x
    for conv in convs:
        y = torch.relu(conv(y))
    y = torch.relu(hidden(y.permute(0, 2, 3, 1).reshape(2, -1)))
    torch.testing.assert_close(net(x).parameters, head(y))
    assert list(net(x).features) == ["conv1", "conv2", "conv3", "conv4", "hidden1"]
    torch.testing.assert_close(net(x).features["hidden1"], y)


def test_other_sizes_have_zeros_around_them() -> None:
    torch.manual_seed(0)
    whole = Conv().build((3, 32, 32), (2,) * 4)
    torch.manual_seed(0)
    other = Conv().build((3, 28, 30), (2,) * 4)
    x = torch.rand(2, 3, 28, 30)
    torch.testing.assert_close(other(x).parameters, whole(nn.functional.pad(x, (1, 1, 2, 2))).parameters)


def test_no_channels_is_refused_and_the_spec_survives_json() -> None:
    with pytest.raises(HatchelError, match="channels: name at least one"):
        Conv(channels=())
    spec = Conv(channels=(8, 16), hidden=(32, 32))
    assert from_dict(Conv, to_dict(spec)) == spec
