"""MINE: mutual information by the Donsker-Varadhan bound (Belghazi et al. 2018)."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

from hatchel.core.distributed import gather, mean, world
from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count, Share, added
from hatchel.core.streams import generator
from hatchel.nets.group import GroupedLinear
from hatchel.objective.estimators.estimator import Critic, CriticModule, Layers
from hatchel.objective.estimators.pair_pass import PairPass, follow, pays


class MINE(Critic):
    """KL(joint || product) >= E_joint[T] - log E_product[exp T], with T a perceptron that ascends the bound.

    The gradient of the log is biased on a batch; the critic's own loss divides by a moving average of E exp T instead
    (Belghazi et al., section 3.2). The model descends the bound itself.
    """

    hidden: Count = 128
    """Units of each hidden layer."""
    layers: Count = 4
    """Linear layers in all."""
    average: Share = 0.99
    """Decay of the moving average."""

    share: Share = added(default=1.0)
    """Ours: each step draws this share of the pairs of features and scales their sum up to that of all: no bias, more
    noise, less time."""

    differentiates_product = True

    def build(self, width: int) -> CriticModule:
        sizes = [width] + [self.hidden] * (self.layers - 1)
        hidden = [m for i, o in pairwise(sizes) for m in (nn.Linear(i, o), nn.ReLU())]
        return _Statistics(nn.Sequential(*hidden, nn.Linear(sizes[-1], 1)), self.average)

    def build_pairs(self, layers: Layers, index: Tensor, shared: bool) -> CriticModule:
        if self.share < 1 and not shared:
            raise HatchelError("share: less than 1 is for one network of all pairs; set nets=shared, or share=1")
        return PairStatistics(PairNet(layers, index, shared, self.hidden, self.layers), self.average, self.share)


class _Statistics(CriticModule):
    log_average: Tensor

    def __init__(self, net: nn.Module, decay: float) -> None:
        super().__init__()
        self.net = net
        self.decay = decay
        self.register_buffer("log_average", torch.tensor(math.nan))

    def forward(self, joint: Tensor, product: Tensor) -> Tensor:
        return mean(self.net(joint).squeeze(1)) - log_mean_exp(self.net(product).squeeze(1))

    def loss(self, joint: Tensor, product: Tensor) -> Tensor:
        scores = self.net(product).squeeze(1)
        with torch.no_grad():
            follow(self.log_average, log_mean_exp(scores), self.decay)
        # Its gradient is E[exp(T) dT] / average.
        return -mean(self.net(joint).squeeze(1)) + mean((scores - self.log_average).exp())


class PairNet(nn.Module):
    """T for P pairs (i, j) of the members of two layers, given in one row: (B, sum members * width) -> (B, P).

    The first layer is linear in (a_i, b_j, which pair): V a_i + W b_j + e_ij, so that V a_i is had once for all pairs
    of i that have V in common. With `shared`, all pairs have everything in common but e_ij, the weights of the pair's
    identity as a one-hot input; else nothing.
    """

    left: Tensor
    right: Tensor

    def __init__(self, layers: Layers, index: Tensor, shared: bool, hidden: int, depth: int) -> None:
        super().__init__()
        self.layers, self.shared = layers, shared
        self.register_buffer("left", index[:, 0], persistent=False)
        self.register_buffer("right", index[:, 1], persistent=False)
        self.index: list[tuple[int, int]] = [(i, j) for i, j in index.tolist()]
        self.chosen: Tensor | None = None
        """The numbers of the pairs that are looked at, in order; None for all."""
        pairs = len(index)
        groups = 1 if shared else pairs
        inputs = sum(width for _, width in layers)
        bound = 1 / math.sqrt(inputs + (pairs if shared else 0))
        self.first_left, self.first_right = (
            nn.Parameter(torch.empty(groups, width, hidden).uniform_(-bound, bound)) for _, width in layers
        )
        self.identity = nn.Parameter(torch.empty(pairs, 1, hidden).uniform_(-bound, bound))
        self.hidden = nn.ModuleList([GroupedLinear(groups, hidden, hidden) for _ in range(depth - 2)])
        self.last = GroupedLinear(groups, hidden, 1)

    def forward(self, rows: Tensor) -> Tensor:
        a, b = self._members(rows)
        left, right, identity = (self.of_chosen(t) for t in (self.left, self.right, self.identity))
        x = self._first(a, left, self.first_left)  # (P, B, hidden)
        x = x.add_(self._first(b, right, self.first_right)).add_(identity).relu_()
        pairs, batch, _ = x.shape
        x = x.flatten(0, 1)[None] if self.shared else x
        for layer in self.hidden:
            x = layer(x).relu_()
        return self.last(x).view(pairs, batch).T

    def both(self, rows: Tensor, log_average: Tensor, decay: float) -> tuple[Tensor, Tensor]:
        """The bounds' sum, with a gradient for the rows alone, and the losses', with one for the weights alone."""
        first = self.first_left, self.first_right
        sides = (self.left, self.right)
        if self.shared:
            index = self.index if self.chosen is None else [self.index[pair] for pair in self.chosen.tolist()]
            read = [m @ w[0].detach() for m, w in zip(self._members(rows), first, strict=True)]
            taught = [m @ w[0] for m, w in zip(self._members(rows.detach()), first, strict=True)]
        else:
            index = [(pair, pair) for pair in range(len(self.index))]
            read = [self._first(m, i, w.detach()) for m, i, w in zip(self._members(rows), sides, first, strict=True)]
            taught = [self._first(m, i, w) for m, i, w in zip(self._members(rows.detach()), sides, first, strict=True)]
        layers = [t for layer in (*self.hidden, self.last) for t in layer.parameters()]
        return PairPass.apply(index, (log_average, decay), *read, *taught, self.of_chosen(self.identity), *layers)

    def of_chosen(self, of_all: Tensor) -> Tensor:
        return of_all if self.chosen is None else of_all.index_select(0, self.chosen)

    def _members(self, rows: Tensor) -> list[Tensor]:
        """Those of both layers: (members, B, width)."""
        parts = rows.split([members * width for members, width in self.layers], 1)
        return [part.unflatten(1, layer).transpose(0, 1) for part, layer in zip(parts, self.layers, strict=True)]

    def _first(self, members: Tensor, index: Tensor, weight: Tensor) -> Tensor:
        if self.shared:
            return (members @ weight[0]).index_select(0, index)
        return members.index_select(0, index) @ weight


class PairStatistics(CriticModule):
    """MINE for each of P pairs, summed over them; of a share of them, scaled to the sum of all."""

    log_average: Tensor

    def __init__(self, net: PairNet, decay: float, share: float = 1.0) -> None:
        super().__init__()
        self.net = net
        self.decay = decay
        self.count = max(1, round(share * len(net.left)))
        self.register_buffer("log_average", torch.full((len(net.left),), math.nan))

    def begin(self, seed: int, step: int) -> None:
        if self.count < len(self.net.left):
            order = torch.rand(len(self.net.left), generator=generator(seed, "pairs", step)).argsort()
            self.net.chosen = order[: self.count].sort().values.to(self.net.left.device)

    @property
    def scale(self) -> float:
        return 1.0 if self.net.chosen is None else len(self.net.left) / self.count

    def bounds(self, joint: Tensor, product: Tensor) -> Tensor:
        """The Donsker-Varadhan bound of each pair that is looked at: (P,)."""
        of_joint, of_product = self._scores(joint, product)
        return gather(of_joint).mean(0) - log_mean_exp(of_product)

    def forward(self, joint: Tensor, product: Tensor) -> Tensor:
        return self.scale * self.bounds(joint, product).sum()

    def loss(self, joint: Tensor, product: Tensor) -> Tensor:
        of_joint, of_product = self._scores(joint, product)
        average = self.net.of_chosen(self.log_average)
        with torch.no_grad():
            follow(average, log_mean_exp(of_product), self.decay)
            self._keep(average)
        of_joint, of_product = gather(of_joint), gather(of_product)
        return self.scale * ((of_product - average).exp().mean(0) - of_joint.mean(0)).sum()

    def both(self, joint: Tensor, product: Tensor) -> tuple[Tensor, Tensor] | None:
        if not pays(joint):
            return None
        average = self.net.of_chosen(self.log_average)
        bound, loss = self.net.both(torch.cat((joint, product)), average, self.decay)
        self._keep(average)
        return self.scale * bound, self.scale * loss

    def _keep(self, average: Tensor) -> None:
        if self.net.chosen is not None:
            self.log_average.index_copy_(0, self.net.chosen, average)

    def _scores(self, joint: Tensor, product: Tensor) -> tuple[Tensor, Tensor]:
        of_joint, of_product = self.net(torch.cat((joint, product))).chunk(2)
        return of_joint, of_product


def log_mean_exp(scores: Tensor) -> Tensor:
    """log E exp T over the rows of all ranks."""
    return torch.logsumexp(gather(scores), 0) - math.log(scores.shape[0] * world())
