"""A classifier's reading and its lesson in one pass over the rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn import functional as F

LEAST = math.exp(-40.0)
"""Of a joint row's slope in the loss, in units of its largest; with less it adds nothing that float32 could hold."""


class RowPass(Function):
    """The log ratio r of each joint row, and the mean cross-entropy, whose gradients go different ways.

    A joint row's loss softplus(-r) has the slope -sigmoid(-r) in r, and all before r is worked out row by row: the
    loss's gradient in a row of the joint, divided by that slope, is the gradient of r. So one forward and one backward
    pass through the network serve both; `backward` scales what was found.
    """

    @staticmethod
    def forward(
        ctx: Any, ratio: Callable[[Tensor], Tensor], joint: Tensor, product: Tensor, *parameters: Tensor
    ) -> tuple[Tensor, Tensor]:
        count = len(joint)
        with torch.enable_grad():
            rows = torch.cat([joint, product]).detach().requires_grad_()
            found = ratio(rows)
            of_rows = found.detach()
            slopes = of_rows.neg().sigmoid_().clamp_min_(LEAST).neg_()  # of the joint; the product's is sigmoid(r)
            torch.sigmoid(of_rows[count:], out=slopes[count:])
            to_rows, *to_parameters = torch.autograd.grad(found, [rows, *parameters], slopes / (2 * count))
        ctx.of_joint = to_rows[:count] * (2 * count / slopes[:count, None])
        ctx.of_parameters = to_parameters
        loss = 0.5 * (F.softplus(-of_rows[:count]) + F.softplus(of_rows[count:])).mean()
        return of_rows[:count].clone(), loss

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        of_ratio, of_loss = gradients
        return None, of_ratio[:, None] * ctx.of_joint, None, *(of_loss * t for t in ctx.of_parameters)
