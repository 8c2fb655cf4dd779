"""RunSpec: everything that decides what a training run computes."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import torch
from annotated_types import Ge, Le

from hatchel.core.errors import HatchelError
from hatchel.core.memory import fitting_parameters
from hatchel.core.spec import Count, NonNegative, Positive, Share, Spec, added, in_steps, local
from hatchel.data.dataset import Dataset
from hatchel.data.source import Source
from hatchel.latents.diagonal import Diagonal
from hatchel.latents.latent import Latent
from hatchel.latents.likelihoods import Bernoulli, Columns, Likelihood
from hatchel.nets.conv import Conv, Deconv
from hatchel.nets.initial import Initial, he
from hatchel.nets.layers import convolvable
from hatchel.nets.mlp import Mlp, MlpDecoder
from hatchel.nets.part import Decoder, Encoder, Shape, feature_shapes
from hatchel.objective.objective import Objective, Weighted, formula
from hatchel.objective.terms.elbo import Reconstruction
from hatchel.objective.weights import climb
from hatchel.training.callbacks import Stop, Tracker
from hatchel.training.model import Model, System


class Schedule(Spec, ABC, family="schedule", home="hatchel.training.spec"):
    """Of the learning rate. Its defaults are for 300,000 steps; `resolve` fits those that are not set to a run's."""

    @abstractmethod
    def at(self, step: int) -> float:
        """What the step size is multiplied by in step 0, 1, ..."""


class Constant(Schedule):
    """The step size as it is."""

    def at(self, step: int) -> float:
        return 1.0


class Warmup(Schedule):
    """Linear from 0 to the full step size, which the last of `steps` has; constant after them."""

    steps: Count = in_steps(default=15_000)
    """Length of the climb."""

    def at(self, step: int) -> float:
        return climb(0.0, 1.0, step + 1, self.steps)


class Cosine(Schedule):
    """After the warm-up, half a cosine from the full step size to `floor` of it (Loshchilov & Hutter 2017, Eq. 5)."""

    steps: Count = in_steps(default=300_000)
    """Length with the warm-up; left out, the whole training."""
    warmup: Annotated[int, Ge(0)] = in_steps(default=0)
    """Steps of a linear climb from 0 before it."""
    floor: Share = 0.0
    """The share of the step size that is left at the end."""

    def check(self) -> None:
        if self.warmup >= self.steps:
            raise HatchelError(f"warmup: must be below the schedule's {self.steps} steps, got {self.warmup}")

    def at(self, step: int) -> float:
        if step < self.warmup:
            return (step + 1) / self.warmup
        fallen = climb(0.0, 1.0, step - self.warmup, self.steps - self.warmup)
        return self.floor + (1 - self.floor) * (1 + math.cos(math.pi * fallen)) / 2


