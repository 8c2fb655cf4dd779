import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.nets.recursive import Recurd0, Recurd0Decoder, Recursive
from hatchel.nets.split import Split


def count(net: torch.nn.Module) -> int:
    return sum(p.numel() for p in net.parameters())


def images(*shape: int) -> torch.Tensor:
    return torch.rand(4, *shape, generator=torch.Generator().manual_seed(0))


HEAD = (8 * 8 * 16 * 16 + 16) + (16 * 2 + 2)
"""FC 16 on an 8x8 map of 16 channels, then a mean and a log-variance."""


def table_4(channels: int, heads: int, widths: tuple[int, int]) -> int:
    one, two = widths
    first = 4 * ((channels * one * 16 + one) + (one * two * 16 + two))
    return first + 4 * heads + heads * ((two * 16 * 16 + 16) + HEAD)


def table_5(channels: int, heads: int, width: int) -> int:
    first = 2 * (channels * width * 16 + width)
    second = 4 * (width * 16 * 16 + 16)
    return first + 2 * 4 + second + 4 * heads + heads * ((16 * 16 * 16 + 16) + HEAD)


@pytest.mark.parametrize("channels, heads", [(1, 8), (3, 8), (3, 16)])
def test_tables_4_and_5_by_hand_in_both_readings(channels: int, heads: int) -> None:
    shape, widths = (channels, 64, 64), (2,) * heads
    assert count(Recursive().build(shape, widths)) == table_4(channels, heads, (8, 16))
    assert count(Recursive(reading="literal").build(shape, widths)) == table_4(channels, heads, (32, 64))
    assert count(Recursive(depth=2).build(shape, widths)) == table_5(channels, heads, 16)
    assert count(Recursive(depth=2, reading="literal").build(shape, widths)) == table_5(channels, heads, 32)


@pytest.mark.parametrize(
    "router, reading, off",
    [("similarity", "total", -0.117), ("printed", "total", 0.042), ("similarity", "literal", -0.094)],
)
def test_the_parameters_of_recurd_2_without_mine(router: str, reading: str, off: float) -> None:
    """0.826 million on CelebA (appendix E.4), 16 heads: no reading gives that number; Eq. 5's router is nearest."""
    shape = (3, 64, 64)
    encoder = Recursive(depth=2, router=router, reading=reading).build(shape, (2,) * 16)
    total = count(encoder) + count(Recurd0Decoder().build(16, shape))
    assert total / 0.826e6 - 1 == pytest.approx(off, abs=0.001)


@pytest.mark.parametrize(
    "depth, given, read",
    [
        (1, {"m2": (4, 16, 16, 16)}, {"routed2": (8, 16, 16, 16)}),
        (
            2,
            {"m2": (2, 16, 32, 32), "m3": (4, 16, 16, 16)},
            {"routed2": (4, 16, 32, 32), "routed3": (8, 16, 16, 16)},
        ),
    ],
)
def test_features_are_what_the_encoders_give_and_what_they_read(
    depth: int, given: dict[str, tuple[int, ...]], read: dict[str, tuple[int, ...]]
) -> None:
    net = Recursive(depth=depth).build((1, 64, 64), (2,) * 8)
    x = images(1, 64, 64)
    encoded = net(x)
    assert {name: tuple(f.shape[1:]) for name, f in encoded.features.items()} == given | read
    torch.testing.assert_close(encoded.features["m2"].flatten(1, 2), net.groups[0](x))
    for i, router in enumerate(net.routers):
        torch.testing.assert_close(encoded.features[f"routed{i + 2}"], router(encoded.features[f"m{i + 2}"]))
    torch.testing.assert_close(net.last(encoded.features[f"routed{depth + 1}"].flatten(1, 2)), encoded.parameters)


@pytest.mark.parametrize("depth", [1, 2])
def test_a_feature_is_the_routed_mixture_of_the_groups_before_it(depth: int) -> None:
    net = Recursive(depth=depth, k=1).build((1, 32, 32), (2,) * 8)
    x = images(1, 32, 32)
    routed = net(x).features["routed2"]
    maps = net.groups[0](x).unflatten(1, (net.counts[0], -1))
    # With k = 1 every routed input is one of the maps itself.
    distance = (routed[:, :, None] - maps[:, None]).flatten(3).abs().amax(3)
    assert (distance.amin(2) == 0).all()


