"""The pool: every method of the field at several strengths over many seeds, trained alike and measured once.

The papers' studies are views of it: they ask for the same tasks, and train only what it lacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hatchel.data.dsprites import DSprites
from hatchel.data.shapes3d import Shapes3D
from hatchel.data.source import Source
from hatchel.data.xy_squares import XYSquares
from hatchel.objective.estimators.discriminator import DensityRatio
from hatchel.study.grid import Grid, Scale, Setting, changes, metrics, trained
from hatchel.study.study import Study, register
from hatchel.study.table import Column
from hatchel.study.task import Case

SHAPES, SPRITES = "Shapes3D", "dSprites"
STEPS = {SHAPES: 5_000, SPRITES: 10_000}
CLASSES = {SHAPES: 4, SPRITES: 3}
"""Shapes of each, for methods with a class."""
MEASURED = metrics(
    "mig", "sap", {"kind": "sap", "by": "r2"}, "dci", {"kind": "dci", "regressor": "forest_regression"},
    "factor_vae_score", "beta_vae_score", "modularity", "infomec", "irs", "med", "active_units", "disintegration",
    "pairwise_nmi", "gaussian_tc", "total_correlation", "information_isolation",
    "reconstruction", "elbo_terms",
)  # fmt: skip
"""Of the means of the held-out items."""
BESIDE = metrics("mig", "gaussian_tc", "total_correlation", "pairwise_nmi", "elbo_terms", "active_units")
"""Of samples, levels and layers."""
ON_THE_WAY = metrics("mig", "gaussian_tc", "active_units")
NETWORK: Mapping[str, Any] = {"encoder": "conv", "decoder": "deconv"}
TEN: Mapping[str, Any] = {"latent": {"kind": "diagonal", "dim": 10}}
EIGHT: Mapping[str, Any] = {"latent": {"kind": "diagonal", "dim": 8}}
"""RecurD's number, and that of the baselines it is held against."""
SMALL = DensityRatio(hidden=256)
"""The discriminators of FactorVAE and RTC-VAE have 1,000 units a layer in their papers."""
RECURD: Mapping[str, Any] = {"method": "recurd", "decoder": "deconv", "layers": True}
NOTE = (
    "conv network, D = 10 (RecurD and its baselines 8), Bernoulli, discriminators of 256 units, critics at the model's "
    "rate, schedules as short as the training, scores on the held-out tenth; the papers' printed weights on the sum "
    "over 32 x 32 pixels, where they are four times as strong as at 64 px"
)


TC = ("gaussian_tc", "gaussian_tc@sample")
_COLUMNS = (
    Column("mig", "MIG"), Column("sap", "SAP"), Column("dci", "DCI-D"), Column("factor_vae_score", "FactorVAE score"),
    Column("active_units", "active units", digits=1), Column("elbo_terms", "KL (nats)", digits=1),
    Column("reconstruction", "reconstruction (nats)", digits=1),
    Column(TC[0], "TC of means", digits=2), Column(TC[1], "TC of samples", digits=2),
)  # fmt: skip


def columns(*names: str) -> tuple[Column, ...]:
    """What all studies show in the same way, by the names of the values."""
    return tuple(column for name in names for column in _COLUMNS if column.name == name)


def cell(name: str, strength: float | str = "", variant: str = "", reads: str = "conv", **fields: Any) -> Setting:
    """One row of the pool: its labels, and what it changes."""
    labels = {"method": name, "strength": strength, "encoder": reads, "variant": variant}
    return Setting(labels, changes(fields))


def vae(encoder: str = "conv", variant: str = "", **more: Any) -> Setting:
    """The plain one."""
    return cell("VAE", 1, variant, encoder, method="vae", **{**NETWORK, "encoder": encoder, **TEN, **more})


def beta_vae(beta: float, encoder: str = "conv", variant: str = "", **more: Any) -> Setting:
    """Higgins et al. 2017."""
    own = {**NETWORK, "encoder": encoder, **TEN, **more}
    return cell("beta-VAE", beta, variant, encoder, method="beta_vae", beta=beta, **own)


def tcvae(beta: float, encoder: str = "conv", variant: str = "", **more: Any) -> Setting:
    """Chen et al. 2018."""
    own = {**NETWORK, "encoder": encoder, **TEN, **more}
    return cell("beta-TCVAE", beta, variant, encoder, method="beta_tcvae", beta=beta, **own)


def factor_vae(gamma: float, encoder: str = "conv", variant: str = "", **more: Any) -> Setting:
    """Kim & Mnih 2018."""
    own = {**NETWORK, "encoder": encoder, **TEN, **more}
    return cell("FactorVAE", gamma, variant, encoder, method="factor_vae", gamma=gamma, by=SMALL, **own)


