"""Prior: what the groups of a mixed latent are compared with, standard or learned."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from hatchel.latents.posterior import Block, Partition

LOG_2PI = math.log(2 * math.pi)


class Prior(nn.Module):
    """N(0, I) and uniform classes, or N(0, Sigma) within given blocks and learned class probabilities.

    Sigma = L L^T with L lower triangular and exp of the parameters on its diagonal, so that it starts as I. (HFVAE,
    section 5: parameters "to learn a covariance structure (for continuous variables) or conditional probabilities (for
    discrete variables)".)
    """

    def __init__(self, blocks: Partition, classes: Sequence[int], learned: bool) -> None:
        """`blocks`: Gaussian coordinates, numbered among themselves, that share a covariance."""
        super().__init__()
        self.blocks = blocks
        self.learned = learned
        chosen = blocks if learned else ()
        self.factors = nn.ParameterList([nn.Parameter(torch.zeros(len(b), len(b))) for b in chosen])
        self.logits = nn.ParameterList([nn.Parameter(torch.zeros(k)) for k in classes] if learned else [])

    @property
    def covariances(self) -> tuple[Tensor, ...]:
        """Sigma of each block: (n, n)."""
        factors = [f.tril(-1) + f.diagonal().exp().diag() for f in self.factors]
        return tuple(f @ f.T for f in factors)

    def class_logits(self, number: int, like: Tensor) -> Tensor:
        """log of the class probabilities of one discrete variable: (K,)."""
        if not self.learned:
            return like.new_full(like.shape[-1:], -math.log(like.shape[-1]))
        return self.logits[number].log_softmax(0).to(like)

    def log_density(self, z: Tensor, block: Block, covariances: Sequence[Tensor]) -> Tensor:
        """log N of the Gaussian coordinates `block` of z (B, G), marginal over the others: (B,)."""
        if not self.learned:
            return _standard(z[:, list(block)])
        parts: list[Tensor] = []
        for members, covariance in zip(self.blocks, covariances, strict=True):
            places = [members.index(c) for c in block if c in members]
            if places:
                sigma = covariance[places][:, places].to(z)
                parts.append(_normal(z[:, [members[p] for p in places]], sigma))
        return functools.reduce(torch.add, parts)


def _standard(z: Tensor) -> Tensor:
    return -0.5 * (z.square() + LOG_2PI).sum(1)


def _normal(z: Tensor, covariance: Tensor) -> Tensor:
    """log N(z; 0, Sigma): (B,)."""
    factor = torch.linalg.cholesky(covariance)
    scaled = torch.linalg.solve_triangular(factor, z.T, upper=False)
    return -0.5 * (scaled.square().sum(0) + 2 * factor.diagonal().log().sum() + z.shape[1] * LOG_2PI)
