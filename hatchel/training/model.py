"""Model: encoder, latent, decoder and likelihood, independent parts that one forward pass joins into a trace."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hatchel.core.errors import HatchelError
from hatchel.core.streams import generator
from hatchel.latents.latent import Latent, LatentModule
from hatchel.latents.likelihoods import Likelihood, LikelihoodModule
from hatchel.latents.posterior import Posterior
from hatchel.nets.part import Decoder, Encoded, Encoder, Shape
from hatchel.objective.objective import Loss, Objective
from hatchel.objective.trace import Generated, Labelled, Trace


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

    def encode(self, x: Tensor, step: int | None = None, level: int = 0) -> tuple[Posterior, Encoded]:
        """q(z|x) at a level of the latent, and what the encoder showed on the way; no step: as after training."""
        encoded: Encoded = self.encoder(x)
        q = self.latent.posterior(encoded.parameters, step, level)
        return self.latent.refine(q, lambda z: self._log_px(z, x, level), step), encoded

    def decode(self, z: Tensor, level: int = 0) -> Tensor:
        """E[x|z]."""
        return self.likelihood.mean(self.decoder(self.latent.decoder_input(z, level)))

    def _log_px(self, z: Tensor, x: Tensor, level: int) -> Tensor:
        return self.likelihood.log_prob(self.decoder(self.latent.decoder_input(z, level)), x)

    def forward(
        self,
        x: Tensor,
        n_data: int,
        step: int,
        seed: int,
        independent: Tensor | None = None,
        labelled: tuple[Tensor, Tensor] | None = None,
        generate: bool = False,
    ) -> Trace:
        """One draw for each input; `independent` is a second batch, encoded without gradient.

        `labelled` are other items and their factors, encoded with gradient; `generate`: also make items of the prior.
        """
        level = self.latent.draw_level(seed, step)
        q, encoded = self.encode(x, step, level)
        z = q.rsample(generator(seed, "noise", step))
        z_independent = None
        if independent is not None:
            with torch.no_grad():
                other = self.encode(independent, step, level)[0]
                z_independent = other.rsample(generator(seed, "independent noise", step))
        return Trace(
            x=x,
            log_px=self._log_px(z, x, level),
            q=q,
            z=z,
            n_data=n_data,
            step=step,
            seed=seed,
            z_independent=z_independent,
            features=encoded.features,
            labelled=labelled and Labelled(self.encode(labelled[0], step, level)[0].mean, labelled[1]),
            generated=self._generated(x, step, seed) if generate else None,
        )

    def _generated(self, like: Tensor, step: int, seed: int) -> Generated:
        drawn = self.latent.sample_prior(like.shape[0], seed, step)
        x = self.likelihood.mean(self.decoder(drawn.read.to(like)))
        return Generated(x, self.encode(x, step)[0], drawn.code.to(like), drawn.entropy)


class System(nn.Module):
    """What is trained: the model and its objective, whose critics learn beside it in one backward pass."""

    def __init__(self, model: Model, objective: Objective) -> None:
        super().__init__()
        if objective.wants_generated and not model.latent.generates:
            raise HatchelError(
                "the objective compares generated items with data, and this latent draws no codes for a generator; "
                "set latent=code_noise"
            )
        self.model = model
        self.objective = objective

    def forward(
        self,
        x: Tensor,
        n_data: int,
        step: int,
        seed: int,
        independent: Tensor | None = None,
        labelled: tuple[Tensor, Tensor] | None = None,
    ) -> Loss:
        """The loss of one batch."""
        generate = self.objective.wants_generated
        return self.objective(self.model(x, n_data, step, seed, independent, labelled, generate))
