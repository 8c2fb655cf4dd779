import pytest
import torch
from torch import nn

from hatchel.nets.layers import Upconv


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
