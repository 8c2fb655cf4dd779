import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.nets.conv import Conv
from hatchel.nets.split import Sharing, Split


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


def test_sixteen_sites_are_the_places_of_the_last_map() -> None:
    net = Sharing().build((1, 64, 64), (2,) * 16)
    x = torch.rand(3, 1, 64, 64, generator=torch.Generator().manual_seed(0))
    encoded = net(x)
    maps = net.head[0](encoded.features["conv3"])  # (B, 2, 4, 4)
    mean, log_variance = encoded.parameters.unflatten(1, (16, 2)).unbind(2)
    torch.testing.assert_close(mean, maps[:, 0].flatten(1))
    torch.testing.assert_close(log_variance, maps[:, 1].flatten(1))


def test_every_site_moves_with_every_filter() -> None:
    net = Sharing().build((1, 32, 32), (2,) * 10)
    out = net(torch.rand(3, 1, 32, 32, generator=torch.Generator().manual_seed(0))).parameters
    for site in range(10):
        (gradient,) = torch.autograd.grad(out[:, 2 * site].sum(), net.head[0].weight, retain_graph=True)
        assert (gradient[0] != 0).any()
        assert (gradient[1] == 0).all()


def test_more_sites_take_a_finer_map() -> None:
    assert list(Sharing().build((1, 64, 64), (2,) * 17).stack.layers) == ["conv1", "conv2"]
    assert Sharing().build((1, 64, 64), (2,) * 1024)(torch.zeros(1, 1, 64, 64)).parameters.shape == (1, 2048)
    with pytest.raises(HatchelError, match="places for 64 sites in these images, not 65"):
        Sharing().build((1, 16, 16), (2,) * 65)
