"""Mixture densities of each dimension given those before it, with the gradient written out.

A step of these small networks takes less than half the time that it takes under autograd: batches come last in every
array, so that sums over mixture components run along whole rows, and all weights are in one vector, so that the
optimiser's step is one call.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.optim.adam import adam

HIDDEN, COMPONENTS = 32, 8
LOWEST, HIGHEST = -7.0, 3.0
"""Of a component's log-deviation."""
RATE = 6e-3


class Conditionals:
    """log p(w_d | u_1 .. u_d-1) - log N(w_d; 0, 1) summed over d: for each d > 1, a network that gives a mixture."""

    def __init__(self, dims: int, seed: int) -> None:
        nets, inputs, outputs = dims - 1, dims - 1, 3 * COMPONENTS
        random = torch.Generator().manual_seed(seed)

        def weights(*shape: int, scale: float) -> Tensor:
            return scale * torch.randn(nets, *shape, generator=random)

        first = weights(inputs, HIDDEN, scale=math.sqrt(2 / dims))
        first_bias = weights(1, HIDDEN, scale=1.0)
        second = weights(HIDDEN, HIDDEN, scale=math.sqrt(2 / HIDDEN))
        second_bias = weights(1, HIDDEN, scale=0.1)
        last = weights(HIDDEN, outputs, scale=0.01 / math.sqrt(HIDDEN))
        means = torch.linspace(-1, 1, COMPONENTS)
        scale = 0.5 * torch.log(1 - means.var(correction=0)).expand(COMPONENTS)
        start = torch.cat([torch.zeros(COMPONENTS), means, scale]).expand(nets, 1, -1)  # close to N(0, 1)
        self.past = torch.tril(torch.ones(nets, inputs))[:, None, :]  # (nets, 1, inputs)
        parts = [p.mT for p in (first, first_bias, second, second_bias, last, start)]  # (nets, to, from)
        parts[0] = parts[0] * self.past
        self.flat = torch.cat([p.reshape(-1) for p in parts])
        self.slope = torch.zeros_like(self.flat)
        sizes = [p.numel() for p in parts]
        self.weights, self.slopes = (
            [v.view(p.shape) for v, p in zip(flat.split(sizes), parts, strict=True)] for flat in (self.flat, self.slope)
        )
        self.shape = nets * HIDDEN, inputs
        self.moments, self.steps = (torch.zeros_like(self.flat), torch.zeros_like(self.flat)), torch.zeros(())

    def forward(self, normal: Tensor, white: Tensor) -> Tensor:
        """(B,) of columns u (D - 1, B) and w (D - 1, B): the dimensions but the last, and but the first."""
        return self._mixture(self._layers(normal)[-1], white[:, None])[0]

    def step(self, normal: Tensor, white: Tensor, penalty: float, rate: float) -> Tensor:
        """One step of Adam up the mean log-density less `penalty` times `spread`; the sum over the batch, before it."""
        one, two, out = self._layers(normal)
        target = white[:, None]
        value, shares, rest = self._mixture(out, target)
        self._backward(normal, one, two, self._slopes(out, shares, rest))
        # Sum over inputs of the norm of their weights: what is not needed goes out as a whole (group lasso).
        first = self.weights[0]
        self.slopes[0].addcdiv_(first, (first.square().sum(1, keepdim=True) + 1e-8).sqrt_(), value=penalty)
        self._adam(rate)
        return value.sum()

    def _adam(self, rate: float) -> None:
        # Without the optimiser object, whose bookkeeping takes as long as the step.
        first, second = self.moments
        adam(
            [self.flat], [self.slope], [first], [second], [], [self.steps], fused=True, amsgrad=False, beta1=0.9,
            beta2=0.999, lr=rate, weight_decay=0.0, eps=1e-8, maximize=False,
        )  # fmt: skip

    def _layers(self, normal: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(nets, HIDDEN, B), the same, and (nets, 3 COMPONENTS, B)."""
        first, first_bias, second, second_bias, last, last_bias = self.weights
        one = torch.addmm(first_bias.view(-1, 1), first.view(self.shape), normal).clamp_min_(0)
        one = one.view(len(first), HIDDEN, -1)
        two = torch.baddbmm(second_bias, second, one).clamp_min_(0)
        return one, two, torch.baddbmm(last_bias, last, two)

    def _mixture(self, out: Tensor, target: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor], tuple[Tensor, ...]]:
        """Log-densities (B,), each component's share before and after w is seen; its distance, precision and scale."""
        share, mean, raw = out.split(COMPONENTS, 1)  # (nets, COMPONENTS, B)
        scale = raw.clamp(LOWEST, HIGHEST)
        precision = torch.exp(-scale)
        distance = (target - mean).mul_(precision)
        joint = torch.addcmul(share - scale, distance, distance, value=-0.5)
        before, total_before = _normalised(share)
        after, total_after = _normalised(joint)
        value = (total_after - total_before).addcmul_(target, target, value=0.5)
        return value.sum((0, 1)), (before, after), (distance, precision, scale)

    def _slopes(self, out: Tensor, shares: tuple[Tensor, Tensor], rest: tuple[Tensor, ...]) -> Tensor:
        """Of minus the mean log-density, by `out`."""
        (before, after), (distance, precision, clamped) = shares, rest
        after.mul_(1 / out.shape[-1])
        slope = torch.empty_like(out)
        share, mean, scale = slope.split(COMPONENTS, 1)
        torch.sub(before.mul_(1 / out.shape[-1]), after, out=share)
        torch.mul(after, distance, out=mean)
        torch.addcmul(after, mean, distance, value=-1, out=scale)
        mean.mul_(precision).neg_()
        scale.mul_(clamped == out[:, 2 * COMPONENTS :])
        return slope

    def _backward(self, normal: Tensor, one: Tensor, two: Tensor, slope: Tensor) -> None:
        first, first_bias, second, second_bias, last, last_bias = self.slopes
        torch.bmm(slope, two.mT, out=last)
        torch.sum(slope, -1, keepdim=True, out=last_bias)
        slope = torch.bmm(self.weights[4].mT, slope).mul_(two.sign_())
        torch.bmm(slope, one.mT, out=second)
        torch.sum(slope, -1, keepdim=True, out=second_bias)
        slope = torch.bmm(self.weights[2].mT, slope).mul_(one.sign_())
        torch.mm(slope.view(self.shape[0], -1), normal.T, out=first.view(self.shape))
        first.mul_(self.past)
        torch.sum(slope, -1, keepdim=True, out=first_bias)


def _normalised(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Softmax over the components, and the logarithm of its divisor (nets, 1, B)."""
    largest = logits.amax(1, keepdim=True)
    shares = torch.exp_(logits - largest)
    total = shares.sum(1, keepdim=True)
    shares.div_(total)
    return shares, total.log_().add_(largest)
