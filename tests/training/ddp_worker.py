"""Started by torchrun: loss and gradient of many objectives on this rank's share of one batch; rank 0 writes them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from safetensors.torch import save_file

from hatchel.core.distributed import own_rows, rank, world
from hatchel.latents.assigned import Assigned
from hatchel.latents.code_noise import CodeNoise
from hatchel.latents.diagonal import Diagonal
from hatchel.latents.latent import Latent
from hatchel.latents.likelihoods import Bernoulli
from hatchel.latents.mixed import Mixed
from hatchel.latents.scaled_hierarchy import ScaledHierarchy
from hatchel.latents.variables import Concrete, Gaussian
from hatchel.nets.mlp import Mlp, MlpDecoder
from hatchel.nets.part import feature_shapes
from hatchel.nets.recursive import Recursive
from hatchel.objective.estimators.discriminator import DensityRatio, Discriminator
from hatchel.objective.estimators.estimator import Critic, Density
from hatchel.objective.estimators.mine import MINE
from hatchel.objective.estimators.minibatch import Stratified
from hatchel.objective.objective import Objective, Weighted
from hatchel.objective.terms.decomposition import DimensionKL, MutualInformation, TotalCorrelation
from hatchel.objective.terms.elbo import KL, ClosedKL, Reconstruction
from hatchel.objective.terms.features import PairwiseInformation
from hatchel.objective.terms.generated import Adversarial, GeneratedInformation
from hatchel.objective.terms.moments import (
    MMD,
    CovarianceDiagonal,
    CovarianceOffDiagonal,
    Disintegration,
    PosteriorVariance,
)
from hatchel.objective.trace import Batch
from hatchel.objective.weights import PI, Capacity, PerLevel
from hatchel.training.model import Model, System

BATCH = 16


def objectives() -> dict[str, dict[str, object]]:
    """One for every estimator in the registry, and the terms that are not linear in the batch."""
    rec = Reconstruction()
    found: dict[str, dict[str, object]] = {}
    for kind, density in Density.members().items():
        by = density()
        found[kind] = {"rec": rec, "mi": MutualInformation(by), "tc": 5 * TotalCorrelation(by), "dw": DimensionKL(by)}
    small: dict[str, Critic] = {
        "density_ratio": DensityRatio(hidden=16),
        "density_ratio half": DensityRatio(hidden=16, product="half"),
        "density_ratio independent": DensityRatio(hidden=16, product="independent"),
        "mine": MINE(hidden=16),
        "discriminator": Discriminator(hidden=(16,)),
    }
    critics = {**{k: c() for k, c in Critic.members().items()}, **small}
    for kind, critic in critics.items():
        found[kind] = {"rec": rec, "kl": KL(), "tc": 5 * TotalCorrelation(critic)}
    for nets in ("shared", "specific"):
        layers, by = ("m2", "m3"), MINE(hidden=16)
        found[f"recurd {nets}"] = {
            "rec": rec,
            "kl": KL(),
            "between": PairwiseInformation(by, layers, "between", nets, routed=("routed2", "routed3")),
            "within": 2 * PairwiseInformation(by, layers, "within", nets),
        }
    moments = {"od": CovarianceOffDiagonal(), "d": CovarianceDiagonal("sample"), "v": PosteriorVariance()}
    found["moments"] = {"rec": rec, **moments}
    found["mmd"] = {"rec": rec, "d": 10 * MMD()}
    found["capacity"] = {"rec": rec, "kl": Capacity(10, 1, 2, 10) * KL()}
    found["pi"] = {"rec": rec, "kl": PI(target=2, ki=0.5) * KL()}
    return found


GROUPS = {"class": Concrete(3), "style": Gaussian(3)}
HIERARCHIES = {f"hierarchy {s}": ScaledHierarchy(Diagonal(4), 3, spaces=s) for s in ("scaled", "linear", "parallel")}
HIERARCHIES["hierarchy summed"] = ScaledHierarchy(Diagonal(4), 3, trained="summed")


def cases() -> dict[str, tuple[Latent, dict[str, object]]]:
    """Every objective on the diagonal latent, and every other latent with an objective that asks much of it."""
    by, rec = Stratified(), Reconstruction()
    split = {
        "rec": rec,
        "mi": MutualInformation(by),
        "between": 4 * TotalCorrelation(by, over="groups"),
        "within": 3 * TotalCorrelation(by, over="within"),
        "dw": DimensionKL(by),
    }
    found: dict[str, tuple[Latent, dict[str, object]]] = {k: (Diagonal(4), v) for k, v in objectives().items()}
    found["labels"] = (Diagonal(4), {"rec": rec, "kl": KL(), "split": 5 * Disintegration()})
    found["mixed"] = (Mixed(GROUPS), split)
    found["mixed learned"] = (Mixed(GROUPS, prior="whole"), split)
    joint = {name: Capacity(10, 1, 2, 10) * KL((name,)) for name in GROUPS}
    found["mixed joint"] = (Mixed(GROUPS, discrete_kl="categorical"), {"rec": rec, **joint})
    critic = TotalCorrelation(DensityRatio(hidden=16), over="groups")
    found["mixed critic"] = (Mixed(GROUPS), {"rec": rec, "kl": KL(), "tc": 5 * critic})
    for name, latent in HIERARCHIES.items():
        found[name] = (latent, {"rec": rec, "kl": PerLevel((1, 10, 40)) * KL()})
    found["cascade"] = (Assigned(Diagonal(4), balance=0.5), {"rec": rec, "kl": KL(), "closed": 9 * ClosedKL()})
    generator = {"game": Adversarial(Discriminator(hidden=(16,))), "information": -1 * GeneratedInformation()}
    found["generator"] = (CodeNoise(2, (3,), 4, "uniform"), generator)
    known = {latent.kind for latent, _ in found.values()}
    found |= {k: (m(), {"rec": rec, "kl": KL()}) for k, m in Latent.members().items() if k not in known}
    return found


def measure(latent: Latent, terms: dict[str, object]) -> dict[str, torch.Tensor]:
    """Total, objective and the flat gradient, as DDP leaves it."""
    torch.manual_seed(0)
    entries = {k: v if isinstance(v, Weighted) else Weighted.coerce(v) for k, v in terms.items()}
    recursive = any(isinstance(e.term, PairwiseInformation) for e in entries.values())
    encoder, shape = (Recursive(2), (1, 8, 8)) if recursive else (Mlp((24,)), (12,))
    model = Model(encoder, latent, MlpDecoder((24,)), Bernoulli(), shape)
    system = System(model, Objective(entries, latent.layout, feature_shapes(model.encoder, shape), shape))
    x, other = torch.rand(2, BATCH, *shape, generator=torch.Generator().manual_seed(1)).unbind(0)
    module = torch.nn.parallel.DistributedDataParallel(system) if world() > 1 else system
    factors = torch.randint(4, (BATCH, 2), generator=torch.Generator().manual_seed(2))
    loss = module(Batch(own_rows(x), 1000, 3, 0, own_rows(other), (own_rows(other), own_rows(factors))))
    loss.total.backward()
    gradient = torch.cat([p.grad.flatten() for p in system.parameters()])
    return {"total": loss.total.detach(), "objective": loss.objective, "gradient": gradient}


def main() -> None:
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    results = {f"{name}/{key}": value for name, case in cases().items() for key, value in measure(*case).items()}
    if rank() == 0:
        save_file(results, Path(sys.argv[1]))
    dist.barrier()
    # The results are written: gloo's threads, torn down under load, have ended a process with std::terminate.
    os._exit(0)


if __name__ == "__main__":
    main()
