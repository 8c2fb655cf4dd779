"""RTC-VAE (Cheng et al. 2020): the dependence of means and of samples, and factors that several latents share."""

from __future__ import annotations

from typing import Any

import numpy as np

from hatchel.core.spec import Count
from hatchel.studies.common import DATA, ERROR, RTC, at, matrix, of_pool, one, rank_correlation_of, trade_off, view
from hatchel.studies.pool import SHAPES, columns, dip_vae, factor_vae, rtc_vae, stage
from hatchel.study.claims import Claim, each, higher, inside, lower, of_each
from hatchel.study.frame import Frame, groups, tasks, values
from hatchel.study.grid import Grid, Scale
from hatchel.study.study import Study, register
from hatchel.study.table import Column
from hatchel.study.task import Case, Label, Result, Task, Workspace
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


METHODS = ("FactorVAE", "RTC-VAE", "DIP-VAE-I", "DIP-VAE-II")
STRENGTHS = (2, 10, 20, 50)
"""At which the pool has both FactorVAE and RTC-VAE."""
TC, SAMPLES = "gaussian_tc", "gaussian_tc@sample"
PAIRS = "pairs"
SEEN = {"FactorVAE": 50, "DIP-VAE-I": 20, "RTC-VAE": 20}
"""Strengths of the pair plots (Figs. 14 to 16)."""
LEARNED = 0.1
"""Of a factor's entropy, the share that its best latent must tell before it counts as learned."""
SEVERAL, APART = 1.5, 0.1
"""Latents that a factor must amount to, and their largest normalised mutual information, before it disintegrates."""


def gap(rows: Frame) -> float | None:
    """TC of the means less TC of the samples."""
    mean, sample = one(rows, TC), one(rows, SAMPLES)
    return None if mean is None or sample is None else mean - sample


def active_gap(rows: Frame) -> float | None:
    """The same of the active dimensions: the means of dead ones are small, and count fully in TC of the means."""
    mean, sample = (one(rows, f"gaussian_tc.active_{part}") for part in ("mean", "sample"))
    return None if mean is None or sample is None else mean - sample


def carried(rows: Frame) -> dict[str, bool]:
    """Of each factor that was learned, whether several independent latents carry it.

    A factor that was not learned has tiny shares, all alike, and would count as spread over every latent.
    """
    shares, factors = matrix(rows, "disintegration")
    learned = [name for k, name in enumerate(factors) if shares[:, k].max() >= LEARNED]
    parts = {name: [values(rows, f"disintegration.{name}.{p}") for p in ("effective_number", "dependence")]
             for name in learned}  # fmt: skip
    return {
        name: number[0] > SEVERAL and apart[0] < APART for name, (number, apart) in parts.items() if number and apart
    }


def disintegrated(rows: Frame) -> float | None:
    """How many factors are."""
    found = carried(rows)
    return float(sum(found.values())) if found else None


def suppressed(score: str) -> Any:
    """The mean gap of the factors that are disintegrated less that of the others."""

    def difference(rows: Frame) -> float | None:
        found = {name: (values(rows, f"{score}.{name}") or [0.0])[0] for name in carried(rows)}
        kinds = [[found[n] for n, spread in carried(rows).items() if spread is kind] for kind in (True, False)]
        return float(np.mean(kinds[0]) - np.mean(kinds[1])) if all(kinds) else None

    return of_each(difference)


