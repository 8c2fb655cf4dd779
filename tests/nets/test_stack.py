import torch
from torch import nn

from hatchel.nets.layers import Branched, Headed
from hatchel.nets.part import Classes


def test_features_are_the_layers_outputs_not_copies() -> None:
    net = Headed({"twice": nn.Linear(2, 2, bias=False), "total": nn.Linear(2, 1, bias=False)}, nn.Identity())
    with torch.no_grad():
        net.stack.layers["twice"].weight.copy_(2 * torch.eye(2))
        net.stack.layers["total"].weight.fill_(1.0)
    encoded = net(torch.tensor([[1.0, 3.0]]))
    assert encoded.features["twice"].tolist() == [[2.0, 6.0]]
    assert encoded.features["total"].tolist() == [[8.0]]
    assert encoded.parameters is encoded.features["total"]


def test_sites_stand_in_their_order_whichever_layer_they_come_from() -> None:
    widths = (Classes(3), 2, Classes(1), 2)
    net = Branched({"before": nn.Identity(), "last": nn.Linear(1, 1, bias=False)}, (1, 1), widths)
    assert net.side is not None
    assert net.head is not None
    with torch.no_grad():
        net.stack.layers["last"].weight.fill_(100.0)
        net.side[1].weight.copy_(torch.arange(1.0, 5).view(4, 1))
        net.head.weight.copy_(torch.arange(1.0, 5).view(4, 1))
        net.side[1].bias.zero_()
        net.head.bias.zero_()
    assert net(torch.ones(1, 1)).parameters.tolist() == [[1, 2, 3, 100, 200, 4, 300, 400]]


def test_a_layer_that_nobody_reads_is_not_built() -> None:
    layers = {"before": nn.Linear(4, 4), "last": nn.Linear(4, 4)}
    net = Branched(layers, (4, 4), (Classes(5), Classes(3)))
    assert set(net(torch.ones(1, 4)).features) == {"before"}
    assert sum(p.numel() for p in net.parameters()) == (4 * 4 + 4) + (4 * 8 + 8)
