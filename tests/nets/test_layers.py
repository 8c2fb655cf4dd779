import pytest
import torch
from torch import nn

from hatchel.core.errors import HatchelError
from hatchel.nets.layers import Branched, Grid, Headed, ToRow, ToShape, Upconv, fitted, grid_of
from hatchel.nets.part import Classes


def grid(*shape: int) -> Grid:
    return grid_of(shape, "encoder=conv", "encoder=mlp")


@pytest.mark.parametrize("side, layers", [(16, 2), (32, 3), (64, 4), (128, 5)])
def test_each_halving_is_one_layer(side: int, layers: int) -> None:
    assert grid(3, side, side) == (layers, 4, 4)
    assert grid(3, side, side).padding((3, side, side)) == grid(3, side, side).cropping((3, side, side)) == []


@pytest.mark.parametrize(
    "height, width, expected",
    [
        (28, 28, (3, 4, 4)),  # padded to 32x32
        (48, 64, (4, 3, 4)),
        (100, 75, (5, 4, 3)),  # 128x96
        (65, 65, (4, 5, 5)),  # 80x80
        (8, 8, (1, 4, 4)),
        (4, 200, (2, 1, 50)),  # a strip: 4 rows are not made 64
        (1, 1, (1, 1, 1)),
    ],
)
def test_other_sizes_are_padded_and_cropped_back(height: int, width: int, expected: tuple[int, ...]) -> None:
    found = grid(1, height, width)
    assert found == expected
    shape, x = (1, height, width), torch.rand(2, 1, height, width)
    there, back = (nn.Sequential(*way(shape)) for way in (found.padding, found.cropping))
    assert there(x).shape[2:] == (found.height << found.layers, found.width << found.layers)
    torch.testing.assert_close(there(x).sum(), x.sum())
    assert torch.equal(back(there(x)), x)


def test_rows_are_told_what_to_do() -> None:
    with pytest.raises(HatchelError, match=r"encoder=conv needs images .* Set encoder=mlp"):
        grid(12)


@pytest.mark.parametrize(
    "layers, channels", [(1, (64,)), (3, (32, 64, 64)), (4, (16, 32, 64, 64)), (6, (16, 16, 16, 32, 64, 64))]
)
def test_channels_are_counted_from_the_grid(layers: int, channels: tuple[int, ...]) -> None:
    assert fitted((16, 32, 64, 64), layers) == channels


def test_rows_and_images_are_inverse_and_copy_nothing_in_channels_last() -> None:
    image = torch.arange(24.0).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last)
    row = ToRow()(image)
    assert row[0, :4].tolist() == [0.0, 12.0, 1.0, 13.0]  # both channels of a pixel side by side
    back = ToShape((2, 3, 4))(row)
    assert torch.equal(back, image)
    assert back.data_ptr() == row.data_ptr() == image.data_ptr()
    assert back.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(ToShape((24,))(row), row)


def test_features_are_the_layers_outputs_not_copies() -> None:
    net = Headed({"twice": nn.Linear(2, 2, bias=False), "total": nn.Linear(2, 1, bias=False)}, nn.Identity())
    with torch.no_grad():
        net.stack.layers["twice"].weight.copy_(2 * torch.eye(2))
        net.stack.layers["total"].weight.fill_(1.0)
    encoded = net(torch.tensor([[1.0, 3.0]]))
    assert encoded.features["twice"].tolist() == [[2.0, 6.0]]
    assert encoded.features["total"].tolist() == [[8.0]]
    assert encoded.parameters is encoded.features["total"]


def test_sites_stand_in_their_order_whichever_layer_they_come_from() -> None:
    widths = (Classes(3), 2, Classes(1), 2)
    net = Branched({"before": nn.Identity(), "last": nn.Linear(1, 1, bias=False)}, (1, 1), widths)
    assert net.side is not None
    assert net.head is not None
    with torch.no_grad():
        net.stack.layers["last"].weight.fill_(100.0)
        net.side[1].weight.copy_(torch.arange(1.0, 5).view(4, 1))
        net.head.weight.copy_(torch.arange(1.0, 5).view(4, 1))
        net.side[1].bias.zero_()
        net.head.bias.zero_()
    assert net(torch.ones(1, 1)).parameters.tolist() == [[1, 2, 3, 100, 200, 4, 300, 400]]


