"""RTC-VAE (Cheng et al. 2020): the dependence of means and of samples, and factors that several latents share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hatchel.core.spec import Count
from hatchel.studies.common import NETWORK, Budget, budget, critic, note, sprites
from hatchel.study.claims import Claim, higher, inside, lower
from hatchel.study.frame import Frame, select, tasks, values, with_value
from hatchel.study.grid import Grid, Scale, axis, metrics
from hatchel.study.study import Study, register
from hatchel.study.table import Column, Table, table
from hatchel.study.task import Case, Result, Task, Workspace
from hatchel.study.trained import Trained
from hatchel.training.spec import RunSpec


class Paired(Task):
    """Means and samples of the coordinates whose means vary most, with the factor that one of them knows best.

    `r2` is the largest R² between a coordinate and a factor: the colour of the points (RTC-VAE 2020, Figs. 5 to 7).
    """

    run: RunSpec
    """What is trained; its seed is the task's."""
    items: Count = 600
    """Points."""
    coordinates: Count = 4
    """Rows and columns of the grid."""

    def compute(self, workspace: Workspace) -> Result:
        from hatchel.evaluation.evaluation import encodings
        from hatchel.metrics.information import squared_correlations

        run = Trained(seed=self.seed, run=self.run).trained(workspace)
        found = encodings(run, self.items, seed=0)
        data = run.data
        factors = data.factors(found.items)
        assert factors is not None
        assert data.space is not None
        chosen = np.argsort(-found.mean.var(axis=0), kind="stable")[: self.coordinates]
        means, samples = (codes[:, chosen].astype(np.float64) for codes in (found.mean, found.sample))
        known = np.stack([squared_correlations(means, f.astype(np.float64)) for f in factors.T])  # (factors, rows)
        best = int(known.max(axis=1).argmax())
        details: dict[str, Any] = {
            "coordinates": chosen.tolist(),
            "means": means.round(3).tolist(),
            "samples": samples.round(3).tolist(),
            "factor": data.space.names[best],
            "values": factors[:, best].tolist(),
        }
        return Result({"r2": float(known.max())}, details)


PAPER = Budget(steps=300_000, seeds=10, batch_size=500)
STRENGTHS = {"smoke": (10,), "laptop": (10, 50), "paper": (2, 6, 10, 20, 50)}


def methods(scale: Scale, strength: int) -> dict[str, dict[str, Any]]:
    """Each at a strength of its penalty."""
    return {
        "FactorVAE": {"method": "factor_vae", "gamma": strength, **critic(scale)},
        "RTC-VAE": {"method": "rtc_vae", "beta": strength, **critic(scale)},
        "DIP-VAE-I": {"method": "dip_vae_i", "od": strength, "d": 10 * strength},
        "DIP-VAE-II": {"method": "dip_vae_ii", "od": strength, "d": strength},
    }


def disparity_grid(scale: Scale) -> Grid:
    """Each method at each strength, on one network."""
    settings = [
        setting + axis("strength", {strength: {}})[0]
        for strength in STRENGTHS[scale]
        for setting in axis("method", methods(scale, strength))
    ]
    words = note(scale, "strengths 10 and 50", "strengths 2 to 50")
    return budget(scale, PAPER).grid(settings, sprites(scale), NETWORK, words)


def tc_by_strength(frame: Frame) -> dict[str, Any]:
    """Both TCs against the strength, where there are several."""
    from hatchel.study.figures import lines

    if frame["strength"].nunique() < 2:
        return {}
    both = {"gaussian_tc": "of means", "gaussian_tc@sample": "of samples"}
    return {"TC by strength": lines(frame, "strength", both, "method", ("strength", "TC, nats"), log=True)}


def disparity_claims(frame: Frame) -> list[Claim]:
    """Section 5 of the paper, at each strength."""
    result: list[Claim] = []
    for strength in sorted({int(s) for s in frame["strength"]}):
        factor, rtc = (select(frame, method=m, strength=strength) for m in ("FactorVAE", "RTC-VAE"))
        at = f"At strength {strength},"
        result += [
            higher(f"{at} FactorVAE's TC of the means is at least twice that of its samples (the limit).", factor,
                   times(factor, 2), "gaussian_tc", "limit"),
            lower(f"{at} RTC-VAE's TC of the means is at most 1.2 times that of its samples (the limit).", rtc,
                  times(rtc, 1.2), "gaussian_tc", "limit"),
        ]  # fmt: skip
    return result


def times(frame: Frame, factor: float) -> Frame:
    """With `limit`, so many times the TC of the samples."""
    return with_value(frame, "limit", lambda row: factor * row["gaussian_tc@sample"], ["gaussian_tc@sample"])


register(Study(
    name="tc-disparity",
    about="TC of the means against TC of the samples for FactorVAE, RTC-VAE, DIP-VAE-I and DIP-VAE-II.",
    paper="Cheng et al. 2020, Figs. 3, 4, 10, 11",
    grid=disparity_grid,
    columns=(
        Column("gaussian_tc", "TC of means"),
        Column("gaussian_tc@sample", "TC of samples"),
        Column("sap", "SAP"),
        Column("mig", "MIG"),
        Column("reconstruction", "reconstruction (nats)", digits=2),
    ),
    trade=("reconstruction", "sap"),
    more_figures=tc_by_strength,
    claims=disparity_claims,
))  # fmt: skip

