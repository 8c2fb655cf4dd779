"""HFVAE, Table 1, and RecurD, Table 1: every objective as weights on the same terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from hatchel.core.spec import Count, Positive, from_dict
from hatchel.data.xy_squares import XYSquares
from hatchel.methods.method import preset
from hatchel.objective.estimators.minibatch import Stratified
from hatchel.objective.objective import Weighted
from hatchel.objective.terms.decomposition import DimensionKL, MutualInformation, TotalCorrelation
from hatchel.objective.terms.elbo import Reconstruction
from hatchel.objective.trace import Batch
from hatchel.study.cell import Cell, Place, Record
from hatchel.study.store import Entry, Row
from hatchel.study.study import Claim, Scale, Study
from hatchel.study.table import Column, Table, table
from hatchel.training.model import System
from hatchel.training.spec import RunSpec, build, fitted

BY = Stratified()
BASIS = {"rec": Reconstruction(), "mi": MutualInformation(BY), "tc": TotalCorrelation(BY), "dw": DimensionKL(BY)}
"""KL = mi + tc + dw, row by row, whatever the estimator."""
ROWS: dict[str, tuple[str, dict[str, Any], tuple[float, float, float, float]]] = {
    # name, symbols, weights on (rec, mi, tc, dw)
    "VAE": ("vae", {}, (1, 1, 1, 1)),
    "beta-VAE": ("beta_vae", {"beta": 4}, (1, 4, 4, 4)),
    "beta-TCVAE": ("beta_tcvae", {"beta": 6, "by": "stratified"}, (1, 1, 6, 1)),
    "InfoVAE (KL)": ("info_vae", {"a": 0.5, "l": 3, "divergence": "aggregate_kl"}, (1, 0.5, 3, 3)),
    "Information Dropout": ("information_dropout", {"beta": 2, "gamma": 3, "by": "stratified"}, (1, 2, 3, 0)),
    "HFVAE, one group": ("hf_vae", {"gamma": 3, "groups": {"z": {"kind": "gaussian", "dim": 6}}}, (1, 1, 3, 1)),
}


class Verified(Cell):
    """A method's objective on one batch of an informative code, and the same model's weighted basis."""

    run: RunSpec
    """The method."""
    weights: tuple[float, float, float, float]
    """Of reconstruction, mutual information, total correlation and dimension-wise KL."""
    spread: Positive = 2.0
    """Standard deviation to which the means are brought."""
    draws: Count = 400
    """Of the noise, averaged."""

    def compute(self, place: Place) -> Record:
        """Both values, in nats an image."""
        data = XYSquares(size=16).load()
        basis = {n: {"term": t, "weight": w} for (n, t), w in zip(BASIS.items(), self.weights, strict=True)}
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
        return Record(values | {name: float(value) for name, value in parts.items()})

    def _system(self, objective: Mapping[str, Weighted]) -> System:
        spec = fitted(self.run.with_fields(seed=self.seed, objective=objective), (1, 16, 16))
        return build(spec, (1, 16, 16))


def _inform(system: System, x: torch.Tensor, spread: float) -> None:
    """Spread the means: at the initial weights every KL is almost 0, and any weights on it would do."""
    last = [m for m in system.model.encoder.modules() if isinstance(m, torch.nn.Linear)][-1]
    with torch.no_grad():
        last.weight.mul_(spread / system.model.encode(x)[0].mean.std())


class Objectives(Study, kind="objectives"):
    """Objectives of RecurD and HFVAE as weights on reconstruction, I(x;z), TC and dimension-wise KL, on one batch."""

    paper = "Esmaeili et al. 2019, Table 1, Chen et al. 2022, Table 1"
    scales = {
        "smoke": "one batch of 32 images, 10 draws of the noise",
        "laptop": "one batch of 32 images, 400 draws of the noise; in full",
        "paper": "one batch of 32 images, 400 draws of the noise; in full",
    }

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """Each method with its weights."""
        source = XYSquares(size=16)
        size = {"draws": 10} if scale == "smoke" else {}
        return [
            Entry(
                {"method": k, "weights": " ".join(f"{w:g}" for w in weights)},
                Verified(0, preset(m, data=source, **s), weights, **size),
            )
            for k, (m, s, weights) in ROWS.items()
        ]

    def tables(self, rows: Sequence[Row]) -> list[Table]:
        """Weights on rec, I(x;z), TC, sum_d KL_d; both values."""
        columns = (
            Column("own", "its own objective", digits=4),
            Column("basis", "weighted basis", digits=4),
            Column("error", "standard error of the difference", digits=4),
            Column("mi", "I(x;z)", digits=2),
            Column("tc", "TC", digits=2),
            Column("dw", "sum KL_d", digits=2),
        )
        return [table("Nats an image; weights on rec, I(x;z), TC, sum KL_d", rows, ("method", "weights"), columns)]

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Each row of the tables; a KL in closed form meets a sampled one up to its standard error."""
        if not rows:
            return []
        sure = [abs(r.values["difference"]) <= 4 * r.values["error"] + 1e-3 for r in rows]
        worst = max(rows, key=lambda r: abs(r.values["difference"]))
        text = "Every objective equals its weights on the common terms (within 4 standard errors of the draws)."
        evidence = (
            f"largest difference {worst.values['difference']:.3f} nats, standard error {worst.values['error']:.3f} "
            f"({worst.labels['method']})"
        )
        return [Claim(text, all(sure), evidence)]
