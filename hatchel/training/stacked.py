"""Several seeds in one step: their weights in a stack, their networks run at once (torch.func.vmap).

Each seed's weights are those of its own run, to rounding. What a step draws is a function of (seed, stream, step), so
the draws are made outside, by each seed's own generators, and handed to the models in the order in which they ask.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call, vmap
from torch.overrides import TorchFunctionMode

from hatchel.core.errors import HatchelError
from hatchel.core.products import fast_products
from hatchel.core.streams import Stream
from hatchel.data.dataset import Dataset
from hatchel.objective.trace import Batch
from hatchel.training.compiled import recorded
from hatchel.training.loop import make_optimizer
from hatchel.training.model import System
from hatchel.training.order import Batches
from hatchel.training.spec import RunSpec


class _Given(TorchFunctionMode):
    """Gives what was drawn before in the place of drawing."""

    def __init__(self, draws: Sequence[Tensor]) -> None:
        super().__init__()
        self._draws = iter(draws)

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if kwargs and isinstance(kwargs.get("generator"), Stream):
            return next(self._draws)
        return func(*args, **(kwargs or {}))


class Stacked:
    """The runs of these seeds, trained together; as weights of their own, no files.

    On a CPU it is faster where a step is launches and not arithmetic (docs/speed.md), so that `train --seeds` has
    processes. float32 sums in another order are rounded otherwise, and Adam divides a gradient that is 0 but for
    rounding by itself: to 1e-6 the weights are those of the own run with a large eps, or in float64.
    """

    def __init__(self, spec: RunSpec, seeds: Sequence[int], data: Dataset, items: Tensor | None = None) -> None:
        if spec.precision != "float32" or spec.compile or spec.critic_updates > 1 or spec.optimizer.clip:
            raise HatchelError(
                "stacked seeds are for float32 without compile, clip and more critic_updates; train them one by one"
            )
        self.seeds, device = tuple(seeds), torch.device("cpu" if spec.device == "auto" else spec.device)
        spec = spec.fit_to(data)
        self._specs = [spec.with_fields(seed=seed) for seed in seeds]
        systems = [own.build(data.shape).to(device) for own in self._specs]
        self._read = data.reader(str(device))
        items = torch.arange(len(data)) if items is None else items
        self._batches = [Batches(own, data, items, systems[0].objective.needs) for own in self._specs]
        self._recorder = recorded(systems[0], self._batches[0].at(0, self._read))
        drawn, latent = self._recorder.drawn(spec.seed, 0), systems[0].model.latent
        levels = latent.layout.levels > len(latent.train_levels(spec.seed, 0))
        if levels or "labelled" in systems[0].objective.needs or not all(t.is_floating_point() for t in drawn):
            raise HatchelError("stacked seeds cannot have labels, or levels of their own; train them one by one")
        self.system: System = copy.deepcopy(systems[0])
        """Every parameter and buffer with the seeds as its first axis."""
        of_seeds = [{**dict(s.named_parameters()), **dict(s.named_buffers())} for s in systems]
        for name, tensor in {**dict(self.system.named_parameters()), **dict(self.system.named_buffers())}.items():
            tensor.data = torch.stack([own[name].detach() for own in of_seeds])
        self._optimizer = make_optimizer(self.system, spec, device)

    def step(self, step: int) -> dict[str, Tensor]:
        """One step of every seed: each term, and the objective, of each seed."""
        for group in self._optimizer.param_groups:
            group["lr"] = group["full_lr"] * group["schedule"].at(step)
        batches = [batches.at(step, self._read) for batches in self._batches]
        draws = zip(*(self._recorder.drawn(seed, step) for seed in self.seeds), strict=True)
        parts = {name: [getattr(b, name) for b in batches] for name in ("x", "independent")}
        stacked = {name: torch.stack(of_seeds) for name, of_seeds in parts.items() if of_seeds[0] is not None}
        state = {**dict(self.system.named_parameters()), **dict(self.system.named_buffers())}

        def one(state: dict[str, Tensor], parts: dict[str, Tensor], draws: list[Tensor]) -> dict[str, Tensor]:
            with _Given(draws):
                batch = Batch(parts["x"], batches[0].n_data, step, independent=parts.get("independent"))
                loss = functional_call(self.system, state, (batch,))
            return {**loss.terms, "objective": loss.objective, "total": loss.total}

        with fast_products(self.system):
            losses = vmap(one)(state, stacked, [torch.stack(of_seeds) for of_seeds in draws])
            self._optimizer.zero_grad(set_to_none=True)
            losses.pop("total").sum().backward()
        self._optimizer.step()
        return losses

    def weights(self, seed: int) -> dict[str, Tensor]:
        """The weights of one of the seeds, as its own run has them."""
        place = self.seeds.index(seed)
        return {name: tensor[place] for name, tensor in self.system.state_dict().items()}