def rtc_vae(beta: float, eta: float | None = None, **more: Any) -> Setting:
    """Cheng et al. 2020."""
    variant = f"eta = {eta:g}" if eta else ""
    own: dict[str, Any] = {**NETWORK, **TEN, "by": SMALL, **more} | ({"eta": eta} if eta else {})
    return cell("RTC-VAE", beta, variant, method="rtc_vae", beta=beta, **own)


def dip_vae(which: str, od: float, d: float | None = None, variant: str = "", **more: Any) -> Setting:
    """Kumar et al. 2018, with the weights of Cheng et al. 2020 on the diagonal unless others are given."""
    diagonal = (10 * od if which == "I" else od) if d is None else d
    own: dict[str, Any] = {"od": od, "d": diagonal, **NETWORK, **TEN, **more}
    return cell(f"DIP-VAE-{which}", od, variant, method=f"dip_vae_{which.lower()}", **own)


def de_vae(variant: str = "", **more: Any) -> Setting:
    """Wu et al. 2023."""
    return cell("DeVAE", "", variant, method="de_vae", **NETWORK, **more)


def recurd(depth: int = 1, l2: float = 0.0, variant: str = "", **more: Any) -> Setting:
    """Chen et al. 2022; l2 = 0 is the architecture alone, without any pairs."""
    alone = {} if l2 else {"between": "none"}
    labels = f"RecurD-{depth}", l2, variant, "recursive" if depth else "conv"
    return cell(*labels, **{**RECURD, "depth": depth, "l2": l2, "layers": depth > 0, **alone, **more})


def discrete(method: str, kind: str, classes: int, **more: Any) -> Setting:
    """Ten coordinates and one class."""
    return cell(method, more.get("beta", ""), f"{classes} classes", method=kind, classes=classes, **NETWORK, **more)


def main(classes: int) -> list[Setting]:
    """The papers' methods and their nearest baselines, at the papers' strengths."""
    return [
        vae(), beta_vae(4), tcvae(6), factor_vae(10), rtc_vae(10), rtc_vae(10, 30), dip_vae("I", 20), dip_vae("II", 20),
        de_vae(), vae("split"), tcvae(6, "split"), factor_vae(10, "split"), recurd(), recurd(l2=0.1),
        discrete("HFVAE", "hf_vae", classes, beta=4.0, gamma=3.0),
    ]  # fmt: skip


def strengths() -> list[Setting]:
    """The curves over strength of RTC-VAE's figures, and of the others that have one."""
    return [
        *(factor_vae(s) for s in (2, 20, 50)), *(rtc_vae(s) for s in (2, 6, 20, 50)), rtc_vae(20, 30),
        rtc_vae(10, 100), rtc_vae(20, 100), factor_vae(6.4),
        *(dip_vae(which, s) for which in ("I", "II") for s in (6, 50)), *(beta_vae(s) for s in (6, 10, 16)),
        tcvae(4), tcvae(12),
    ]  # fmt: skip


def others(classes: int) -> list[Setting]:
    """Baselines that a single table asks for."""
    return [
        cell("AnnealedVAE", method="annealed_vae", **NETWORK, **TEN),
        cell("ControlVAE", method="control_vae", **NETWORK, **TEN),
        cell("DynamicVAE", method="dynamic_vae", **NETWORK, **TEN),
        cell("CascadeVAE", method="cascade_vae", **NETWORK),
        cell("NVAE", reads="residual", method="nvae_lite"),
        cell("InfoGAN", method="info_gan"),
        discrete("beta-SVAE", "beta_svae", classes, beta=4.0), discrete("JointVAE", "joint_vae", classes),
    ]  # fmt: skip


def split() -> list[Setting]:
    """The split encoder on other methods, and what violates its condition."""
    noise = {"latent": {"kind": "correlated", "dim": 10, "correlation": 0.9}}
    sixteen = {"latent": {"kind": "diagonal", "dim": 16}}
    both = (vae, lambda *given, **more: factor_vae(10, *given, **more))
    return [
        beta_vae(4, "split"), beta_vae(10, "split"), factor_vae(50, "split"),
        *(method("conv", "correlated noise", **noise) for method in both),
        *(method("sharing", "D = 16", **sixteen) for method in both),
        *(method("conv", "D = 16", **sixteen) for method in both),
    ]  # fmt: skip