SCORES, PAIRS = "scores", "pairs"
COLUMNS = (
    Column("disintegration", "latents a factor"),
    Column("gaussian_tc", "TC of means"),
    Column("mig", "MIG"),
    Column("sap", "SAP"),
)
TRADE = ("gaussian_tc", "disintegration")
LEARNED = 0.1
"""Of a factor's entropy, the share that its best latent must tell before it counts as learned."""
MATRICES: Mapping[str, str] = {
    "disintegration": "information about each factor",
    "disintegration(by=r2)": "R² with each factor",
}


def disintegration_grid(scale: Scale) -> Grid:
    """Three methods of tc-disparity at strength 10: the scores of every run, and its codes for the pair plots."""
    chosen = {label: fields for label, fields in methods(scale, 10).items() if label != "DIP-VAE-II"}
    measured = metrics("disintegration", {"kind": "disintegration", "by": "r2"}, "mig", "sap", "gaussian_tc")
    words = note(scale, "the runs of tc-disparity")
    base = {**NETWORK, "metrics": measured}
    scored = budget(scale, PAPER).grid(axis("method", chosen), sprites(scale), base, words)
    size = 100 if scale == "smoke" else 600
    runs = {str(c.labels["method"]): c.task for c in scored.cases}
    cases = [Case({"method": m, "what": SCORES}, task) for m, task in runs.items()]
    cases += [
        Case({"method": m, "what": PAIRS}, Paired(0, t.run, size)) for m, t in runs.items() if isinstance(t, Trained)
    ]
    return Grid(tuple(cases), scored.seeds, words)


def scores_alone(frame: Frame) -> Frame:
    """Without the pairs, and without that label."""
    return select(frame, what=SCORES).drop(columns="what")


def disintegration_tables(frame: Frame) -> list[Table]:
    """Of the scores."""
    scored = scores_alone(frame)
    return [table("Mean over seeds with a 95 % interval", scored, ("method",), COLUMNS)] if len(scored) else []


def disintegration_figures(frame: Frame) -> dict[str, Any]:
    """The matrices and pairs of the first seed beside the boxes."""
    from hatchel.report.panels.pairs import drawn_pairs
    from hatchel.study.figures import comparison, heat

    scored = scores_alone(frame)
    result = comparison(scored, COLUMNS, TRADE, TRADE[1]) if len(scored) else {}
    for _, row in tasks(scored[scored["seed"] == 0]).iterrows():
        for name, what in MATRICES.items():
            found = row["details"]["matrices"].get(name)
            if found:
                labels = [f"z{d}" for d in range(len(found["rows"]))]
                matrix = [[0.0 if v is None else v for v in line] for line in found["rows"]]
                result[f"{row['method']}: {what}, seed 0"] = heat(matrix, labels, found["factors"])
    for _, row in tasks(select(frame[frame["seed"] == 0], what=PAIRS)).iterrows():
        found = row["details"]
        means, samples = (np.array(found[part]) for part in ("means", "samples"))
        name = f"{row['method']}: means below, samples above, coloured by {found['factor']}, seed 0"
        coordinates = [f"z{d}" for d in found["coordinates"]]
        result[name] = drawn_pairs(means, samples, coordinates, np.array(found["values"]))
    return result


def disintegration_claims(frame: Frame) -> list[Claim]:
    """Section 6.3: a factor is carried by several latents, however independent these are."""
    result: list[Claim] = []
    for method in ("RTC-VAE", "DIP-VAE-I"):
        text = f"{method}: learned factors disintegrate: more than one and a half latents carry each (mean number)."
        own = select(frame, method=method, what=SCORES)
        found = [carriers(own[own["seed"] == seed]) for seed in sorted({*own["seed"]})]
        result.append(inside(text, [number for number in found if number is not None], 1.5, float("inf")))
    return result


def carriers(run: Frame) -> float | None:
    """Latents a factor, over the factors that some latent tells a tenth of; None where there is none.

    A factor that was not learned has tiny shares, all alike, and would count as spread over every latent.
    """
    details = run["details"].iloc[0]
    found = details.get("matrices", {}).get("disintegration", {"rows": [], "factors": []})
    shares = np.array([[0.0 if v is None else v for v in line] for line in found["rows"]])
    learned = [name for k, name in enumerate(found["factors"]) if shares[:, k].max() >= LEARNED]
    numbers = [values(run, f"disintegration.{name}.effective_number")[0] for name in learned]
    return float(np.mean(numbers)) if numbers else None


register(Study(
    name="disintegration",
    about="R² and NMI matrices and pair plots of three methods, and how many latents carry each factor.",
    paper="Cheng et al. 2020, Figs. 5-9, 14-16",
    grid=disintegration_grid,
    columns=COLUMNS,
    trade=TRADE,
    tables=disintegration_tables,
    figures=disintegration_figures,
    claims=disintegration_claims,
))  # fmt: skip
