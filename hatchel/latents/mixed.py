"""Mixed: named groups of Gaussian and discrete variables, with a prior that may be learned; the latent of HFVAE."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from hatchel.core.cached import cached
from hatchel.core.errors import HatchelError
from hatchel.core.spec import added
from hatchel.latents import concrete
from hatchel.latents.concrete import Form, Temperature
from hatchel.latents.latent import Latent, LatentModule
from hatchel.latents.layout import Block, Layout, Partition
from hatchel.latents.mixed_posterior import ByClassPosterior, MixedPosterior
from hatchel.latents.posterior import Posterior, picked
from hatchel.latents.prior import LOG_2PI, Prior
from hatchel.latents.variables import Concrete, Gaussian, Variable, in_order, partition
from hatchel.nets.part import Classes


class Mixed(Latent):
    """Named groups of variables: `Mixed({"style": Gaussian(10), "class": Concrete(10)})` (Esmaeili et al. 2019).

    A site is one Gaussian coordinate or one whole discrete variable. Sites come in alphabetical order of the groups'
    names.
    """

    groups: Mapping[str, Variable] = dataclasses.field(
        default_factory=lambda: {"class": Concrete(10), "style": Gaussian(10)}
    )
    """Names and variables; a `group` nests deeper."""
    prior: Literal["standard", "groups", "whole"] = "standard"
    """N(0, I) and equal class probabilities; or learned: a full covariance for the Gaussian coordinates of each group,
    or for all of them together, and class probabilities."""
    temperature: Temperature = Temperature()
    """Of the relaxation, a number or a schedule; the prior's too."""
    discrete_kl: Literal["drawn", "categorical"] = "drawn"
    """A term that asks for the KL gets it at the draw; or in closed form, of the categorical distributions that are
    relaxed (Dupont 2018)."""
    discrete: Form = "relaxed"
    """Density of a relaxed class in every term: the Concrete one, a true bound under which classes stay unused; `soft`,
    the sum of z_k log p_k, which trains best and is no bound; or `pmf`, the probability of the largest class."""
    reads_class: bool = added(default=False)
    """Whether the coordinates are drawn given the class, q(c|x) q(s|x,c): the encoder gives a mean and a log-variance
    for each class, and the drawn class chooses among them."""

    def check(self) -> None:
        if not self.groups:
            raise HatchelError("groups: a latent needs at least one group")
        sizes = [size for group in self.groups.values() for size in group.sizes]
        discrete = [size for size in sizes if size > 1]
        if self.reads_class and (len(discrete) != 1 or len(discrete) == len(sizes)):
            raise HatchelError(
                "reads_class: needs one discrete variable and coordinates that read it, and the groups have "
                f"{len(discrete)} and {len(sizes) - len(discrete)}; leave reads_class out"
            )

    @property
    def widths(self) -> tuple[int, ...]:
        """With `reads_class`, a mean and a log-variance for each class."""
        plain, layout = super().widths, self.layout
        classes = layout.sites[layout.discrete[0]].classes if self.reads_class else 1
        return tuple(w if isinstance(w, Classes) else w * classes for w in plain)

    @property
    def layout(self) -> Layout:
        depth = max(group.depth for group in self.groups.values())
        nesting = tuple(partition(self.groups, d) for d in range(depth + 1))
        sizes = {name: group.sizes for name, group in in_order(self.groups)}
        numbers = [size for group in sizes.values() for size in group]
        normal, discrete = 1 in numbers, any(size > 1 for size in numbers)
        closed = not (normal and self.prior != "standard") and not (discrete and self.discrete_kl == "drawn")
        return Layout.of(sizes, nesting, closed_kl=closed, given_class=self.reads_class)

    def build(self) -> LatentModule:
        return _MixedModule(self)


class _MixedModule(LatentModule):
    def __init__(self, spec: Mixed) -> None:
        layout = spec.layout
        super().__init__(layout)
        self.spec = spec
        groups = layout.groups if spec.prior == "groups" else (layout.whole,)
        blocks = [tuple(layout.numbers[s] for s in group if s in layout.numbers) for group in groups]
        classes = [layout.sites[s].classes for s in layout.discrete]
        self.prior = PriorParameters(tuple(b for b in blocks if b), classes, spec.prior != "standard")

    def posterior(self, parameters: Tensor, step: int | None = None, level: int = 0) -> MixedPosterior:
        numbers = parameters.float() if parameters.dtype in (torch.float16, torch.bfloat16) else parameters
        kind = ByClassPosterior if self.spec.reads_class else MixedPosterior
        return kind(numbers, self.layout, self.spec.temperature.now(step), self.spec.discrete)

    def prior_at(self, step: int | None = None) -> MixedPrior:
        return MixedPrior(self.prior, self.layout, self.spec.temperature.now(step), self.spec.discrete)