def test_a_layer_that_nobody_reads_is_not_built() -> None:
    layers = {"before": nn.Linear(4, 4), "last": nn.Linear(4, 4)}
    net = Branched(layers, (4, 4), (Classes(5), Classes(3)))
    assert set(net(torch.ones(1, 4)).features) == {"before"}
    assert sum(p.numel() for p in net.parameters()) == (4 * 4 + 4) + (4 * 8 + 8)


@pytest.mark.parametrize("outputs", [1, 3, 7, 8, 20])
@pytest.mark.parametrize("memory", [torch.contiguous_format, torch.channels_last])
def test_value_and_gradient_are_those_of_torchs_transposed_convolution(
    outputs: int, memory: torch.memory_format
) -> None:
    torch.manual_seed(0)
    net = Upconv(5, outputs).to(dtype=torch.double)
    x = torch.randn(3, 5, 4, 8, dtype=torch.double).to(memory_format=memory).requires_grad_()
    ours, theirs = net(x), net.kernels(x)
    torch.testing.assert_close(ours, theirs)
    weight = torch.randn_like(theirs)
    inputs = (x, *net.parameters())
    for a, b in zip(
        torch.autograd.grad((ours * weight).sum(), inputs),
        torch.autograd.grad((theirs * weight).sum(), inputs),
        strict=True,
    ):
        torch.testing.assert_close(a, b)


def test_second_derivatives_and_batched_maps_of_the_thin_case() -> None:
    torch.manual_seed(0)
    net = Upconv(2, 1).to(dtype=torch.double)
    x = torch.randn(1, 2, 2, 2, dtype=torch.double, requires_grad=True)
    names, parameters = zip(*net.named_parameters(), strict=True)

    def call(x: torch.Tensor, *values: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(net, dict(zip(names, values, strict=True)), (x,))

    assert torch.autograd.gradcheck(call, (x, *parameters))
    assert torch.autograd.gradgradcheck(call, (x, *parameters))
    items = torch.randn(3, 2, 4, 4, dtype=torch.double)
    mapped = torch.func.vmap(lambda item: net(item[None])[0])(items)
    torch.testing.assert_close(mapped, net.kernels(items))


def test_what_follows_may_change_the_image_in_place() -> None:
    torch.manual_seed(0)
    net, x = Upconv(4, 1), torch.randn(2, 4, 4, 4, requires_grad=True)
    (ours,) = torch.autograd.grad(net(x).relu_().sum(), x)
    (theirs,) = torch.autograd.grad(net.kernels(x).relu().sum(), x)
    torch.testing.assert_close(ours, theirs)
    assert net(x).is_contiguous(memory_format=torch.channels_last)


def test_other_kernels_and_no_bias() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 6, 1, 1)
    for net in (Upconv(6, 3, kernel=4, stride=1, padding=0), Upconv(6, 3, bias=False)):
        torch.testing.assert_close(net(x), net.kernels(x))


def test_mixed_precision_trains() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(Upconv(4, 16), Upconv(16, 1))
    x = torch.randn(2, 4, 4, 4)
    with torch.autocast("cpu", torch.bfloat16):
        y = net(x)
    y.float().sum().backward()
    exact = net[1].kernels(net[0].kernels(x))
    torch.testing.assert_close(y.float(), exact, atol=0.03, rtol=0.03)
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in net.parameters())


def test_exports() -> None:
    net = Upconv(4, 1).eval()
    x = torch.randn(2, 4, 4, 4)
    exported = torch.export.export(net, (x,)).module()
    torch.testing.assert_close(exported(x), net.kernels(x))


def test_from_one_place_it_is_a_product_with_equal_value_and_gradient() -> None:
    torch.manual_seed(0)
    net = Upconv(5, 3, 4, stride=1, padding=0).to(dtype=torch.double)
    x = torch.randn(2, 5, 1, 1, dtype=torch.double, requires_grad=True)
    ours, theirs = net(x), net.kernels(x)
    torch.testing.assert_close(ours, theirs)
    weight, inputs = torch.randn_like(theirs), (x, *net.parameters())
    for a, b in zip(*(torch.autograd.grad((y * weight).sum(), inputs) for y in (ours, theirs)), strict=True):
        torch.testing.assert_close(a, b)
