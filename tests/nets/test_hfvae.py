import itertools

import pytest
import torch
from torch import nn

from hatchel.core.errors import HatchelError
from hatchel.latents.diagonal import Diagonal
from hatchel.latents.mixed import Mixed
from hatchel.latents.scaled_hierarchy import ScaledHierarchy
from hatchel.latents.variables import Concrete, Gaussian
from hatchel.nets.hfvae import (
    HfvaeCeleba,
    HfvaeCelebaDecoder,
    HfvaeDsprites,
    HfvaeDspritesDecoder,
    HfvaeMnist,
    HfvaeMnistDecoder,
)
from hatchel.nets.part import Classes, Encoder


def count(net: nn.Module) -> int:
    return sum(p.numel() for p in net.parameters())


def fc(*sizes: int) -> int:
    return sum(a * b + b for a, b in itertools.pairwise(sizes))


def test_table_3_by_hand() -> None:
    widths = (2,) * 10 + (Classes(10),)
    net = HfvaeMnist().build((1, 28, 28), widths)
    assert count(net) == fc(784, 400) + 2 * fc(400, 200, 10) + fc(400, 10)
    assert count(HfvaeMnist(branches=1).build((1, 28, 28), widths)) == fc(784, 400, 200) + fc(400, 10) + fc(200, 20)
    assert count(HfvaeMnistDecoder().build(20, (1, 28, 28))) == fc(20, 200, 400, 784)


def test_table_4_by_hand() -> None:
    widths = (2,) * 10 + (Classes(3),)
    net = HfvaeDsprites().build((1, 64, 64), widths)
    assert count(net) == fc(4096, 1200, 1200) + 2 * fc(1200, 400, 10) + fc(1200, 3)
    one = HfvaeDsprites(branches=1).build((1, 64, 64), widths)
    assert count(one) == fc(4096, 1200, 1200, 400) + fc(1200, 3) + fc(400, 20)
    assert count(HfvaeDspritesDecoder().build(13, (1, 64, 64))) == fc(13, 400, 1200, 1200, 4096)


def test_table_5_by_hand() -> None:
    widths = (2,) * 20 + (Classes(3),)
    convolutions = 16 * (3 * 32 + 32 * 32 + 32 * 64 + 64 * 64) + 2 * (32 + 32 + 64 + 64)  # BatchNorm: gain, offset
    assert count(HfvaeCeleba().build((3, 64, 64), widths)) == convolutions + 2 * fc(1024, 256, 20) + fc(1024, 3)
    one = HfvaeCeleba(branches=1).build((3, 64, 64), widths)
    assert count(one) == convolutions + fc(1024, 256) + fc(1024, 3) + fc(256, 40)
    up = 16 * (64 * 64 + 64 * 32 + 32 * 32 + 32 * 3) + 2 * (64 + 32 + 32) + 3
    assert count(HfvaeCelebaDecoder().build(23, (3, 64, 64))) == fc(23, 256, 1024) + up


@pytest.mark.parametrize("encoder, size", [(HfvaeMnist(), 28), (HfvaeDsprites(), 64), (HfvaeCeleba(), 64)])
def test_discrete_sites_skip_the_last_hidden_layer(encoder: Encoder, size: int) -> None:
    torch.manual_seed(0)
    net = encoder.build((1, size, size), (2, Classes(5), 2))
    encoded = net(torch.rand(4, 1, size, size))
    *_, before, last = encoded.features
    late = dict(net.stack.layers.items())[last]
    discrete = torch.autograd.grad(
        encoded.parameters[:, 2:7].sum(), late.parameters(), retain_graph=True, allow_unused=True
    )
    gaussian = torch.autograd.grad(encoded.parameters[:, [0, 1, 7, 8]].sum(), late.parameters(), allow_unused=True)
    assert all(g is None or not g.any() for g in discrete)
    assert all(g is not None and g.any() for g in gaussian)
    row = (
        encoded.features[before].permute(0, 2, 3, 1).flatten(1)
        if size == 64 and before == "conv4"
        else encoded.features[before]
    )
    torch.testing.assert_close(encoded.parameters[:, 2:7], net.side[1](row))


@pytest.mark.parametrize("encoder, size", [(HfvaeMnist(), 28), (HfvaeDsprites(), 64), (HfvaeCeleba(), 64)])
def test_means_and_log_variances_have_a_layer_each(encoder: Encoder, size: int) -> None:
    torch.manual_seed(0)
    net = encoder.build((1, size, size), (2, Classes(5), 2))
    encoded = net(torch.rand(4, 1, size, size))
    row = encoded.features[list(encoded.features)[-1]]
    units = row.shape[1] // 2
    for places, own, head in (([0, 7], row[:, :units], net.head.mean), ([1, 8], row[:, units:], net.head.spread)):
        torch.testing.assert_close(encoded.parameters[:, places], head(own))
        (gradient,) = torch.autograd.grad(encoded.parameters[:, places].sum(), row, retain_graph=True)
        assert gradient[:, :units].any() == (0 in places)
        assert gradient[:, units:].any() == (1 in places)


def test_tanh_where_the_tables_have_it() -> None:
    assert sum(isinstance(m, nn.Tanh) for m in HfvaeDspritesDecoder().build(3, (1, 64, 64)).modules()) == 3
    celeba = list(HfvaeCelebaDecoder().build(3, (3, 64, 64)).modules())
    assert sum(isinstance(m, nn.Tanh) for m in celeba) == 1
    assert sum(isinstance(m, nn.BatchNorm2d) for m in celeba) == 3


def test_one_hidden_layer_leaves_no_place_for_the_branch() -> None:
    with pytest.raises(HatchelError, match="hidden: name at least two"):
        HfvaeMnist(hidden=(400,))


def test_a_variable_of_two_classes_is_not_taken_for_a_gaussian_coordinate() -> None:
    latent = Mixed({"class": Concrete(2), "style": Gaussian(1)})
    assert latent.widths == (2, 2)
    net = HfvaeMnist(hidden=(6, 5), branches=1).build((1, 4, 4), latent.widths)
    encoded = net(torch.rand(3, 1, 4, 4, generator=torch.Generator().manual_seed(0)))
    torch.testing.assert_close(encoded.parameters[:, :2], net.side[1](encoded.features["hidden1"]))
    torch.testing.assert_close(encoded.parameters[:, 2:], net.head(encoded.features["hidden2"]))
    assert (net.side[1].in_features, net.head.in_features) == (6, 5)


def test_several_levels_of_one_coordinate_are_not_taken_for_classes() -> None:
    latent = ScaledHierarchy(Diagonal(2), levels=2, spaces="parallel")  # four numbers a coordinate
    net = HfvaeMnist(hidden=(6, 5), branches=1).build((1, 4, 4), latent.widths)
    assert net.side is None
    assert net.head.out_features == 8
    two = HfvaeMnist(hidden=(6, 5)).build((1, 4, 4), latent.widths)
    assert (two.head.mean.out_features, two.head.spread.out_features) == (4, 4)