class PriorParameters(nn.Module):
    """Of N(0, Sigma) within blocks of coordinates, and of class probabilities; none where the prior is standard.

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
    def cholesky(self) -> tuple[Tensor, ...]:
        """L of each block: (n, n)."""
        return tuple(f.tril(-1) + f.diagonal().exp().diag() for f in self.factors)

    @property
    def covariances(self) -> tuple[Tensor, ...]:
        """Sigma of each block: (n, n)."""
        return tuple(f @ f.T for f in self.cholesky)


class MixedPrior(Prior):
    """N(0, I) and equal class probabilities, or N(0, Sigma) and learned ones; classes relaxed as the posterior's."""

    def __init__(self, parameters: PriorParameters, layout: Layout, temperature: float | Tensor, form: Form) -> None:
        self.parameters, self.layout = parameters, layout
        self.temperature = temperature
        self.form: Form = form
        self.factorised = not (parameters.learned and layout.coordinates)
        self.learned, self.standard = parameters.learned, not parameters.learned

    def class_logits(self, site: int, like: Tensor) -> Tensor:
        """log of the class probabilities of a discrete site: (K,)."""
        if not self.parameters.learned:
            classes = self.layout.sites[site].classes
            return like.new_full((classes,), -math.log(classes))
        return self.parameters.logits[self.layout.discrete.index(site)].log_softmax(0).to(like)

    def log_prob(self, z: Tensor, block: Block) -> Tensor:
        numbers = tuple(self.layout.numbers[s] for s in block if s in self.layout.numbers)
        total = self._log_normal(picked(z, self.layout.real), numbers) if numbers else z.new_zeros(z.shape[0])
        for s in (s for s in block if s not in self.layout.numbers):
            chosen = picked(z, self.layout.columns((s,)))
            total = total + concrete.log_prob(chosen, self.class_logits(s, z), self.temperature, self.form)
        return total

    def sample(self, n: int, generator: torch.Generator) -> Tensor:
        """z = L eps for the coordinates; classes relaxed."""
        real = torch.randn(n, len(self.layout.coordinates), generator=generator)
        if self.parameters.learned and self.layout.coordinates:
            real = real.to(self.parameters.factors[0])
            noise, real = real, torch.empty_like(real)
            for members, factor in zip(self.parameters.blocks, self.parameters.cholesky, strict=True):
                real[:, list(members)] = noise[:, list(members)] @ factor.T
        z = real.new_zeros(n, self.layout.width)
        z[:, self.layout.real] = real
        for s in self.layout.discrete:
            columns = self.layout.columns((s,))
            times = torch.empty(n, len(columns)).exponential_(generator=generator).to(z)
            z[:, columns] = concrete.draw(self.class_logits(s, z), self.temperature, times)
        return z

    def kl(self, q: Posterior, z: Tensor) -> Tensor | None:
        assert isinstance(q, MixedPosterior)
        if not self.layout.closed_kl:
            return None
        normal = 0.5 * (q.locations.square() + q.log_variances.exp() - 1 - q.log_variances)
        classes = {s: own.exp() * (own - self.class_logits(s, own)) for s, own in q.logits.items()}
        return q.assembled(normal, {s: by_class.sum(1, keepdim=True) for s, by_class in classes.items()})

    @cached
    def _covariances(self) -> tuple[Tensor, ...]:
        return self.parameters.covariances

    def _log_normal(self, z: Tensor, block: Block) -> Tensor:
        """log N of the Gaussian coordinates `block` of z (B, G), marginal over the others: (B,)."""
        if not self.parameters.learned:
            return -0.5 * (picked(z, block).square() + LOG_2PI).sum(1)
        parts: list[Tensor] = []
        for members, covariance in zip(self.parameters.blocks, self._covariances, strict=True):
            places = [members.index(c) for c in block if c in members]
            if places:
                sigma = covariance[places][:, places].to(z)
                parts.append(_log_normal(z[:, [members[p] for p in places]], sigma))
        return functools.reduce(torch.add, parts)


def _log_normal(z: Tensor, covariance: Tensor) -> Tensor:
    """log N(z; 0, Sigma): (B,)."""
    factor = torch.linalg.cholesky(covariance)
    scaled = torch.linalg.solve_triangular(factor, z.T, upper=False)
    return -0.5 * (scaled.square().sum(0) + 2 * factor.diagonal().log().sum() + z.shape[1] * LOG_2PI)