def test_sites_of_the_last_group_share_no_parameter() -> None:
    net = Recursive().build((1, 32, 32), (2,) * 8)
    out = net(images(1, 32, 32)).parameters
    for site in range(8):
        net.zero_grad()
        out[:, 2 * site : 2 * site + 2].square().sum().backward(retain_graph=True)
        for p in (net.last.conv.weight, net.last.conv.bias, net.last.hidden.weight, net.last.hidden.bias):
            moved = [bool((g != 0).any()) for g in p.grad]
            assert moved == [i == site for i in range(8)]


@pytest.mark.parametrize("router", ["similarity", "printed", "linear", "fixed", "attention", "none"])
@pytest.mark.parametrize("depth", [1, 2])
def test_every_router_at_every_depth_has_a_gradient(router: str, depth: int) -> None:
    torch.manual_seed(0)
    net = Recursive(depth=depth, router=router).build((3, 32, 32), (2,) * 8)
    net(images(3, 32, 32)).parameters.square().sum().backward()
    for name, p in net.named_parameters():
        # A constant added to all keys of a query does not move its softmax.
        assert name.endswith(("keys.bias", "linear.bias")) or (p.grad != 0).any(), name


@pytest.mark.parametrize("depth", [1, 2])
def test_without_a_router_every_encoder_reads_all_features(depth: int) -> None:
    net = Recursive(depth=depth, router="none").build((3, 32, 32), (2,) * 10)
    features = net(images(3, 32, 32)).features
    given, read = features[f"m{depth + 1}"], features[f"routed{depth + 1}"]
    assert all(torch.equal(read[:, i], given.flatten(1, 2)) for i in range(10))


def test_split_behind_a_recursive_trunk_has_the_split_encoders_branches() -> None:
    split = Split().build((3, 32, 32), (2,) * 10)
    behind = Recursive(router="none", reading="literal", channels=32, hidden=128).build((3, 32, 32), (2,) * 10)
    # A branch of the split encoder reads 64 channels, here all 4 x 64; the layers after its convolution are the same.
    wider = 10 * 32 * 16 * (4 * 64 - 64)
    assert count(behind.last) == count(split.head) + wider


def test_images_of_any_size_from_8() -> None:
    for shape in ((1, 8, 8), (3, 28, 28), (1, 40, 50)):
        assert Recursive().build(shape, (2, 3))(images(*shape)).parameters.shape == (4, 5)
    with pytest.raises(
        HatchelError, match=r"encoder=recursive needs images of at least 8x8; these are 7x9. Set encoder"
    ):
        Recursive().build((1, 7, 9), (2,))


CONVOLUTIONS = 544 + 16416 + 32832 + 65600  # 16 * in * out + out for 1, 32, 32, 64, 64


def test_table_3_by_hand() -> None:
    assert count(Recurd0().build((1, 64, 64), (2,) * 8)) == CONVOLUTIONS + (1024 * 128 + 128) + (128 * 16 + 16)
    up = 65600 + 32800 + 16416 + 513
    linear, transposed = (128 * 1024 + 1024), (128 * 1024 + 64)
    assert count(Recurd0Decoder(first="linear").build(8, (1, 64, 64))) == (8 * 128 + 128) + linear + up
    assert count(Recurd0Decoder().build(8, (1, 64, 64))) == (8 * 128 + 128) + transposed + up


@pytest.mark.parametrize("dim, ours", [(8, 763_795), (16, 769_955)], ids=["3DShapes", "CelebA"])
def test_with_colour_the_parameters_of_table_10(dim: int, ours: int) -> None:
    """beta-VAE: 0.769 million on both, which is 16 dimensions; the layers have 256 units by themselves."""
    shape = (3, 64, 64)
    total = count(Recurd0().build(shape, (2,) * dim)) + count(Recurd0Decoder().build(dim, shape))
    assert total == ours
    assert total / 0.769e6 == pytest.approx(1, abs=0.008)
    assert count(Recurd0(128).build(shape, (2,) * dim)) < count(Recurd0().build(shape, (2,) * dim))


def test_a_transposed_convolution_from_1x1_is_a_linear_layer_with_a_bias_a_channel() -> None:
    torch.manual_seed(0)
    ours, linear = (Recurd0Decoder(first=first).build(8, (1, 32, 32)) for first in ("transposed", "linear"))
    kernels, z = ours[3].kernels, torch.randn(3, 8)
    linear[0].load_state_dict(ours[0].state_dict())
    linear[2].weight.data = kernels.weight.data.permute(2, 3, 1, 0).flatten(0, 2)
    linear[2].bias.data = kernels.bias.data.repeat(16)
    torch.testing.assert_close(ours[:5](z), linear[:5](z))
