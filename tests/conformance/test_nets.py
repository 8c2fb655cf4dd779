"""What every encoder and decoder must hold, plug-ins included."""

import pytest
import torch
from torch import nn

from hatchel.core.errors import HatchelError
from hatchel.core.spec import from_dict, to_dict
from hatchel.nets.part import Decoder, Encoded, Encoder, Shape

SHAPES: list[Shape] = [(c, s, s) for s in (16, 32, 64) for c in (1, 3)] + [(1, 28, 28), (2, 24, 32), (4, 50, 37), (7,)]
WIDTHS = [(2, 2, 2), (2, 4, 2, 3), (5,)]
ENCODERS = Encoder.members()
DECODERS = Decoder.members()


def fitting(build, shape: Shape) -> nn.Module:
    """The net, or a skip where it says in one line that this shape is not for it."""
    torch.manual_seed(0)
    if len(shape) == 3:
        return build()  # images of any size and aspect fit every net
    try:
        return build()
    except HatchelError as error:
        message = str(error)
    assert "\n" not in message
    assert "Set " in message, "an error names the remedy"
    pytest.skip(message)


def items(shape: Shape, seed: int = 0) -> torch.Tensor:
    return torch.rand(4, *shape, generator=torch.Generator().manual_seed(seed))


def assert_gradient_everywhere(net: nn.Module, value: torch.Tensor) -> None:
    # Squares, as a plain sum over a BatchNorm's output has no gradient before it.
    value.square().sum().backward()
    for name, p in net.named_parameters():
        assert p.grad is not None, name
        assert torch.isfinite(p.grad).all(), name
        assert p.grad.abs().sum() > 0, name


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", ENCODERS)
def test_encoders(kind: str, shape: Shape) -> None:
    for widths in WIDTHS if shape in ((1, 16, 16), (7,)) else WIDTHS[1:2]:
        net = fitting(lambda w=widths: ENCODERS[kind]().build(shape, w), shape)
        encoded = net(items(shape))
        assert isinstance(encoded, Encoded)
        assert encoded.parameters.shape == (4, sum(widths))
        assert all(isinstance(name, str) and len(value) == 4 for name, value in encoded.features.items())
        assert_gradient_everywhere(net, encoded.parameters)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", DECODERS)
def test_decoders(kind: str, shape: Shape) -> None:
    net = fitting(lambda: DECODERS[kind]().build(5, shape), shape)
    output = net(items((5,)))
    assert output.shape == (4, *shape)
    assert_gradient_everywhere(net, output)


@pytest.mark.parametrize("kind", DECODERS)
def test_outputs_are_free_to_be_negative(kind: str) -> None:
    def smallest(seed: int) -> float:
        torch.manual_seed(seed)
        return DECODERS[kind]().build(5, (1, 16, 16))(items((5,))).min().item()

    assert min(smallest(seed) for seed in range(8)) < 0


@pytest.mark.parametrize("kind", ENCODERS)
def test_an_encoder_does_not_see_how_memory_is_laid_out(kind: str) -> None:
    net = ENCODERS[kind]().build((3, 16, 16), (2, 3)).eval()
    x = items((3, 16, 16))
    expected = net(x).parameters
    torch.testing.assert_close(net(x.to(memory_format=torch.channels_last)).parameters, expected)
    net.to(memory_format=torch.channels_last)
    torch.testing.assert_close(net(x.to(memory_format=torch.channels_last)).parameters, expected)


@pytest.mark.parametrize("kind", DECODERS)
def test_a_decoder_does_not_see_how_memory_is_laid_out(kind: str) -> None:
    net = DECODERS[kind]().build(5, (3, 16, 16)).eval()
    z = items((5,))
    expected = net(z)
    torch.testing.assert_close(net.to(memory_format=torch.channels_last)(z), expected)


@pytest.mark.parametrize("kind", ENCODERS)
def test_encoding_treats_items_one_by_one(kind: str) -> None:
    net = ENCODERS[kind]().build((1, 16, 16), (2, 3)).eval()
    x = items((1, 16, 16))
    torch.testing.assert_close(net(x).parameters[1:3], net(x[1:3]).parameters)


@pytest.mark.parametrize("kind", DECODERS)
def test_decoding_treats_items_one_by_one(kind: str) -> None:
    net = DECODERS[kind]().build(5, (1, 16, 16)).eval()
    z = items((5,))
    torch.testing.assert_close(net(z)[1:3], net(z[1:3]))


@pytest.mark.parametrize("spec", [*ENCODERS.values(), *DECODERS.values()], ids=lambda c: c.kind)
def test_defaults_survive_json_and_have_their_say(spec: type[Encoder] | type[Decoder]) -> None:
    made = spec()
    assert from_dict(spec, to_dict(made)) == made
    assert spec.__doc__
    assert all(spec.help().get(name) for name in spec.__dataclass_fields__)


@pytest.mark.parametrize("kind", ENCODERS)
def test_building_reads_nothing_but_torchs_seed(kind: str) -> None:
    def numbers() -> torch.Tensor:
        torch.manual_seed(3)
        return ENCODERS[kind]().build((1, 16, 16), (2, 2)).eval()(items((1, 16, 16))).parameters

    assert torch.equal(numbers(), numbers())
