"""Model: encoder, latent, decoder and likelihood, independent parts that one forward pass joins into a trace."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from hatchel.core.distributed import own_rows, world
from hatchel.core.errors import HatchelError
from hatchel.core.streams import generator
from hatchel.latents.latent import Latent, LatentModule
from hatchel.latents.likelihoods import Likelihood, LikelihoodModule
from hatchel.latents.posterior import Posterior
from hatchel.latents.prior import Prior
from hatchel.nets.part import Decoder, Encoded, Encoder, Shape
from hatchel.objective.objective import Loss, Objective, added_up
from hatchel.objective.trace import Batch, Generated, Trace


class Sampled(NamedTuple):
    """Draws of the model."""

    z: Tensor  # (n, D)
    x: Tensor  # (n, ...): E[x|z]


class Model(nn.Module):
    """A generative model p(x|z) p(z) and its inference network q(z|x)."""

    latent: LatentModule
    likelihood: LikelihoodModule

    def __init__(
        self, encoder: Encoder, latent: Latent, decoder: Decoder, likelihood: Likelihood, shape: Shape
    ) -> None:
        super().__init__()
        self.encoder = encoder.build(shape, latent.widths)
        self.latent = latent.build()
        self.latent.bind_encoder(self.encoder, shape)
        self.decoder = decoder.build(latent.decoder_width, shape)
        self.likelihood = likelihood.build()

    def encode(
        self, x: Tensor, step: int | None = None, level: int = 0, encoded: Encoded | None = None
    ) -> tuple[Posterior, Encoded]:
        """q(z|x) at a level of the latent, and what the encoder showed on the way; no step: as after training."""
        encoded = self.encoder(x) if encoded is None else encoded
        assert encoded is not None
        q = self.latent.posterior(encoded.parameters, step, level)
        return self.latent.refine(q, lambda z: self._log_px(z, x, level), step), encoded

    def decode(self, z: Tensor, level: int = 0, noise: torch.Generator | None = None) -> Tensor:
        """E[x|z]; `noise` for draws of the prior, where the latent has noise of its own."""
        return self.likelihood.mean(self.decoder(self.latent.decoder_input(z, level, noise)))

    def generate(self, n: int, source: torch.Generator, step: int | None = None, level: int = 0) -> Sampled:
        """Draws z ~ p(z) and E[x|z] of each."""
        z = self.latent.prior_at(step).sample(n, source).to(next(self.parameters()))
        return Sampled(z, self.decode(z, level, source))

    def _log_px(self, z: Tensor, x: Tensor, level: int) -> Tensor:
        return self.likelihood.log_prob(self.decoder(self.latent.decoder_input(z, level)), x)

    def forward(self, batch: Batch) -> Trace:
        return self.traces(batch)[0]

    def traces(self, batch: Batch, levels: tuple[int, ...] | None = None) -> list[Trace]:
        """The same at each of its levels, or at those that the step was found to have."""
        levels = self.latent.train_levels(batch.seed, batch.step) if levels is None else levels
        encoded = self.encoder(batch.x)
        streams = ["noise"] if len(levels) == 1 else [f"noise {level}" for level in levels]
        return [self._trace(batch, encoded, *pair) for pair in zip(levels, streams, strict=True)]

    def _trace(self, batch: Batch, encoded: Encoded, level: int, stream: str) -> Trace:
        q, _ = self.encode(batch.x, batch.step, level, encoded)
        q, z = q.draw(generator(batch.seed, stream, batch.step))
        p = self.latent.prior_at(batch.step)
        return Trace(
            batch,
            self._log_px(z, batch.x, level),
            q,
            p,
            z,
            level,
            encoded.features,
            encode=lambda x: self.encode(x, batch.step, level)[0],
            generate=lambda: self._generated(batch, p),
        )

    def _generated(self, batch: Batch, p: Prior) -> Generated:
        assert p.entropy is not None  # a system without is refused
        source, rows = generator(batch.seed, "generated", batch.step), batch.x.shape[0]
        # Every rank draws for all, and takes its own rows.
        code = p.sample(rows * world(), source)
        read = own_rows(self.latent.decoder_input(code, 0, source)).to(batch.x)
        x = self.likelihood.mean(self.decoder(read))
        return Generated(x, self.encode(x, batch.step)[0], own_rows(code).to(batch.x), p.entropy)


class System(nn.Module):
    """What is trained: the model and its objective, whose critics learn beside it in one backward pass."""

    def __init__(self, model: Model, objective: Objective) -> None:
        super().__init__()
        if "generated" in objective.needs and model.latent.prior_at().entropy is None:
            raise HatchelError(
                "the objective compares generated items with data, and this latent draws no codes for a generator; "
                "set latent=code_noise"
            )
        self.model = model
        self.objective = objective

    def forward(self, batch: Batch, levels: tuple[int, ...] | None = None) -> Loss:
        losses: list[Loss] = [self.objective(trace) for trace in self.model.traces(batch, levels)]
        return losses[0] if len(losses) == 1 else added_up(losses)
