"""The ladder's upward path: every layer's numbers come from its own deterministic layer."""

from __future__ import annotations

import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.nets.ladder import LadderEncoder
from hatchel.nets.mlp import Mlp


def test_the_top_layers_sites_come_first_and_from_the_last_layer() -> None:
    net = LadderEncoder((3, 2), hidden=8, trunk=Mlp((6,))).build((4,), (2,) * 5)
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    encoded = net(x)
    assert list(encoded.features) == ["hidden1", "d1", "d2"]
    torch.testing.assert_close(encoded.parameters[:, :4], net.heads[1](encoded.features["d2"]))
    torch.testing.assert_close(encoded.parameters[:, 4:], net.heads[0](encoded.features["d1"]))
    expected = net.activation(net.up[0](encoded.features["d1"]))
    torch.testing.assert_close(encoded.features["d2"], expected)


def test_layers_must_fit_the_latent() -> None:
    with pytest.raises(HatchelError, match=r"layers for 5 sites and the latent has 4\. Set encoder\.layers"):
        LadderEncoder((3, 2)).build((4,), (2,) * 4)
