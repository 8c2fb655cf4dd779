"""HFVAE (Esmaeili et al. 2019): scores on dSprites, what each term does, and every objective as weights on terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from hatchel.core.spec import Count, Positive, from_dict
from hatchel.data.xy_squares import XYSquares
from hatchel.methods.resolve import resolve
from hatchel.objective.estimators.minibatch import Stratified
from hatchel.objective.objective import Weighted
from hatchel.objective.terms.decomposition import DimensionKL, MutualInformation, TotalCorrelation
from hatchel.objective.terms.elbo import Reconstruction
from hatchel.objective.trace import Batch
from hatchel.studies.common import DATA, HFVAE, at, trade_off, view
from hatchel.studies.pool import CLASSES, SPRITES
from hatchel.studies.removed import Removed
from hatchel.study.claims import Claim, higher, lower
from hatchel.study.frame import Frame, tasks
from hatchel.study.grid import Grid, Scale
from hatchel.study.study import Study, register
from hatchel.study.table import Column
from hatchel.study.task import Case, Label, Result, Task, Workspace
from hatchel.training.model import System
from hatchel.training.spec import RunSpec

FOREST = "dci(regressor=forest_regression)"
SCORES = {"VAE": (0.71, 0.40), "beta-VAE": (0.72, 0.71), "beta-SVAE": (0.47, 0.19), "beta-TCVAE": (0.71, 0.31),
          "HFVAE": (0.78, 0.74)}  # fmt: skip
"""FactorVAE score and Eastwood & Williams' disentanglement on dSprites (Table 2)."""


def compared(data: str) -> list[dict[str, Label]]:
    """The five methods, HFVAE last; those with a class have as many values as the data have shapes."""
    discrete = {"beta-SVAE", "HFVAE"}
    return [at(data, m, 1 if m == "VAE" else 4, f"{CLASSES[data]} classes" if m in discrete else "") for m in SCORES]


def scores_claims() -> list[Claim]:
    """Section 6.1; the paper has dSprites alone."""
    found: list[Claim] = []
    for suffix, data in DATA.items():
        *others, own = compared(data)
        ours, text = data != SPRITES, f"{data}: HFVAE's {{}} is above that of VAE, beta-VAE, beta-SVAE and beta-TCVAE."
        found += [
            HFVAE(f"H1.factor.{suffix}", "Table 2", text.format("FactorVAE score"),
                  higher("factor_vae_score", own, *others), ours),
            HFVAE(f"H1.eastwood.{suffix}", "Table 2", text.format("disentanglement by Eastwood & Williams"),
                  higher(FOREST, own, *others), ours),
        ]  # fmt: skip
    return found


ROWS = [row for data in DATA.values() for row in compared(data)]
register(Study(
    name="hfvae-scores",
    about="FactorVAE score and Eastwood & Williams' disentanglement (forest) of five methods; views of the pool.",
    paper="Esmaeili et al. 2019, Table 2",
    grid=view(lambda labels: labels in ROWS),
    columns=(
        Column("factor_vae_score", "FactorVAE score",
               {tuple(row.values()): SCORES[str(row["method"])][0] for row in compared(SPRITES)}, 2),
        Column(FOREST, "Eastwood",
               {tuple(row.values()): SCORES[str(row["method"])][1] for row in compared(SPRITES)}, 2),
        Column("mig", "MIG"),
        Column("reconstruction", "reconstruction (nats)", digits=2),
    ),
    figures=trade_off,
    claims=tuple(scores_claims()),
))  # fmt: skip

REMOVED = ("none", "① log p(x|z)/p(x)", "② I(x;z)", "③ KL(q(x)||p(x))", "④ KL(q(z)||p(z))")
"""The terms of Fig. 2, by number."""


def terms_grid(scale: Scale) -> Grid:
    """The whole bound, and each term removed."""
    size = {"steps": 3, "copies": 2} if scale == "smoke" else {}
    cases = [Case({"removed": label}, Removed(0, number, **size)) for number, label in enumerate(REMOVED)]
    note = "16 points on a circle, z in the plane (ours: the paper does not say what its figure was made from)"
    return Grid(tuple(cases), 1 if scale == "smoke" else 5, note)


