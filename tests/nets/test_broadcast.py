import pytest
import torch
from torch import nn

from hatchel.core.errors import HatchelError
from hatchel.nets.conv import Broadcast, Tile


def test_the_code_everywhere_and_the_coordinates() -> None:
    tiled = Tile(2, 3)(torch.tensor([[5.0, 6.0]]))[0]
    assert tiled[0].unique().tolist() == [5.0]
    assert tiled[1].unique().tolist() == [6.0]
    assert tiled[2].tolist() == [[-1, 0, 1], [-1, 0, 1]]  # x grows to the right
    assert tiled[3].tolist() == [[-1, -1, -1], [1, 1, 1]]  # y grows downwards


def test_parameters_counted_by_hand() -> None:
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
