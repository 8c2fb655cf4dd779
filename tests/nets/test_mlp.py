import pytest
import torch
from torch.nn import functional as F

from hatchel.core.errors import HatchelError
from hatchel.core.spec import from_dict
from hatchel.nets.mlp import Mlp, MlpDecoder


def test_a_tiny_encoder_computed_by_hand() -> None:
    net = Mlp(hidden=(2,)).build((2,), (1,))
    weight, bias, head, offset = net.parameters()
    with torch.no_grad():
        weight.copy_(torch.tensor([[1.0, 2.0], [-1.0, -1.0]]))
        bias.copy_(torch.tensor([0.5, 0.0]))
        head.copy_(torch.tensor([[2.0, 7.0]]))
        offset.copy_(torch.tensor([-1.0]))
    encoded = net(torch.tensor([[1.0, 1.0], [-1.0, -1.0]]))
    assert encoded.features["hidden1"].tolist() == [[3.5, 0.0], [0.0, 2.0]]
    assert encoded.parameters.tolist() == [[6.0], [13.0]]


@pytest.mark.parametrize("name", ["relu", "tanh", "leaky_relu", "elu", "gelu", "silu"])
def test_the_activation_is_the_one_named(name: str) -> None:
    net = from_dict(MlpDecoder, {"kind": "mlp_decoder", "hidden": [3], "activation": name}).build(3, (3,))
    first, _, second, _ = net.parameters()
    with torch.no_grad():
        for p in net.parameters():
            p.zero_()
        first.copy_(torch.eye(3))
        second.copy_(torch.eye(3))
    z = torch.tensor([[-1.0, 0.5, 2.0]])
    torch.testing.assert_close(net(z), getattr(F, name)(z))


def test_no_hidden_layer_is_a_linear_map() -> None:
    torch.manual_seed(0)
    net = Mlp(hidden=()).build((1, 4, 4), (2, 3))
    assert sum(p.numel() for p in net.parameters()) == 16 * 5 + 5
    x = torch.randn(3, 1, 4, 4)
    torch.testing.assert_close(net(2 * x).parameters - net(x).parameters, net(x).parameters - net(0 * x).parameters)
    assert sum(p.numel() for p in MlpDecoder(hidden=()).build(3, (7,)).parameters()) == 3 * 7 + 7


def test_images_of_any_size() -> None:
    assert Mlp().build((3, 28, 20), (2,))(torch.zeros(2, 3, 28, 20)).parameters.shape == (2, 2)
    assert MlpDecoder().build(4, (3, 28, 20))(torch.zeros(2, 4)).shape == (2, 3, 28, 20)


def test_an_unknown_activation_is_refused() -> None:
    with pytest.raises(HatchelError, match="activation"):
        from_dict(Mlp, {"kind": "mlp", "activation": "rulu"})