def terms_claims() -> list[Claim]:
    """The figure's caption, in its words, each against the whole bound."""
    claims = (
        (1, lower, "each x is mapped to the prior (I(x;z) falls)", "information"),
        (2, lower, "each x is mapped to a smaller region in z space (width of q(z|x))", "width"),
        (3, lower, "p(x) no longer has to match q(x) (log p(x) of the data falls)", "log_evidence"),
        (4, higher, "q(z) no longer has to match p(z) (KL(q(z)||p(z)) grows)", "aggregate_kl"),
    )
    return [
        HFVAE(f"H6.{n}", "Fig. 3", f"Removing {REMOVED[n]}: {text}.",
              against(value, {"removed": REMOVED[n]}, {"removed": REMOVED[0]}))
        for n, against, text, value in claims
    ]  # fmt: skip


def terms_figures(frame: Frame) -> dict[str, Any]:
    """The posteriors in the plane of z, of the first seed; a circle at two standard deviations of the prior."""
    from matplotlib.patches import Ellipse

    from hatchel.report.style import INK
    from hatchel.study.figures import COLOURS, grid_of

    first = tasks(frame[frame["seed"] == 0])
    panels = {f"{r['removed']} removed" if r["removed"] != "none" else "all terms": r["details"]
              for _, r in first.iterrows()}  # fmt: skip

    def posteriors(axes: Any, details: Any) -> None:
        axes.add_patch(Ellipse((0, 0), 4, 4, fill=False, edgecolor=INK, linestyle=":"))
        for i, (mean, std) in enumerate(zip(details["mean"], details["std"], strict=True)):
            colour = COLOURS[i % len(COLOURS)]
            axes.add_patch(Ellipse(mean, 4 * std[0], 4 * std[1], facecolor=colour, edgecolor=colour, alpha=0.4))
        axes.autoscale_view()
        axes.set_aspect("equal", adjustable="datalim")

    return {"q(z|x) of each point": grid_of(panels, posteriors, across=5, height=2.2, width=10.0)} if panels else {}


TERM_COLUMNS = (
    Column("information", "I(x;z)", digits=2),
    Column("aggregate_kl", "KL(q(z)||p(z))", digits=2),
    Column("log_evidence", "log p(x)", digits=2),
    Column("reconstruction", "-log p(x|z)", digits=2),
    Column("width", "width of q(z|x)"),
)
register(Study(
    name="hfvae-terms",
    about="The lower bound of a few points in the plane, with each of the four terms of its decomposition removed.",
    paper="Esmaeili et al. 2019, Figs. 2, 3",
    grid=terms_grid,
    title="Nats a point, and the width of a posterior",
    columns=TERM_COLUMNS,
    figures=terms_figures,
    claims=tuple(terms_claims()),
))  # fmt: skip

BY = Stratified()
BASIS = {"rec": Reconstruction(), "mi": MutualInformation(BY), "tc": TotalCorrelation(BY), "dw": DimensionKL(BY),
         "anchor": MutualInformation(BY, (0, 1))}  # fmt: skip
"""KL = mi + tc + dw, row by row, whatever the estimator; last the information of two anchors."""
OBJECTIVES: Mapping[str, tuple[str, Mapping[str, Any], tuple[float, ...]]] = {
    # method, its parameters, weights on (rec, mi, tc, dw, anchor); DIP-VAE only approximates its weight on tc + dw
    "VAE": ("vae", {}, (1, 1, 1, 1)),
    "beta-VAE": ("beta_vae", {"beta": 4}, (1, 4, 4, 4)),
    "beta-TCVAE": ("beta_tcvae", {"beta": 6, "by": "stratified"}, (1, 1, 6, 1)),
    "InfoVAE (KL)": ("info_vae", {"a": 0.5, "l": 3, "divergence": "aggregate_kl"}, (1, 0.5, 3, 3)),
    "Anchor VAE": ("anchor_vae", {"weight": 2, "by": "stratified"}, (1, 1, 1, 1, -2)),
    "Information Dropout": ("information_dropout", {"beta": 2, "gamma": 3, "by": "stratified"}, (1, 2, 3, 0)),
    "HFVAE, one group": ("hf_vae", {"gamma": 3, "groups": {"z": {"kind": "gaussian", "dim": 6}}}, (1, 1, 3, 1)),
}


