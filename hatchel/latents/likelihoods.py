"""p(x|z): what the decoder's output says about the data."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Positive, Spec
from hatchel.data.table import TableColumn


class LikelihoodModule(nn.Module, ABC):
    """The running form of a likelihood; it may own parameters (a learned scale)."""

    @abstractmethod
    def log_prob(self, output: Tensor, x: Tensor) -> Tensor:
        """log p(x|z) in nats, summed over all values of an item: (B,)."""

    @abstractmethod
    def mean(self, output: Tensor) -> Tensor:
        """E[x|z], in the data's own units: (B, *shape)."""


class Likelihood(Spec, ABC, family="likelihood", home="hatchel.latents.likelihoods"):
    """How a decoder's output is read."""

    @abstractmethod
    def build(self) -> LikelihoodModule:
        """The module that evaluates it."""


class Bernoulli(Likelihood):
    """Each value is 0 or 1, the output its logit l: log p(x|z) = x l - log(1 + e^l).

    Grey values in [0, 1] are read as the chance of a 1, so that this is the expected log-probability of an image drawn
    from them (the negative cross-entropy the papers report). It is largest at the right mean, but no density over
    [0, 1]: it is not normalised, and even a perfect reconstruction keeps the entropy of its grey values. For a density
    take `continuous_bernoulli`.
    """

    def build(self) -> LikelihoodModule:
        return BernoulliModule()


class BernoulliModule(LikelihoodModule):
    """See `Bernoulli`."""

    def log_prob(self, output: Tensor, x: Tensor) -> Tensor:
        # One fused pass each way. softplus(l) - x l, or a Function with its own backward, came out no faster
        # ((256, 1, 64, 64), one core: 8.0, 9.0 and 7.5 ms of a step of some 600).
        return -_per_item(F.binary_cross_entropy_with_logits(output, x, reduction="none"))

    def mean(self, output: Tensor) -> Tensor:
        """P(x = 1|z)."""
        return output.sigmoid()


class Gaussian(Likelihood):
    """Each value is normal around the output m: log p(x|z) = -(x - m)^2 / 2 sigma^2 - log sigma - log(2 pi) / 2.

    sigma = 1/sqrt(2) gives the plain squared error, up to a constant.
    """

    sigma: Positive = 1.0
    "Standard deviation of every value; where it starts if it is learned."
    learned: bool = False
    "Learn one sigma for all values together with the networks."

    def build(self) -> LikelihoodModule:
        return GaussianModule(math.log(self.sigma), self.learned)


class GaussianModule(LikelihoodModule):
    """See `Gaussian`."""

    log_sigma: Tensor

    def __init__(self, log_sigma: float, learned: bool) -> None:
        super().__init__()
        _hold(self, torch.tensor(log_sigma), learned)

    def log_prob(self, output: Tensor, x: Tensor) -> Tensor:
        squares = _per_item(F.mse_loss(output, x, reduction="none"))
        constant = x.shape[1:].numel() * (self.log_sigma + 0.5 * math.log(2 * math.pi))
        return -0.5 * (-2 * self.log_sigma).exp() * squares - constant

    def mean(self, output: Tensor) -> Tensor:
        return output


class SquaredError(Likelihood):
    """log p(x|z) = -(x - sigmoid(l))^2, l the output: squared error on a sigmoid, as on 3D Shapes in Wu et al. 2023.

    A normal density of sigma = 1/sqrt(2) around sigmoid(l), without its constant log(pi) / 2 a value.
    """

    def build(self) -> LikelihoodModule:
        return SquaredErrorModule()


class SquaredErrorModule(LikelihoodModule):
    """See `SquaredError`."""

    def log_prob(self, output: Tensor, x: Tensor) -> Tensor:
        return -_per_item(F.mse_loss(output.sigmoid(), x, reduction="none"))

    def mean(self, output: Tensor) -> Tensor:
        return output.sigmoid()


class Laplace(Likelihood):
    """Each value is Laplace around the output m: log p(x|z) = -abs(x - m) / scale - log(2 scale)."""

    scale: Positive = 1.0
    "Mean absolute deviation of every value."

    def build(self) -> LikelihoodModule:
        return LaplaceModule(self.scale)