def claims() -> list[Claim]:
    """Sections 5 and 6 and the appendix."""
    found: list[Claim] = []
    for suffix, data in DATA.items():
        factor, rtc = ({s: at(data, method, s) for s in STRENGTHS} for method in ("FactorVAE", "RTC-VAE"))
        strong = {s: [at(data, m, s) for m in ("RTC-VAE", "DIP-VAE-I", "DIP-VAE-II")] for s in (20, 50)}
        found += [
            RTC(f"T4.factor.{suffix}", "Fig. 3", f"{data}: FactorVAE's TC of the means is above that of its samples "
                "at every strength.", each({f"{s}": higher(TC, w, w, beside=SAMPLES) for s, w in factor.items()})),
            RTC(f"T4.gap.{suffix}", "Fig. 3", f"{data}: RTC-VAE's gap between the two is below FactorVAE's at every "
                "strength.",
                each({f"{s}": lower(of_each(gap), rtc[s], factor[s]) for s in STRENGTHS})),
            RTC(f"T4.eta.{suffix}", "Fig. 3", f"{data}: at strength 10 with eta = 30 RTC-VAE's gap is below 0.2 nats.",
                inside(of_each(gap), at(data, "RTC-VAE", 10, "eta = 30"), high=0.2), True),
            RTC(f"T5.{suffix}", "Fig. 4", f"{data}: RTC-VAE and DIP-VAE have a lower TC of the means than FactorVAE.",
                each({f"{w['method']} {s}": lower(TC, w, factor[s]) for s, row in strong.items() for w in row})),
            RTC(f"T6.uncorrelated.{suffix}", "Section 6.2", f"{data}: DIP-VAE-I's latents are uncorrelated (Gaussian "
                "TC of the means below 0.2 nats, ours).", inside(TC, at(data, "DIP-VAE-I", 20), high=0.2)),
            RTC(f"T6.dependent.{suffix}", "Section 6.2", f"{data}: they are more dependent than RTC-VAE's (TC of the "
                "means by an estimate that sees more than correlation).",
                higher("total_correlation", at(data, "DIP-VAE-I", 20), at(data, "RTC-VAE", 20))),
            RTC(f"T9.sap.{suffix}", "Figs. 10, 11", f"{data}: SAP is not strongly correlated with the TC of the means "
                "(rank correlation over these runs between -0.5 and 0.5, ours).",
                inside(of_each(rank_correlation_of(TC, "sap")), {"data": data}, -0.5, 0.5)),
            RTC(f"T9.error.{suffix}", "Figs. 10, 11", f"{data}: RTC-VAE with beta above 10 reconstructs worse than "
                "with 10.",
                each({f"{s}": higher(ERROR, rtc[s], rtc[10]) for s in (20, 50)})),
        ]  # fmt: skip
    own = at(SHAPES, "RTC-VAE", 20)
    return [
        *found,
        RTC("T7", "Section 6.3", "RTC-VAE on Shapes3D: some factor is carried by two or more independent latents "
            "(their number above 0.5 in the mean, ours).", inside(of_each(disintegrated), own, low=0.5)),
        RTC("T8.mig", "Section 6.4", "There the gap between the two best latents is smaller: MIG of these factors.",
            inside(suppressed("mig"), own, high=0.0)),
        RTC("T8.sap", "Section 6.4", "The same of SAP.", inside(suppressed("sap"), own, high=0.0)),
    ]  # fmt: skip


def pairs(scale: Scale) -> list[Grid]:
    """The codes of some runs, for the pair plots."""
    size = 100 if scale == "smoke" else 600
    rows = of_pool(scale, [at(SHAPES, method, strength) for method, strength in SEEN.items()])
    cases = [Case({**row, "variant": PAIRS}, Paired(0, task.run, size)) for row, task in rows]
    return [Grid(tuple(cases), 1)]


def figures(frame: Frame) -> dict[str, Any]:
    """Both TCs against the strength; the pairs and matrices of the first seed."""
    from hatchel.report.panels.pairs import drawn_pairs
    from hatchel.study.figures import heat, lines

    both, result = {TC: "of means", SAMPLES: "of samples"}, dict[str, Any]()
    for (data,), group in groups(frame[frame["variant"] == ""], "data").items():
        if group["strength"].nunique() > 1:
            shown = lines(group, "strength", both, "method", ("strength", "TC, nats"), log=True)
            result[f"{data}: TC by strength"] = shown
    for _, row in tasks(frame[frame["seed"] == 0]).iterrows():
        name, details = f"{row['method']} {row['strength']}", row["details"]
        if row["variant"] == PAIRS:
            means, samples = (np.array(details[part]) for part in ("means", "samples"))
            drawn = drawn_pairs(means, samples, [f"z{d}" for d in details["coordinates"]], np.array(details["values"]))
            result[f"{name}: means below, samples above, coloured by {details['factor']}"] = drawn
        elif (row["data"], row["method"], row["strength"], row["variant"]) == (SHAPES, "RTC-VAE", 20, ""):
            for score, what in (("disintegration", "information about each factor"), ("sap", "R² or accuracy")):
                if found := details.get("matrices", {}).get(score):
                    rows = [[v or 0.0 for v in line] for line in found["rows"]]
                    result[f"{name}: {what}"] = heat(rows, [f"z{d}" for d in range(len(rows))], found["factors"])
    return result


