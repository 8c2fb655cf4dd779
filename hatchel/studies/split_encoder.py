"""Split Encoder 2019: a branch for each coordinate against the plain encoder; noise or parameters that are shared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hatchel.studies.common import NETWORK, Budget, budget, critic, note, sprites
from hatchel.study.claims import Claim, higher, lower
from hatchel.study.frame import Frame, select
from hatchel.study.grid import Grid, Scale, axis, product
from hatchel.study.study import Study, register
from hatchel.study.table import Column

PAPER = Budget(steps=300_000, seeds=10)
ENCODERS = {"plain": {"encoder": "conv"}, "split": {"encoder": "split"}}
VIOLATIONS: Mapping[str, Mapping[str, Any]] = {
    "none": {},
    "correlated noise": {"latent": {"kind": "correlated", "dim": 10, "correlation": 0.9}},
    "shared parameters": {"encoder": "sharing", "latent": {"kind": "diagonal", "dim": 16}},
}
"""The sharing encoder's coordinates are the places of a grid, so there are 16 of them."""


def methods(scale: Scale) -> dict[str, dict[str, Any]]:
    """Those of Fig. 3; Fig. 2 is without beta-VAE."""
    return {
        "VAE": {"method": "vae"},
        "beta-VAE": {"method": "beta_vae", "beta": 4},
        "FactorVAE": {"method": "factor_vae", "gamma": 10, **critic(scale)},
    }


def encoder_grid(scale: Scale) -> Grid:
    """Three methods on two encoders."""
    settings = product(axis("method", methods(scale)), axis("encoder", ENCODERS))
    return budget(scale, PAPER).grid(settings, sprites(scale), NETWORK, note(scale))


def encoder_claims(frame: Frame) -> list[Claim]:
    """Section 5.3: MIG up, reconstruction error down, for each method."""
    result: list[Claim] = []
    for method in methods("paper"):
        split, plain = (select(frame, method=method, encoder=e) for e in ("split", "plain"))
        result.append(higher(f"{method}: the split encoder has the higher MIG.", split, plain, "mig"))
        result.append(lower(f"{method}: the split encoder reconstructs better.", split, plain, "reconstruction"))
    return result


register(Study(
    name="split-encoder",
    about="Plain against split encoder for VAE, beta-VAE and FactorVAE: MIG, FactorVAE score, KL and reconstruction.",
    paper="Split Encoder 2019, Figs. 3, 4, 6, 7, 9-11",
    grid=encoder_grid,
    columns=(
        Column("mig", "MIG"),
        Column("factor_vae_score", "FactorVAE score"),
        Column("elbo_terms", "KL (nats)", digits=2),
        Column("reconstruction", "reconstruction (nats)", digits=2),
    ),
    contrast="encoder",
    claims=encoder_claims,
))  # fmt: skip


def violation_grid(scale: Scale) -> Grid:
    """Two methods, plain and with each violation."""
    two = {label: fields for label, fields in methods(scale).items() if label != "beta-VAE"}
    settings = product(axis("method", two), axis("violation", VIOLATIONS))
    return budget(scale, PAPER).grid(settings, sprites(scale), NETWORK, note(scale))


def violation_claims(frame: Frame) -> list[Claim]:
    """Section 5.2: both violations lower MIG."""
    result: list[Claim] = []
    for method in ("VAE", "FactorVAE"):
        plain = select(frame, method=method, violation="none")
        for violation in list(VIOLATIONS)[1:]:
            text = f"{method}: {violation} {'lower' if violation.endswith('s') else 'lowers'} MIG."
            result.append(lower(text, select(frame, method=method, violation=violation), plain, "mig"))
    return result


register(Study(
    name="split-violation",
    about="VAE and FactorVAE with independent noise, with correlated noise, and with one filter for all coordinates.",
    paper="Split Encoder 2019, Fig. 2",
    grid=violation_grid,
    columns=(
        Column("mig", "MIG"),
        Column("factor_vae_score", "FactorVAE score"),
        Column("reconstruction", "reconstruction (nats)", digits=2),
    ),
    contrast="violation",
    claims=violation_claims,
))  # fmt: skip
