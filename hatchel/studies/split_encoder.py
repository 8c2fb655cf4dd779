"""Split Encoder 2019: a branch for each coordinate against the plain encoder; noise or parameters that are shared."""

from __future__ import annotations

from typing import Any

from hatchel.studies.common import COLUMNS, DATA, ERROR, KL, SPLIT, at, rank_correlation_of, view
from hatchel.studies.pool import SPRITES
from hatchel.study.claims import Claim, each, higher, inside, lower, of_each
from hatchel.study.frame import Frame, groups
from hatchel.study.study import Study, register

STRENGTHS = {"VAE": (1,), "beta-VAE": (4, 10), "beta-TCVAE": (6,), "FactorVAE": (10, 50)}
"""Of the methods that have a split encoder in the pool."""


def claims() -> list[Claim]:
    """Sections 4 and 5 and the appendix; the paper has dSprites and Cars3D, so what is said of Shapes3D is ours."""
    found: list[Claim] = []
    for suffix, data in DATA.items():
        ours = data != SPRITES
        for method, strength in (("VAE", 1), ("FactorVAE", 10)):
            plain, noisy = at(data, method, strength), at(data, method, strength, "correlated noise")
            wide, shared = (at(data, method, strength, "D = 16", e) for e in ("conv", "sharing"))
            split, name = at(data, method, strength, encoder="split"), f"{method.lower()}.{suffix}"
            on = f"{method} on {data}:"
            found += [
                SPLIT(f"S1.{name}", "Fig. 2", f"{on} correlated noise lowers MIG.", lower("mig", noisy, plain), ours),
                SPLIT(f"S2.{name}", "Fig. 2", f"{on} shared parameters lower MIG.", lower("mig", shared, plain), ours),
                SPLIT(f"S2.{name}.d16", "Fig. 2", f"{on} shared parameters lower MIG against a plain encoder with as "
                      "many dimensions.", lower("mig", shared, wide), True),
                SPLIT(f"S3.{name}", "Fig. 3", f"{on} the split encoder raises MIG.", higher("mig", split, plain), ours),
                SPLIT(f"S4.{name}", "Fig. 4", f"{on} it lowers the reconstruction error.", lower(ERROR, split, plain),
                      ours),
            ]  # fmt: skip
            falls, against = ("falls", lower) if method == "VAE" else ("grows", higher)
            found.append(
                SPLIT(f"S5.{name}", "Section 5", f"{on} with it the KL {falls}.", against(KL, split, plain), ours)
            )
        split, plain = (at(data, "beta-VAE", 4, encoder=e) for e in ("split", "conv"))
        on = f"beta-VAE 4 on {data}: with the split encoder"
        found += [
            SPLIT(f"S6.mig.{suffix}", "Fig. 11", f"{on} MIG is higher.", higher("mig", split, plain), ours),
            SPLIT(f"S6.kl.{suffix}", "Fig. 11", f"{on} the KL is larger.", higher(KL, split, plain), ours),
            SPLIT(f"S6.error.{suffix}", "Fig. 11", f"{on} the reconstruction error is smaller.",
                  lower(ERROR, split, plain), ours),
            SPLIT(f"S7.{suffix}", "Section 4, Fig. 6", f"{data}: the split encoder lowers MIG under a weak penalty "
                  "(VAE), and raises it under a strong one (FactorVAE 50); on Cars3D in the paper.",
                  each({"weak": lower("mig", at(data, "VAE", 1, encoder="split"), at(data, "VAE", 1)),
                        "strong": higher("mig", at(data, "FactorVAE", 50, encoder="split"), at(data, "FactorVAE",
                        50))}),
                  True),
            SPLIT(f"S8.{suffix}", "Fig. 9", f"{data}: the FactorVAE score is not well correlated with MIG (rank "
                  "correlation over these runs below 0.5, ours).",
                  inside(of_each(rank_correlation_of("mig", "factor_vae_score")), {"data": data}, high=0.5), ours),
        ]  # fmt: skip
    return found


def split_figures(frame: Frame) -> dict[str, Any]:
    """MIG, and the KL against the reconstruction error (Fig. 7), by method and encoder."""
    from hatchel.study.figures import boxes, scatter

    named = frame.assign(
        what=[" ".join(map(str, row)).strip() for row in frame[["method", "encoder", "variant"]].values]
    )
    result: dict[str, Any] = {}
    for (data,), group in groups(named, "data").items():
        result[f"{data}: MIG"] = boxes(group, "mig", "what", "MIG")
        result[f"{data}: KL against reconstruction"] = scatter(
            group, KL, ERROR, "what", ("KL", "reconstruction (nats)")
        )
    return result


register(Study(
    name="split-encoder",
    about="Plain against split encoder for four methods; correlated noise and shared parameters; views of the pool.",
    paper="Split Encoder 2019, Figs. 2-4, 6, 7, 9-11",
    grid=view(lambda labels: labels["strength"] in STRENGTHS.get(str(labels["method"]), ())
              and labels["variant"] != "D = 8"),
    columns=COLUMNS,
    figures=split_figures,
    claims=tuple(claims()),
))  # fmt: skip