class StepDecay(Schedule, kind="step"):
    """The step size times `by` after every `every` steps."""

    every: Count = in_steps(default=100_000)
    """Steps between two falls; left out, a third of the training."""
    by: Share = 0.1
    """What is left after each."""

    def at(self, step: int) -> float:
        return self.by ** (step // self.every)


class Adam(Spec):
    """The optimiser (Kingma & Ba 2015); with weight decay it is AdamW (Loshchilov & Hutter 2019)."""

    field: ClassVar[str] = "optimizer"
    """Of a run, that it is in."""
    lr: Positive = 5e-4
    """Step size."""
    beta1: Share = 0.9
    """Decay of the mean of the gradient."""
    beta2: Share = 0.999
    """Decay of the mean of its square."""
    eps: Positive = 1e-8
    """Keeps the division finite."""
    weight_decay: NonNegative = added(default=0.0)
    """Of AdamW: each step, every weight also loses this times the step size of itself."""
    clip: Positive | None = added(default=None)
    """Largest norm of the gradient of all weights together; a longer one is shortened to it."""
    schedule: Schedule | None = added(default=None)
    """constant, warmup, cosine or step; left out: constant."""

    @classmethod
    def coerce(cls, value: Any) -> Any:
        raise HatchelError(f"Adam is the only one, not {value!r}; AdamW is {cls.field}.weight_decay=0.01")


class CriticAdam(Adam):
    """Adam for critics, with the betas of FactorVAE's discriminator (Kim & Mnih 2018, appendix A)."""

    field: ClassVar[str] = "critic_optimizer"
    lr: Positive | None = None  # pyright: ignore[reportIncompatibleVariableOverride]
    """Step size; left out: the model's. A critic slower than the model does not see what it is to penalise."""
    beta1: Share = 0.5
    """Decay of the mean of the gradient."""
    beta2: Share = 0.9
    """Decay of the mean of its square."""
    schedule: Schedule | None = added(default=None)
    """constant, warmup, cosine or step; left out: the model's."""


class RunSpec(Spec):
    """A training run. The digest of this is the run's identity; the fields marked local do not enter it."""

    objective: Mapping[str, Weighted]
    """Named terms with their weights: what is minimised."""
    data: Source
    """A built-in data set by name, or a folder, array or table by path."""
    latent: Latent = Diagonal()
    """What a code is made of."""
    encoder: Encoder | None = None
    """Left out: conv for images from 16 pixels, mlp for the rest."""
    decoder: Decoder | None = None
    """Left out: the mirror of the encoder's kind."""
    likelihood: Likelihood | None = None
    """Left out: Bernoulli for images, by column for tables."""
    steps: Count = 20_000
    """Updates of the model."""
    batch_size: Count = 64
    """Of all processes together."""
    seed: Annotated[int, Ge(-(2**63)), Le(2**63 - 1)] = 0
    """Of the initial weights, the order of the data, and all noise."""
    test_share: Share = 0.0
    """The share of the data that is kept out of training."""
    labels: Annotated[int, Ge(0)] = 0
    """How many of the training items may show their factors to semi-supervised terms."""
    optimizer: Adam = Adam()
    """For encoder and decoder."""
    critic_optimizer: CriticAdam = CriticAdam()
    """For discriminators and MINE networks."""
    critic_updates: Count = added(default=1)
    """Updates of each critic for one of the model; those after the first are on the same batch, permuted afresh."""
    reconstruction_scale: Literal["printed", "64px"] = added(default="printed")
    """`64px` (ours): below 64 pixels the reconstruction enters the loss times (64 / size)^2, so that the weights of
    papers that train at 64 pixels mean what they mean there; `printed`: as it is, with weights (64 / size)^2 as strong.
    """
    initial: Initial = added(default="torch")
    """Weights of encoder and decoder at the start: torch's own, or `he`, with which deep networks learn sooner."""
    stop: Stop | None = added(default=None)
    """When to end before the last step: `plateau` of the loss, or of a `metric`; left out: never."""
    precision: Literal["float32", "bfloat16", "float16", "auto"] = "float32"
    """Of the forward pass (automatic mixed precision); auto times a few steps of float32 and bfloat16, and the run is
    what it chose."""
    compile: bool = local(default=False)
    """Compile the loss of a step and its gradient with torch.compile; it takes a minute, or some."""
    device: str = local(default="auto")
    """cpu, cuda, cuda:1, mps; auto takes the best there is."""
    threads: int = local(default=0)
    """CPU threads; 0 leaves torch's own choice."""
    log_every: Count = local(default=50)
    """Steps between two events."""
    checkpoint_every: Count = local(default=1000)
    """Steps between two checkpoints."""
    keep_checkpoints: Annotated[int, Ge(2)] = local(default=2)
    """How many of them stay; two, so that a damaged newest one costs little; more, to see information over training."""
    track: tuple[Tracker, ...] = local(default=())
    """Programs that show the run while it trains: tensorboard, wandb, mlflow."""
    tensorboard: bool = local(default=False)
    """The same as track=tensorboard, as it was called once."""
    name: str = local(default="custom")
    """What the run is called in tables: the method's name."""
    typed: str = dataclasses.field(default="", compare=False, metadata={"identity": False})
    """What was set, as it was typed: `beta=4 latent.dim=16`."""

    def check(self) -> None:
        if not self.objective:
            raise HatchelError("objective: has no terms; start from a method (`hatchel list methods`)")
        if self.test_share >= 1:
            raise HatchelError("test_share: must be below 1, or nothing is left to train on")

    @property
    def title(self) -> str:
        """The method and what was set: `beta_vae beta=4`."""
        return f"{self.name} {self.typed}".strip()

    def formula(self) -> str:
        """The objective as one writes it down."""
        return formula(self.objective, dict.fromkeys(self._rescaled(), "(64/size)^2*"))

    def _rescaled(self) -> list[str]:
        """The terms to which `reconstruction_scale` applies."""
        if self.reconstruction_scale == "printed":
            return []
        return [name for name, entry in self.objective.items() if isinstance(entry.term, Reconstruction)]

    def fit_to(self, data: Dataset) -> RunSpec:
        """With every part that was left out chosen to fit the data."""
        return self.fit_to_shape(data.shape, Columns(data.columns) if data.likelihood == "columns" else None)

    def fit_to_shape(self, shape: Shape, columns: Columns | None = None) -> RunSpec:
        """The same for items of a shape, without the data; `columns` for those of a table."""
        images = convolvable(shape)
        return self.with_fields(
            encoder=self.encoder or (Conv() if images else Mlp()),
            decoder=self.decoder or (Deconv() if images else MlpDecoder()),
            likelihood=self.likelihood or columns or Bernoulli(),
        )

    def build(self, shape: Shape) -> System:
        """Model and objective with their initial weights, which depend on the spec's seed alone."""
        if self.encoder is None or self.decoder is None or self.likelihood is None:
            raise HatchelError("the spec leaves parts open: choose them with spec.fit_to(data) first")
        with torch.random.fork_rng(devices=[]), fitting_parameters():
            torch.manual_seed(self.seed)
            model = Model(self.encoder, self.latent, self.decoder, self.likelihood, shape)
            if self.initial == "he":
                he(model.encoder)
                he(model.decoder)
            features = feature_shapes(model.encoder, shape)
            factor = (64 / min(64, math.sqrt(shape[1] * shape[2]))) ** 2 if len(shape) == 3 else 1.0
            factors = dict.fromkeys(self._rescaled(), factor)
            return System(model, Objective(self.objective, self.latent.layout, features, shape, factors))