COLUMNS = (
    *columns(TC, SAMPLES),
    Column("gaussian_tc.active_mean", "TC of active means", digits=2),
    Column("total_correlation", "TC of means, not only linear"),
    Column("disintegration", "latents a factor", digits=2),
    *columns("sap", "mig", ERROR),
)
register(Study(
    name="rtc-vae",
    about="TC of means and samples of FactorVAE, RTC-VAE and DIP-VAE by strength, and factors that several latents "
    "share.",
    paper="Cheng et al. 2020, Figs. 3-11, 14-16",
    grid=view(lambda labels: labels["method"] in METHODS and labels["encoder"] == "conv"
              and (not labels["variant"] or str(labels["variant"]).startswith("eta")), pairs),
    columns=COLUMNS,
    figures=lambda frame: {**trade_off(frame), **figures(frame)},
    claims=tuple(claims()),
))  # fmt: skip

ETAS = (10, 30, 100)


def nets_grid(scale: Scale) -> Grid:
    """Table 2's networks, longer and in larger batches than the pool: eta at strength 10, and Figs. 14 to 16."""
    nets: dict[str, Any] = {"encoder": "rtc", "decoder": "rtc_decoder"}
    settings = [
        factor_vae(10, **nets), *(rtc_vae(10, eta, **nets) for eta in ETAS),
        factor_vae(50, **nets), dip_vae("I", 20, **nets), rtc_vae(20, **nets),
    ]  # fmt: skip
    sizes: dict[Scale, dict[str, Any]] = {
        "smoke": {}, "laptop": {"steps": 20_000, "batch_size": 128}, "paper": {"batch_size": 500},
    }  # fmt: skip
    part = stage(SHAPES, scale, settings, 5, **sizes[scale])
    cases = [Case({name: c.labels[name] for name in ("method", "strength", "variant")}, c.task) for c in part.cases]
    note = "Table 2's networks, D = 10, discriminators of 256 units, otherwise as the pool"
    return Grid(tuple(cases), part.seeds, note * (scale == "laptop"))


def nets_claims() -> list[Claim]:
    """Those of Figs. 3 and 7 again."""

    def row(method: str, strength: int, eta: int | None = None) -> dict[str, Label]:
        return {"method": method, "strength": strength, "variant": f"eta = {eta}" if eta else ""}

    factor = row("FactorVAE", 10)
    by_eta = {eta: row("RTC-VAE", 10, eta) for eta in ETAS}
    return [
        RTC("T4.nets", "Fig. 3", "Table 2's networks, Shapes3D, strength 10: RTC-VAE's gap between TC of means and of "
            "samples is below FactorVAE's.",
            each({f"eta {eta}": lower(of_each(gap), own, factor) for eta, own in by_eta.items()})),
        RTC("T4.nets.active", "Fig. 3", "The same of the dimensions with a signal-to-noise ratio above 4.",
            each({f"eta {eta}": lower(of_each(active_gap), own, factor) for eta, own in by_eta.items()}), True),
        RTC("T7.nets", "Section 6.3", "Table 2's networks: at beta 20 some factor is carried by two or more "
            "independent latents (their number above 0.5 in the mean, ours).",
            inside(of_each(disintegrated), row("RTC-VAE", 20), low=0.5)),
    ]  # fmt: skip


register(Study(
    name="rtc-nets",
    about="FactorVAE, RTC-VAE and DIP-VAE-I with RTC-VAE's own networks on Shapes3D; eta 10, 30 and 100.",
    paper="Cheng et al. 2020, Table 2, Figs. 3, 7, 14-16",
    grid=nets_grid,
    columns=COLUMNS,
    claims=tuple(nets_claims()),
))  # fmt: skip
