"""Objective: a paper is a dictionary of weighted terms.

>>> from hatchel.objective.terms.elbo import KL
>>> from hatchel.objective.terms.elbo import Reconstruction
>>> formula({"rec": 1.0 * Reconstruction(), "kl": 4.0 * KL()})
'-log p(x|z) + 4*KL(q(z|x)||p(z))'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from hatchel.core.distributed import gather, mean
from hatchel.core.errors import HatchelError
from hatchel.core.spec import Spec
from hatchel.latents.layout import LAYERED, Layout, Partition
from hatchel.nets.part import Shape
from hatchel.objective.estimators.estimator import Critic, CriticModule, Density, Estimator, Items, Pairs
from hatchel.objective.evaluator import Compared, CriticKey, Evaluator, Samples
from hatchel.objective.independent import Reading, independent_reading
from hatchel.objective.term import Term
from hatchel.objective.trace import Trace
from hatchel.objective.weights import Constant, Weight

Features = Mapping[str, Shape]
"""Shapes of the inner layers of the encoder, for one item, by name."""


class Weighted(Spec):
    """A term and how it enters the loss."""

    term: Term
    """The quantity."""
    weight: Weight = Constant()
    """A number, a schedule or a controller."""

    @classmethod
    def coerce(cls, value: Any) -> Any:
        return cls(value) if isinstance(value, Term) else super().coerce(value)


def formula(terms: Mapping[str, Weighted], factors: Mapping[str, str] | None = None) -> str:
    """The objective as one writes it down; `factors` are what some terms enter with beside their weights."""
    before = factors or {}
    parts = [w.weight.formula(f"{before.get(name, '')}{w.term.symbol()}") for name, w in terms.items()]
    return " + ".join(parts).replace("+ -", "- ")


@dataclass(frozen=True)
class Loss:
    """The value of an objective on one batch."""

    total: Tensor
    """What is differentiated: the weighted terms and the critics' own losses, whose gradients do not meet."""
    objective: Tensor
    """The weighted terms alone."""
    terms: dict[str, Tensor]
    """Each term's unweighted mean over the batch, detached."""
    critics: dict[str, Tensor]
    """Each critic's own loss, detached; 0 where no active term reads it."""
    readings: dict[str, Tensor] = field(default_factory=dict[str, Tensor])
    """Each active critic's estimate, its mean over the batch, detached."""
    samples: dict[str, Samples] = field(default_factory=dict[str, Samples])
    """What each active critic was shown, detached."""


