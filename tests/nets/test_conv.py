import pytest
import torch
from torch import nn

from hatchel.core.errors import HatchelError
from hatchel.core.spec import from_dict, to_dict
from hatchel.nets.conv import Broadcast, Conv, Deconv, Rtc, RtcDecoder, Tile
from hatchel.nets.layers import Upconv


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


def test_the_code_everywhere_and_the_coordinates() -> None:
    tiled = Tile(2, 3)(torch.tensor([[5.0, 6.0]]))[0]
    assert tiled[0].unique().tolist() == [5.0]
    assert tiled[1].unique().tolist() == [6.0]
    assert tiled[2].tolist() == [[-1, 0, 1], [-1, 0, 1]]  # x grows to the right
    assert tiled[3].tolist() == [[-1, -1, -1], [1, 1, 1]]  # y grows downwards


def test_parameters_counted_by_hand_of_broadcast() -> None:
    net = Broadcast().build(10, (3, 64, 64))
    assert sum(p.numel() for p in net.parameters()) == (12 * 64 * 9 + 64) + 2 * (64 * 64 * 9 + 64) + (64 * 3 * 9 + 3)


def test_pointwise_kernels_draw_a_function_of_code_and_place() -> None:
    # relu(x - z) for each pixel: a boundary that the code moves.
    net = Broadcast(channels=(1,), kernel=1).build(1, (1, 5, 5))
    first, second = [m for m in net.modules() if isinstance(m, nn.Conv2d)]
    with torch.no_grad():
        first.weight.copy_(torch.tensor([-1.0, 1.0, 0.0]).view(1, 3, 1, 1))
        second.weight.fill_(1.0)
        first.bias.zero_()
        second.bias.zero_()
    image = net(torch.tensor([[0.5]]))[0, 0]
    assert torch.equal(image, torch.tensor([0.0, 0.0, 0.0, 0.0, 0.5]).expand(5, 5))


def test_images_of_any_size_but_not_rows() -> None:
    assert Broadcast(channels=(2,)).build(3, (1, 28, 20))(torch.zeros(2, 3)).shape == (2, 1, 28, 20)
    with pytest.raises(HatchelError, match="Set decoder=mlp_decoder"):
        Broadcast().build(3, (12,))
    with pytest.raises(HatchelError, match="kernel: must be odd, got 4"):
        Broadcast(kernel=4)


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
def test_parameters_counted_by_hand_of_deconv(shape: tuple[int, ...], expected: int) -> None:
    assert sum(p.numel() for p in Deconv().build(10, shape).parameters()) == expected


def test_the_same_function_as_the_net_written_out_of_deconv() -> None:
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
