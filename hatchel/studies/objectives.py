"""HFVAE, Table 1, and RecurD, Table 1: every objective as weights on the same terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from hatchel.data.xy_squares import XYSquares
from hatchel.estimators.minibatch import Stratified
from hatchel.model import System
from hatchel.objective import Weighted
from hatchel.presets.preset import preset
from hatchel.spec import Count, decode
from hatchel.study.cell import Cell, Place, Record
from hatchel.study.store import Entry, Row
from hatchel.study.study import Claim, Scale, Study
from hatchel.study.table import Column, Table, table
from hatchel.terms.dimension_kl import DimensionKL
from hatchel.terms.mutual_information import MutualInformation
from hatchel.terms.reconstruction import Reconstruction
from hatchel.terms.total_correlation import TotalCorrelation
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
    """A method's objective on one batch after a little training, and the same model's weighted basis."""

    run: RunSpec
    """The method."""
    weights: tuple[float, float, float, float]
    """Of reconstruction, mutual information, total correlation and dimension-wise KL."""
    steps: Count = 150
    """Updates by the method's own objective before."""
    draws: Count = 400
    """Of the noise, averaged."""

    def compute(self, place: Place) -> Record:
        """Both values, in nats an image."""
        data = XYSquares(size=16).load()
        basis = {n: {"term": t, "weight": w} for (n, t), w in zip(BASIS.items(), self.weights, strict=True)}
        x = torch.from_numpy(data.images(range(32)) / 255.0).float().permute(0, 3, 1, 2)
        own = self._system(self.run.objective)
        self._train(own, x, len(data))
        same = self._system({n: decode(Weighted, w) for n, w in basis.items()})
        same.model.load_state_dict(own.model.state_dict())
        found: list[float] = []
        with torch.no_grad():
            for system in (own, same):
                # The step chooses the noise; with many draws the sampled KL meets the closed form.
                draws = [system(x, len(data), step, self.seed).objective for step in range(self.draws)]
                found.append(float(torch.stack(draws).mean()))
        return Record({"own": found[0], "basis": found[1], "difference": found[0] - found[1]})

    def _train(self, system: System, x: torch.Tensor, n_data: int) -> None:
        """A few updates: at the initial weights every KL is almost 0, and any weights on it would do."""
        optimizer = torch.optim.Adam(system.parameters(), lr=3e-3)
        for step in range(self.steps):
            optimizer.zero_grad()
            system(x, n_data, step, self.seed).total.backward()
            optimizer.step()

    def _system(self, objective: Mapping[str, Weighted]) -> System:
        spec = fitted(self.run.with_fields(seed=self.seed, objective=objective), (1, 16, 16))
        return build(spec, (1, 16, 16))


class Objectives(Study, kind="objectives"):
    """Objectives of papers 000 and 003 as weights on reconstruction, I(x;z), TC and dimension-wise KL, on one batch."""

    paper = "003 Table 1, 000 Table 1"
    scales = {
        "smoke": "one batch of 32 images, 5 updates, 10 draws of the noise",
        "laptop": "one batch of 32 images, 150 updates, 400 draws of the noise; in full",
        "paper": "one batch of 32 images, 150 updates, 400 draws of the noise; in full",
    }

    def entries(self, scale: Scale, seeds: int | None = None) -> list[Entry]:
        """Each method with its weights."""
        source = XYSquares(size=16)
        size = {"steps": 5, "draws": 10} if scale == "smoke" else {}
        return [
            Entry(
                {"method": k, "weights": " ".join(f"{w:g}" for w in weights)},
                Verified(0, preset(m, data=source, **s), weights, **size),
            )
            for k, (m, s, weights) in ROWS.items()
        ]

    def tables(self, rows: Sequence[Row]) -> list[Table]:
        """Weights on rec, I(x;z), TC, sum_d KL_d; both values."""
        columns = (Column("own", "its own objective", digits=4), Column("basis", "weighted basis", digits=4))
        return [table("Nats an image; weights on rec, I(x;z), TC, sum KL_d", rows, ("method", "weights"), columns)]

    def claims(self, rows: Sequence[Row]) -> list[Claim]:
        """Each row of the tables."""
        worst = max((abs(r.values["difference"]) for r in rows), default=0.0)
        text = "Every objective equals its weights on the common terms (0.1 nats; KLs in closed form or sampled)."
        return [Claim(text, worst < 0.1, f"largest difference {worst:.4f} nats")] if rows else []