class Verified(Task):
    """A method's objective on one batch of an informative code, and the same model's weighted basis."""

    run: RunSpec
    """The method."""
    weights: tuple[float, ...]
    """Of reconstruction, mutual information, total correlation, dimension-wise KL and, where there are any, anchors."""
    spread: Positive = 2.0
    """Standard deviation to which the means are brought."""
    draws: Count = 400
    """Of the noise, averaged."""

    def compute(self, workspace: Workspace) -> Result:
        data = XYSquares(size=16).load()
        basis = {n: {"term": t, "weight": w} for (n, t), w in zip(BASIS.items(), self.weights, strict=False)}
        x = torch.from_numpy(data.images(range(32)) / 255.0).float().permute(0, 3, 1, 2)
        own = self._system(self.run.objective)
        _inform(own, x, self.spread)
        same = self._system({n: from_dict(Weighted, w) for n, w in basis.items()})
        same.model.load_state_dict(own.model.state_dict())
        with torch.no_grad():
            # The step chooses the noise: both objectives see the same draws.
            pairs = [[f(Batch(x, len(data), k, self.seed)).objective for f in (own, same)] for k in range(self.draws)]
            parts = same(Batch(x, len(data), 0, self.seed)).terms
        found = torch.tensor(pairs, dtype=torch.float64)  # (draws, 2)
        gap = found[:, 0] - found[:, 1]
        values = dict(zip(("own", "basis"), found.mean(0).tolist(), strict=True))
        values |= {"difference": float(gap.mean()), "error": float(gap.std() / self.draws**0.5)}
        return Result(values | {name: float(value) for name, value in parts.items()})

    def _system(self, objective: Mapping[str, Weighted]) -> System:
        spec = self.run.with_fields(seed=self.seed, objective=objective).fit_to_shape((1, 16, 16))
        return spec.build((1, 16, 16))


def _inform(system: System, x: torch.Tensor, spread: float) -> None:
    """Spread the means: at the initial weights every KL is almost 0, and any weights on it would do."""
    last = [m for m in system.model.encoder.modules() if isinstance(m, torch.nn.Linear)][-1]
    with torch.no_grad():
        last.weight.mul_(spread / system.model.encode(x)[0].mean.std())


def objectives_grid(scale: Scale) -> Grid:
    """Each method with its weights; nothing in it has a seed."""
    size = {"draws": 10} if scale == "smoke" else {}
    cases = [
        Case({"method": label, "weights": " ".join(f"{w:g}" for w in weights)},
             Verified(0, resolve(method, XYSquares(size=16), fields), weights, **size))
        for label, (method, fields, weights) in OBJECTIVES.items()
    ]  # fmt: skip
    return Grid(tuple(cases), 1, f"one batch of 32 images, {size.get('draws', 400)} draws of the noise", seeded=False)


register(Study(
    name="objectives",
    about="Objectives of RecurD and HFVAE as weights on reconstruction, I(x;z), TC and dimension-wise KL.",
    paper="Esmaeili et al. 2019, Table 1, Chen et al. 2022, Table 1",
    grid=objectives_grid,
    title="Nats an image; weights on rec, I(x;z), TC, sum KL_d",
    columns=(
        Column("own", "its own objective", digits=4),
        Column("basis", "weighted basis", digits=4),
        Column("error", "standard error of the difference", digits=4),
        Column("mi", "I(x;z)", digits=2),
        Column("tc", "TC", digits=2),
        Column("dw", "sum KL_d", digits=2),
    ),
    figures=lambda frame: {},
))  # fmt: skip