def added_up(losses: Sequence[Loss]) -> Loss:
    """The sum of the losses of several levels; the terms and critics are their means, those of a level alike."""

    def means(parts: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
        names = dict.fromkeys(name for part in parts for name in part)
        return {k: torch.stack([part[k] for part in parts if k in part]).mean() for k in names}

    return Loss(
        total=torch.stack([loss.total for loss in losses]).sum(),
        objective=torch.stack([loss.objective for loss in losses]).sum(),
        terms=means([loss.terms for loss in losses]),
        critics=means([loss.critics for loss in losses]),
        readings=means([loss.readings for loss in losses]),
        samples={name: samples for loss in reversed(losses) for name, samples in loss.samples.items()},
    )


class Objective(nn.Module):
    """The running form of a dictionary of weighted terms; owns the critics' networks and the controllers' states."""

    def __init__(
        self,
        terms: Mapping[str, Weighted],
        layout: Layout,
        features: Features | None = None,
        shape: Shape = (1,),
        factors: Mapping[str, float] | None = None,
    ) -> None:
        """`layout`: of the latent; `features`: of the encoder; `shape`: of an item of the data.

        `factors`: what some terms, by name, enter the loss with beside their weights.
        """
        super().__init__()
        self.terms = dict(terms)
        self._factors = dict(factors or {})
        self.independent: dict[str, Reading] = {}
        """For each critic that has one: the same quantity without a network."""
        self._weights: dict[str, list[Weight]] = {}
        """Of each term, at each level."""
        self._wanted: dict[Estimator, Partition] = {}
        self._keys: dict[CriticKey, str] = {}
        self._readers: dict[CriticKey, list[Weight]] = {}
        self.critics = nn.ModuleDict()
        for name, entry in self.terms.items():
            by = entry.term.estimator
            for part in (entry.term, entry.weight, *(() if by is None else (by,))):
                reason = part.accepts(layout)
                if reason:
                    raise HatchelError(f"objective.{name}: {part.kind} does not fit this latent: {reason}")
            if isinstance(by, Density) and not all(layout.has_marginal(b) for b in entry.term.blocks(layout)):
                reason = f"it asks for the density of single parts, and {LAYERED}"
                raise HatchelError(f"objective.{name}: {entry.term.kind} does not fit this latent: {reason}")
            self._weights[name] = [entry.weight.at_level(level) for level in range(layout.levels)]
            self.register_buffer(f"state_{name}", entry.weight.initial_state())
            self._note(name, entry, layout, features or {}, shape)

    def _note(self, name: str, entry: Weighted, layout: Layout, features: Features, shape: Shape) -> None:
        term, by = entry.term, entry.term.estimator
        if by is None:
            return
        self._wanted[by] = tuple(dict.fromkeys((*self._wanted.get(by, ()), *term.blocks(layout))))
        if isinstance(by, Critic):
            for i, compared in enumerate((*term.partitions(layout), *term.pairs(), *term.items())):
                self._readers.setdefault((by, compared), []).append(entry.weight)
                if (by, compared) not in self._keys:
                    label = name if i == 0 else f"{name}_{i}"
                    self._keys[by, compared] = label
                    try:
                        self.critics[label] = _network(by, compared, layout, features, shape)
                        reading = independent_reading(compared, layout, features)
                    except HatchelError as error:
                        raise HatchelError(f"objective.{name}: {error}") from None
                    if reading is not None:
                        self.independent[label] = reading

    @property
    def needs(self) -> frozenset[str]:
        """What its terms and critics read of a trace beside the batch: `independent`, `labelled`, `generated`."""
        every = [entry.term.needs for entry in self.terms.values()] + [critic.needs for critic, _ in self._keys]
        return frozenset[str]().union(*every)

    def forward(self, t: Trace) -> Loss:
        critics = {key: self._critic(label) for key, label in self._keys.items()}
        inactive = [key for key, weights in self._readers.items() if all(w.inactive(t.level) for w in weights)]
        evaluator = Evaluator(t, self._wanted, critics, taught=[key for key in critics if key not in inactive])
        values = _means({name: entry.term.value(t, evaluator) for name, entry in self.terms.items()})
        weighted = {
            name: weights[t.level].apply(values[name], t.batch.step, self.get_buffer(f"state_{name}"))
            for name, weights in self._weights.items()
        }
        total = torch.stack([*(weighted | {k: f * weighted[k] for k, f in self._factors.items()}).values()]).sum()
        losses = {self._keys[key]: mean(loss) for key, loss in evaluator.critic_losses(inactive).items()}
        losses |= {self._keys[key]: _zero_loss(critics[key]) for key in inactive}
        compared = evaluator.compared(inactive)
        return Loss(
            total=total + sum(losses.values()),
            objective=total.detach(),
            terms={name: value.detach() for name, value in values.items()},
            critics={name: loss.detach() for name, loss in losses.items()},
            readings={self._keys[key]: mean(ratio) for key, (_, ratio) in compared.items()},
            samples={self._keys[key]: samples for key, (samples, _) in compared.items()},
        )

    def critic_loss(self, samples: Mapping[str, Samples], seed: int, step: int, draw: int) -> Tensor:
        """What these critics minimise on samples they were shown, the product's drawn for the `draw`-th time."""
        losses = [self._critic(name).loss(s.joint, s.product(seed, step, draw)) for name, s in samples.items()]
        return torch.stack([mean(loss) for loss in losses]).sum()

    def _critic(self, label: str) -> CriticModule:
        module = self.critics[label]
        assert isinstance(module, CriticModule)
        return module


def _means(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Over the rows of all ranks, for all terms that have rows in one pass."""
    rows = [name for name, value in values.items() if value.ndim]
    means = gather(torch.stack([values[name] for name in rows], 1)).mean(0).unbind() if rows else ()
    return {**values, **dict(zip(rows, means, strict=True))}


def _zero_loss(critic: CriticModule) -> Tensor:
    """0, with a gradient for every weight, as processes that train together need at every step."""
    return 0.0 * torch.stack([p.sum() for p in critic.parameters()]).sum()


def _network(by: Critic, compared: Compared, layout: Layout, features: Features, shape: Shape) -> CriticModule:
    """A critic's network for what it is to compare."""
    if isinstance(compared, Items):
        return by.build_items(shape)
    if isinstance(compared, Pairs):
        left, right = (compared.size(name, layout, features) for name in (compared.left, compared.right))
        index = compared.index(left[0], right[0])
        if not len(index):
            raise HatchelError(f"there is no pair of different members of {compared.left} and {compared.right}")
        return by.build_pairs((left, right), index, compared.shared)
    return by.build(sum(len(layout.columns(block)) for block in compared))