def levels() -> list[Setting]:
    """DeVAE's ablations (Wu et al. 2023, Tables 2 to 4)."""
    return [
        de_vae("beta 1, 10", betas=(1, 10)), de_vae("beta 1, 10, 20, 40, 80", betas=(1, 10, 20, 40, 80)),
        de_vae("s = 0.5", scale=0.5), de_vae("s = 2", scale=2), de_vae("single", betas=(1,)),
        de_vae("parallel", spaces="parallel"), de_vae("linear", spaces="linear"),
    ]  # fmt: skip


def eight_dimensions() -> list[Setting]:
    """RecurD's own baselines, and a VAE, with as many dimensions as it has."""
    eight = {"variant": "D = 8", **EIGHT}
    return [
        vae(**eight), beta_vae(4, **eight), beta_vae(16, **eight), beta_vae(60, **eight), factor_vae(6.4, **eight),
        tcvae(4, **eight), dip_vae("I", 100, 10, **eight),
        cell("AnnealedVAE", "", "D = 8", method="annealed_vae", **NETWORK, **EIGHT),
    ]  # fmt: skip


def recursive() -> list[Setting]:
    """RecurD's own baselines, its weights, readings, depths, routers and k."""
    readings = [
        *(recurd(l2=w, variant="within alone", between="none") for w in (0.02, 0.1, 0.5)),
        recurd(l2=0.02), recurd(l2=0.5), recurd(l2=2.0),
        recurd(l2=0.1, variant="l1 = 0.1, no KL", l1=0.1, kl=False),
        recurd(l2=0.1, variant="outputs", between="outputs"),
    ]  # fmt: skip
    depths = [recurd(0), recurd(2), recurd(2, 0.1), recurd(0, 0.1)]
    own: list[dict[str, Any]] = [{"encoder.router": r} for r in ("linear", "fixed", "attention")]
    routers = [recurd(variant=f"{router['encoder.router']} router", **router) for router in own]
    return [*eight_dimensions(), *readings, *depths, *routers, *(recurd(variant=f"k = {k}", k=k) for k in (1, 3, 4))]


def stage(
    data: str, scale: Scale, settings: Iterable[Setting], seeds: int, then: Sequence[Grid] = (), **fields: Any
) -> Grid:
    """Settings on one of the two data sets, all trained and measured alike; `fields` of the run change that."""
    own: dict[str, Any] = {
        "data": source(data, scale), "steps": STEPS[data], "batch_size": 64, "optimizer.lr": 1e-3, "test_share": 0.1,
        "metrics": MEASURED, "beside": BESIDE, "on_the_way": ON_THE_WAY, "snapshots": 5, "items": 10_000,
    }  # fmt: skip
    if scale == "smoke":
        own |= {"steps": 3, "batch_size": 16, "items": 200, "snapshots": 1, "metrics": ON_THE_WAY, "beside": ON_THE_WAY}
    if scale == "paper":
        own |= {"steps": 300_000, "optimizer.lr": 1e-4}
    cases = trained(list(settings), {**own, **fields})
    labelled = tuple(Case({"data": data, **c.labels}, c.task) for c in cases)
    return Grid(labelled, 1 if scale == "smoke" else seeds, NOTE if scale == "laptop" else "", then=tuple(then))


def source(data: str, scale: Scale) -> Source:
    """32 px on a laptop, the papers' 64; a tiny stand-in for smoke."""
    size = 64 if scale == "paper" else 32
    if scale == "smoke":
        return XYSquares(size=32)
    return Shapes3D(size=size) if data == SHAPES else DSprites(size=size)


def pool(scale: Scale) -> Grid:
    """In the order that leaves the most decided wherever it is stopped."""
    if scale == "smoke":
        return stage(SHAPES, scale, main(CLASSES[SHAPES]), 1)
    shapes = [
        (strengths(), 5), (split(), 5), (levels(), 5), (recursive(), 5), (others(CLASSES[SHAPES]), 5),
    ]  # fmt: skip
    sprites = [
        (main(CLASSES[SPRITES]), 5), (strengths(), 5), (split(), 5), (others(CLASSES[SPRITES]), 5),
        (eight_dimensions(), 5), (levels(), 5),
    ]  # fmt: skip
    then = [stage(SHAPES, scale, s, n) for s, n in shapes] + [stage(SPRITES, scale, s, n) for s, n in sprites]
    return stage(SHAPES, scale, main(CLASSES[SHAPES]), 5, then)


register(Study(
    name="pool",
    about="Every method at several strengths on Shapes3D and dSprites: what the papers' claims are decided by.",
    grid=pool,
    columns=columns("mig", "dci", "factor_vae_score", "sap", "active_units", "reconstruction", *TC),
))  # fmt: skip