class LaplaceModule(LikelihoodModule):
    """See `Laplace`."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = scale

    def log_prob(self, output: Tensor, x: Tensor) -> Tensor:
        distances = _per_item(F.l1_loss(output, x, reduction="none"))
        return -distances / self.scale - x.shape[1:].numel() * math.log(2 * self.scale)

    def mean(self, output: Tensor) -> Tensor:
        return output


class ContinuousBernoulli(Likelihood):
    """A density over [0, 1] with p(x|z) proportional to e^(l x), l the output (Loaiza-Ganem and Cunningham 2019).

    The paper writes C(lambda) lambda^x (1-lambda)^(1-x), lambda = sigmoid(l), with a normaliser C that is 0/0 at
    lambda = 1/2. In the logit the same is log p(x|z) = (x - 1/2) l - log(sinh(u) / u), u = abs(l) / 2, where only
    the last term needs care, near 0. The mean is not lambda: E[x|z] = 1/2 + (coth(l/2) - 2/l) / 2.

    >>> ContinuousBernoulli().build().mean(torch.tensor([0.0, 4.0]))
    tensor([0.5000, 0.7687])
    """

    def build(self) -> LikelihoodModule:
        return ContinuousBernoulliModule()


class ContinuousBernoulliModule(LikelihoodModule):
    """See `ContinuousBernoulli`."""

    def log_prob(self, output: Tensor, x: Tensor) -> Tensor:
        u = output.abs() / 2
        return _per_item((x - 0.5) * output - _log_sinh_ratio(u))

    def mean(self, output: Tensor) -> Tensor:
        u = output / 2
        small = u.abs() < NEAR
        far = torch.where(small, NEAR, u)
        s = u * u
        near = u * (1 / 3 - s * (1 / 45 - s * (2 / 945 - s * (1 / 4725 - s * (2 / 93555)))))
        return 0.5 + 0.5 * torch.where(small, near, 1 / far.tanh() - 1 / far)


NEAR = 0.5
"""Below this the Taylor series of log(sinh(u) / u) is exact to 1e-10; above it the closed form loses no digits."""


def _log_sinh_ratio(u: Tensor) -> Tensor:
    """log(sinh(u) / u) for u >= 0."""
    small = u < NEAR
    # The branch not taken must stay finite too, or its gradient would be 0 * inf.
    far = torch.where(small, NEAR, u)
    s = torch.where(small, u * u, 0.0)
    near = s * (1 / 6 - s * (1 / 180 - s * (1 / 2835 - s * (1 / 37800 - s / 467775))))
    return torch.where(small, near, far + torch.log1p(-torch.exp(-2 * far)) - torch.log(2 * far))


class Columns(Likelihood):
    """The rows of a table, each column by its own likelihood: log p(x|z) is the sum over columns.

    A gaussian column is normal around its output, a bernoulli column has the output as its logit, a categorical column
    (one-hot) has as many outputs as classes, read by a softmax.
    """

    columns: tuple[TableColumn, ...] = ()
    "The table's columns, in their order; empty: to be filled in from the data."
    learned: bool = False
    "Learn a sigma for each gaussian column; otherwise all are 1 (a table's numbers are scaled to variance 1)."

    def check(self) -> None:
        for column in self.columns:
            if (column.width == 1) == (column.kind_of == "categorical"):
                kind, wanted = column.kind_of, "more than 1" if column.kind_of == "categorical" else "1"
                raise HatchelError(f"columns: {column.name!r} is {kind} and has width {column.width}; set {wanted}")

    def build(self) -> LikelihoodModule:
        if not self.columns:
            raise HatchelError("likelihood=columns knows no columns. Train on a table, or set likelihood.columns")
        return ColumnsModule(self.columns, self.learned)


class ColumnsModule(LikelihoodModule):
    """See `Columns`."""

    log_sigma: Tensor
    numbers: Tensor
    bits: Tensor

    def __init__(self, columns: tuple[TableColumn, ...], learned: bool) -> None:
        super().__init__()
        starts = [sum(c.width for c in columns[:i]) for i in range(len(columns))]
        places = {kind: [s for s, c in zip(starts, columns, strict=True) if c.kind_of == kind] for kind in KINDS}
        self.width = sum(c.width for c in columns)
        self.classes = [slice(s, s + c.width) for s, c in zip(starts, columns, strict=True) if c.kind_of == KINDS[2]]
        self.register_buffer("numbers", torch.tensor(places[KINDS[0]], dtype=torch.long), persistent=False)
        self.register_buffer("bits", torch.tensor(places[KINDS[1]], dtype=torch.long), persistent=False)
        _hold(self, torch.zeros(len(self.numbers)), learned)

    def log_prob(self, output: Tensor, x: Tensor) -> Tensor:
        if x.shape[1:] != (self.width,):
            raise HatchelError(
                f"likelihood.columns: the columns take {self.width} values, the data have {x.shape[1:].numel()}"
            )
        distances = (x[:, self.numbers] - output[:, self.numbers]) * (-self.log_sigma).exp()  # (B, gaussian columns)
        total = (-0.5 * distances.square() - self.log_sigma - 0.5 * math.log(2 * math.pi)).sum(1)
        total = total - F.binary_cross_entropy_with_logits(output[:, self.bits], x[:, self.bits], reduction="none").sum(
            1
        )
        for place in self.classes:
            total = total + (x[:, place] * output[:, place].log_softmax(1)).sum(1)
        return total

    def mean(self, output: Tensor) -> Tensor:
        mean = output.clone()
        mean[:, self.bits] = output[:, self.bits].sigmoid()
        for place in self.classes:
            mean[:, place] = output[:, place].softmax(1)
        return mean


KINDS = ("gaussian", "bernoulli", "categorical")


def _hold(module: nn.Module, log_sigma: Tensor, learned: bool) -> None:
    if learned:
        module.register_parameter("log_sigma", nn.Parameter(log_sigma))
    else:
        # A setting, not a state: the checkpoint's config has it.
        module.register_buffer("log_sigma", log_sigma, persistent=False)


def _per_item(values: Tensor) -> Tensor:
    # Not flatten(1).sum(1): that copies channels_last images.
    return values.sum(tuple(range(1, values.ndim)))
