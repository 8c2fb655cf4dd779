"""Routers: which features of a recursive module's input each of the next encoders reads (RecurD, Sec. 3).

Every router takes m = (m_1 .. m_d), (B, d, C, H, W), to what the d' encoders read, (B, d', C', H, W).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from hatchel.core.errors import HatchelError
from hatchel.nets.part import Shape


class Router(nn.Module):
    """w = softmax(TopK(R, k)) over each column, R = relu(Linear_{d -> d'}(A)), A = softmax(m m^T / sqrt F); m^T w.

    (RecurD 2022, Eq. 5 and the tables' "FC, 8, ReLU".) F is the length of a flattened m_i. The paper does not divide by
    sqrt F; with `scaled` we do, as attention does: unscaled, A is all but the identity at F = 4096. Eq. 5 prints
    R = A o v with v "a learning matrix learned by a linear layer"; A is d x d and w d x d', so that this product cannot
    be entry by entry. Ours applies the layer to A; `PrintedRouter` is the other way to read it.
    """

    def __init__(self, shape: Shape, inputs: int, outputs: int, k: int, scaled: bool) -> None:
        super().__init__()
        self.k = min(k, inputs)
        self.scale = 1 / math.sqrt(math.prod(shape)) if scaled else 1.0
        self.linear = self.layer(shape, inputs, outputs)

    def layer(self, shape: Shape, inputs: int, outputs: int) -> nn.Linear:
        """The layer to the d' columns."""
        # Without a bias: the rows of A sum to 1, so that a bias is a number added to all weights of a column.
        linear = nn.Linear(inputs, outputs, bias=False)
        # Open from the start: a column that ReLU shuts altogether is routed by the order of its rows, for good.
        nn.init.uniform_(linear.weight, 0, 2 / math.sqrt(inputs))
        return linear

    def scores(self, rows: Tensor, similarity: Tensor) -> Tensor:
        """R, (B, d, d'), from m flattened (B, d, F) and A (B, d, d)."""
        return self.linear(similarity).relu()

    def weights(self, rows: Tensor) -> Tensor:
        """w from m flattened (B, d, F): (B, d, d'); columns sum to 1 with k entries above 0."""
        r = self.scores(rows, (rows @ rows.transpose(1, 2) * self.scale).softmax(2))
        kept = r.topk(self.k, 1)
        return torch.zeros_like(r).scatter(1, kept.indices, kept.values.softmax(1))

    def forward(self, m: Tensor) -> Tensor:
        rows = m.flatten(2)
        return mixed(self.weights(rows), rows).unflatten(2, m.shape[2:])


class PrintedRouter(Router):
    """R = A v, v_i = relu(Linear_{F -> d'}(m_i)): v from the features, as "FC, 8, ReLU" suggests (Chen et al., Eq. 5).

    The paper prints the product as entry by entry, which its sizes do not allow; this is the matrix product.
    """

    def layer(self, shape: Shape, inputs: int, outputs: int) -> nn.Linear:
        return nn.Linear(math.prod(shape), outputs)

    def scores(self, rows: Tensor, similarity: Tensor) -> Tensor:
        return similarity @ self.linear(rows).relu()


class LinearRouter(nn.Module):
    """w = softmax over each column of Linear_{F -> d'}(m_i): the ablation "Linear" (Chen et al. 2022, Table 9)."""

    def __init__(self, shape: Shape, outputs: int) -> None:
        super().__init__()
        self.linear = nn.Linear(math.prod(shape), outputs)

    def forward(self, m: Tensor) -> Tensor:
        rows = m.flatten(2)
        return mixed(self.linear(rows).softmax(1), rows).unflatten(2, m.shape[2:])


class FixedRouter(nn.Module):
    """All channels cut into d' equal slices, one for each encoder: the ablation "Fix" (Chen et al. 2022, Table 9)."""

    def __init__(self, shape: Shape, inputs: int, outputs: int) -> None:
        super().__init__()
        channels = inputs * shape[0]
        if channels % outputs:
            raise HatchelError(
                f"router=fixed cuts {channels} channels into equal slices, which {outputs} encoders do not allow. "
                f"Set latent.dim={1 << max(0, outputs.bit_length() - 1)}, or another router"
            )
        self.outputs = outputs

    def forward(self, m: Tensor) -> Tensor:
        return m.flatten(1, 2).unflatten(1, (self.outputs, -1))


class NoRouter(nn.Module):
    """Every encoder reads all features, their channels side by side (ours)."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.outputs = outputs

    def forward(self, m: Tensor) -> Tensor:
        return m.flatten(1, 2)[:, None].expand(-1, self.outputs, -1, -1, -1)


class AttentionRouter(nn.Module):
    """Attention with 8 heads: the ablation "Att" (Chen et al. 2022, Table 9, which says no more than that).

    Ours: each encoder has a learned query; the keys are the features averaged over space, the values their maps; heads
    are slices of the channels; keys, values and the output go through linear maps of the channels.
    """

    HEADS = 8

    def __init__(self, shape: Shape, outputs: int) -> None:
        super().__init__()
        channels = shape[0]
        if channels % self.HEADS:
            raise HatchelError(f"router=attention has {self.HEADS} heads, which {channels} channels do not allow")
        self.queries = nn.Parameter(torch.randn(self.HEADS, outputs, channels // self.HEADS))
        self.keys = nn.Linear(channels, channels)
        self.values = nn.Linear(channels, channels)
        self.out = nn.Linear(channels, channels)

    def forward(self, m: Tensor) -> Tensor:
        keys = self.keys(m.mean((3, 4))).unflatten(2, (self.HEADS, -1))  # (B, d, heads, C / heads)
        scores = torch.einsum("hoc,bdhc->bhod", self.queries, keys) / math.sqrt(keys.shape[3])
        last = m.permute(0, 3, 4, 1, 2)  # (B, H, W, d, C)
        values = self.values(last).unflatten(4, (self.HEADS, -1))
        heads = torch.einsum("bhod,bxydhc->bxyohc", scores.softmax(3), values)
        return self.out(heads.flatten(4)).permute(0, 3, 4, 1, 2)


def mixed(weights: Tensor, rows: Tensor) -> Tensor:
    """sum_i w_ij m_i: (B, d, d'), (B, d, F) -> (B, d', F)."""
    return weights.transpose(1, 2) @ rows
