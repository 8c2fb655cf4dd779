import torch

from hatchel.nets.conv import Conv
from hatchel.nets.split import Split


def test_by_hand() -> None:
    trunk = 544 + 16416 + 32832
    branch = (64 * 32 * 16 + 32) + (512 * 128 + 128) + 2 * (128 + 1)
    assert sum(p.numel() for p in Split().build((1, 64, 64), (2,) * 10).parameters()) == trunk + 10 * branch


def test_has_the_depth_of_the_plain_encoder() -> None:
    def layers(net: torch.nn.Module) -> int:
        return sum(name.endswith("weight") for name, _ in net.named_parameters())

    for shape in ((1, 64, 64), (3, 32, 32), (1, 16, 16)):
        assert layers(Split().build(shape, (2, 2))) == layers(Conv().build(shape, (2, 2)))


def test_sites_meet_in_the_trunk_only() -> None:
    net = Split().build((1, 32, 32), (2, 2, 2))
    out = net(torch.rand(4, 1, 32, 32, generator=torch.Generator().manual_seed(0))).parameters
    out[:, 2:4].square().sum().backward()
    hidden = net.head.hidden.weight.grad
    assert (hidden[1] != 0).any()
    assert (hidden[[0, 2]] == 0).all()
    assert all((p.grad != 0).any() for p in net.stack.parameters())
