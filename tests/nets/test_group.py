from copy import deepcopy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from hatchel.nets.group import Branches, GroupedConv, GroupedLinear, Readout, Winograd

WIDTHS = (2, 3, 2)


def rows(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def loop(net: Branches, x: torch.Tensor, own: bool) -> torch.Tensor:
    """The same branches one by one, with torch's own layers."""
    outputs, start = [], 0
    if own:
        weight, bias = net.conv.weight.unflatten(2, (-1, 4, 4)), net.conv.bias
        x_of = x.chunk(net.branches, 1)
    else:
        weight, bias = net.conv[0].weight.unflatten(0, (net.branches, -1)), net.conv[0].bias.unflatten(0, (3, -1))
        x_of = (x,) * net.branches
    for j, width in enumerate(WIDTHS):
        maps = F.conv2d(x_of[j], weight[j], bias[j], stride=2, padding=1).relu()
        hidden = nn.Linear(net.hidden.weight.shape[1], net.hidden.weight.shape[2])
        hidden.weight.data, hidden.bias.data = net.hidden.weight[j].T, net.hidden.bias[j, 0]
        h = hidden(maps.permute(0, 2, 3, 1).flatten(1)).relu()
        last = net.last.numbers
        outputs.append(
            torch.stack([h @ last.weight[o, :, 0] + last.bias[o, 0, 0] for o in range(start, start + width)], 1)
        )
        start += width
    return torch.cat(outputs, 1)


@pytest.mark.parametrize("own", [False, True], ids=["split", "last group of recursive"])
def test_all_at_once_equals_one_by_one(own: bool) -> None:
    torch.manual_seed(1)
    net = Branches((4, 8, 8), WIDTHS, channels=5, hidden=7, own=own)
    x = rows(6, 12 if own else 4, 8, 8)
    torch.testing.assert_close(net(x), loop(net, x, own))


@pytest.mark.parametrize("own", [False, True], ids=["split", "last group of recursive"])
def test_branches_are_independent(own: bool) -> None:
    """d numbers of site j / d parameters of branch i is exactly 0 for i != j, and not for i = j."""
    net = Branches((4, 8, 8), WIDTHS, channels=5, hidden=7, own=own)
    out = net(rows(6, 12 if own else 4, 8, 8))
    owner = [0, 0, 1, 1, 1, 2, 2]
    for j in range(3):
        net.zero_grad()
        out[:, [o for o, b in enumerate(owner) if b == j]].square().sum().backward(retain_graph=True)
        gradients = {
            name: p.grad.flatten(0, 0).unflatten(0, (len(owner) if name.startswith("last") else 3, -1))
            for name, p in net.named_parameters()
        }
        for name, gradient in gradients.items():
            for i, part in enumerate(gradient):
                mine = (owner[i] if name.startswith("last") else i) == j
                assert bool((part != 0).any()) == mine, (name, i, j)


def test_a_training_step_by_fewer_products_equals_the_convolution() -> None:
    """Values and gradients within 1e-5 of those in double precision, where the convolution itself is within 1e-6."""
    torch.manual_seed(5)
    net = Branches((16, 8, 8), WIDTHS, channels=8, hidden=7).to(memory_format=torch.channels_last)
    exact = deepcopy(net).double()
    x, upstream = rows(32, 16, 8, 8).requires_grad_(), rows(32, 7)
    assert Winograd.pays(x)
    of_x = x.detach().double().requires_grad_()
    pairs = [(net(x), exact(of_x))]
    ours = torch.autograd.grad(pairs[0][0], [x, *net.parameters()], upstream)
    theirs = torch.autograd.grad(pairs[0][1], [of_x, *exact.parameters()], upstream.double())
    for one, other in [*pairs, *zip(ours, theirs, strict=True)]:
        assert float(((one - other).norm() / other.norm()).detach()) < 1e-5


def test_grouped_layers_equal_single_ones() -> None:
    torch.manual_seed(2)
    x = rows(3, 5, 4)
    layer = GroupedLinear(3, 4, 2)
    expected = [x[g] @ layer.weight[g] + layer.bias[g] for g in range(3)]
    torch.testing.assert_close(layer(x), torch.stack(expected))
    conv, images = GroupedConv(3, 2, 4), rows(5, 6, 8, 8)
    parts = [
        F.conv2d(part, conv.weight[g].unflatten(1, (2, 4, 4)), conv.bias[g], stride=2, padding=1).relu()
        for g, part in enumerate(images.chunk(3, 1))
    ]
    torch.testing.assert_close(conv(images), torch.cat(parts, 1))


def test_a_branch_may_serve_several_sites() -> None:
    assert Readout(4, (2, 2, 2), together=2).branch.tolist() == [0, 0, 0, 0, 1, 1]


def test_initialised_as_torch_does() -> None:
    torch.manual_seed(3)
    bound = 1 / 64**0.5
    for weight in (GroupedLinear(8, 64, 64).weight, GroupedConv(8, 4, 16).weight):
        assert weight.abs().max() <= bound
        assert float(weight.detach().std()) == pytest.approx(bound / 3**0.5, rel=0.05)
