"""Total correlation where it is known: by a discriminator (DeVAE, Table 1) and by minibatch estimators (RTC-VAE)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from hatchel.core.spec import from_dict
from hatchel.objective.estimators.discriminator import DensityRatio
from hatchel.objective.estimators.estimator import Density
from hatchel.objective.estimators.minibatch import MSS
from hatchel.studies.common import DEVAE, RTC
from hatchel.studies.tc_benchmark import TCBenchmark, correlation_of
from hatchel.study.claims import Claim, each, higher, inside, lower, of_each
from hatchel.study.frame import Frame, estimate, groups, values, wide, with_value
from hatchel.study.grid import Grid, Scale
from hatchel.study.study import Study, register
from hatchel.study.table import Column, Table, table
from hatchel.study.task import Case, Label

PUBLISHED: Mapping[tuple[Any, ...], float] = {
    # D, rho: estimated
    (10, 0.3): 0.23, (10, 0.6): 1.08, (10, 0.9): 4.14, (100, 0.3): 2.17, (100, 0.6): 10.27, (100, 0.9): 23.39,
    (1000, 0.3): 8.62, (1000, 0.6): 17.40, (1000, 0.9): 22.47,
}  # fmt: skip
TRUTH: Mapping[tuple[Any, ...], float] = {
    (10, 0.3): 0.24, (10, 0.6): 1.12, (10, 0.9): 4.15, (100, 0.3): 2.36, (100, 0.6): 11.16, (100, 0.9): 41.52,
    (1000, 0.3): 23.58, (1000, 0.6): 111.57, (1000, 0.9): 415.18,
}  # fmt: skip


def dimension_grid(scale: Scale) -> Grid:
    """Every dimension and correlation; codes in correlated pairs."""
    smoke = scale == "smoke"
    by, steps = (DensityRatio(16, 2), 5) if smoke else (DensityRatio(layers=7, slope=0.01), 2000)
    size, betas = (64 if smoke else 256), (0.9, 0.999)
    cases = [
        Case({"D": dim, "rho": rho}, TCBenchmark(0, by, dim, rho, sigma=0.0, batch=size, steps=steps, betas=betas))
        for dim, rho in PUBLISHED
        if not smoke or dim < 1000
    ]
    net = "a small discriminator" if smoke else "seven linear layers with slope 0.01, which the paper does not print"
    note = f"{steps:,} updates with batches of {size}, Adam 1e-4 {betas}; {net}"
    return Grid(tuple(cases), {"smoke": 1, "laptop": 5, "paper": 10}[scale], note)


def error(rows: Frame) -> float | None:
    """Estimate less truth, nats."""
    found, truth = (values(rows, name) for name in ("tc", "truth"))
    return found[0] - truth[0] if found and truth else None


def size_of_error(rows: Frame) -> float | None:
    """Of either sign."""
    found = error(rows)
    return None if found is None else abs(found)


def share(rows: Frame) -> float | None:
    """The estimate to the truth."""
    found, truth = (values(rows, name) for name in ("tc", "truth"))
    return found[0] / truth[0] if found and truth else None


def dimension_claims() -> list[Claim]:
    """Section 4.1: right in 10 dimensions, far too low in 1000."""
    wide, rhos, size = (10, 100, 1000), (0.3, 0.6, 0.9), of_each(size_of_error)

    def at(dim: int, rho: float) -> dict[str, float]:
        return {"D": dim, "rho": rho}

    with_d = {f"rho {r}, {b} to {a}": higher(size, at(a, r), at(b, r)) for r in rhos for b, a in pairwise(wide)}
    with_rho = {f"D {d}, {b} to {a}": higher(size, at(d, a), at(d, b)) for d in wide[1:] for b, a in pairwise(rhos)}
    half = {f"rho {r}": inside(of_each(share), at(1000, r), high=0.5) for r in rhos}
    near_ten = {f"rho {r}": inside(of_each(share), at(10, r), 0.85, 1.15) for r in rhos}
    return [
        DEVAE("D1.dimension", "Table 1", "The error of the discriminator's TC grows with the dimension.", each(with_d)),
        DEVAE("D1.rho", "Table 1", "It grows with the correlation, from 100 dimensions on.", each(with_rho)),
        DEVAE("D1.ten", "Table 1", "In 10 dimensions the estimate is within 15 % of the truth.", each(near_ten), True),
        DEVAE("D1.thousand", "Table 1", "In 1000 dimensions it is less than half of the truth.", each(half), True),
    ]


register(Study(
    name="tc-dimension",
    about="TC by FactorVAE's discriminator after 2,000 updates against -D/4 log(1 - rho^2), for D = 10, 100, 1000.",
    paper="Wu et al. 2023, Table 1",
    grid=dimension_grid,
    title="Total correlation in nats",
    columns=(Column("tc", "estimated TC", PUBLISHED, 2), Column("truth", "true TC", TRUTH, 2)),
    figures=lambda frame: {},
    claims=tuple(dimension_claims()),
))  # fmt: skip

ESTIMATORS: Mapping[str, Any] = {
    **{name: name for name in ("mws", "mss0", "mss", "stratified", "gaussian")},
    "mws, no constants": {"kind": "mws", "constants": False},
}
DETERMINANTS = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)


def estimators_grid(scale: Scale) -> Grid:
    """Every estimator, determinant and dimension."""
    size: dict[str, Any] = {"batch": 64, "repeats": 2} if scale == "smoke" else {}
    cases = [
        Case(
            {"D": dim, "estimator": name, "det": det},
            TCBenchmark(0, from_dict(Density, by), dim, correlation_of(det, dim), dim, sigma=0.1, **size),
        )
        for dim in ((2, 10) if scale == "smoke" else (2, 4, 10, 20))
        for name, by in ESTIMATORS.items()
        for det in DETERMINANTS
    ]
    drawn = "2 batches of 64" if scale == "smoke" else "10 batches of 256 out of N = 50,000, which no paper prints"
    return Grid(tuple(cases), {"smoke": 1, "laptop": 5, "paper": 10}[scale], f"{drawn}; sigma = 0.1")


def estimators_tables(frame: Frame) -> list[Table]:
    """The error of each estimator where the truth is almost 0 and where it is large."""
    columns = (Column("tc", "estimated TC"), Column("truth", "true TC"))
    some = frame[frame["det"].isin([0.1, 1.0])]
    return [table("Total correlation in nats", some, ("D", "estimator", "det"), columns)]


def estimators_figures(frame: Frame) -> dict[str, Any]:
    """One panel a dimension, as in the paper."""
    from hatchel.report.style import INK, SMALL
    from hatchel.study.figures import COLOURS, grid_of

    def panel(axes: Any, group: Frame) -> None:
        runs = wide(group, ("tc", "truth"))
        truth = sorted({(float(det), value) for det, value in zip(runs["det"], runs["truth"], strict=True)})
        axes.plot([t[0] for t in truth], [t[1] for t in truth], color=INK, linewidth=3, alpha=0.3, label="truth")
        for colour, ((name,), own) in zip(COLOURS, groups(group, "estimator").items(), strict=False):
            points = sorted((float(k), e.value) for (k,), g in groups(own, "det").items() if (e := estimate(g, "tc")))
            axes.plot([p[0] for p in points], [p[1] for p in points], "o-", markersize=3, color=colour, label=name)
        far, near = (runs[(runs["estimator"] == "mws") == which] for which in (True, False))
        if len(near) and len(far) and far["tc"].max() > (top := near[["tc", "truth"]].max().max()):
            # MWS is off by (D - 1) log N: with it in the picture nothing else could be told apart.
            bottom = near[["tc", "truth"]].min().min()
            margin = 0.08 * (top - bottom or 1.0)
            axes.set_ylim(bottom - margin, top + margin)
            axes.text(1, 1, f"mws: {far['tc'].min():.0f} to {far['tc'].max():.0f}, above", transform=axes.transAxes,
                      ha="right", va="bottom", color=INK, fontsize=SMALL)  # fmt: skip
        axes.set(xlabel="determinant of the correlation", ylabel="TC, nats")

    panels = {f"D = {dim}": group for (dim,), group in groups(frame, "D").items()}
    return {"TC by estimator": grid_of(panels, panel, across=2, height=2.3, legend=3)}


def estimators_claims() -> list[Claim]:
    """Section 5 of the paper: observations 1 to 4; N and M are ours, for the paper prints neither."""
    signed, size = of_each(error), of_each(size_of_error)

    def at(dim: int, name: str, det: float) -> dict[str, Label]:
        return {"D": dim, "estimator": name, "det": det}

    both, low = ("mss0", "mss"), [d for d in DETERMINANTS if d < 1]
    return [
        *(RTC(claim, "Fig. 2", f"MWS underestimates TC ({how}).",
              each({f"D {d}, det {t:g}": inside(signed, at(d, name, t), high=0.0) for d in (2, 20)
                    for t in (0.1, 1.0)}))
          for claim, name, how in (
              ("T2.mws", "mws", "as defined each of its log-densities is low by log N, which adds (D - 1) log N to TC"),
              ("T2.mws-constants", "mws, no constants", "without the constant log N M, as some code has it"),
          )),
        RTC("T2.two", "Fig. 2", "In 2 dimensions MSS_0 and MSS_1 are accurate (within 0.25 nats, ours).",
            each({f"{n}, det {t:g}": inside(signed, at(2, n, t), -0.25, 0.25) for n in both for t in (0.1, 1.0)})),
        RTC("T2.twenty", "Fig. 2", "In 20 dimensions both overestimate where TC is 0.",
            each({n: inside(signed, at(20, n, 1.0), low=0.0) for n in both})),
        RTC("T2.dimension", "Fig. 2", "The error of MSS_1 where TC is 0 grows with the dimension.",
            each({f"{b} to {a}": higher(size, at(a, "mss", 1.0), at(b, "mss", 1.0)) for b, a in pairwise((2, 4, 10,
            20))})),
        RTC("T2.low", "Fig. 2", "In 20 dimensions it is worst where TC is 0.",
            higher(size, at(20, "mss", 1.0), *(at(20, "mss", t) for t in low))),
        RTC("T2.closer", "Fig. 2", "In 20 dimensions MSS_1 is closer to the truth than MSS_0.",
            each({f"det {t:g}": lower(size, at(20, "mss", t), at(20, "mss0", t)) for t in DETERMINANTS})),
    ]  # fmt: skip


register(Study(
    name="tc-estimators",
    about="MWS, MSS_0, MSS_1, stratified and Gaussian estimates of TC(z) over det(corr) from 0 to 1, for several D.",
    paper="Cheng et al. 2020, Fig. 2",
    grid=estimators_grid,
    tables=estimators_tables,
    figures=estimators_figures,
    claims=tuple(estimators_claims()),
))  # fmt: skip

D = 20
SIGMAS = (0.1, 0.01, 0.001)
"""The paper's is the first. The appendix assumes that posteriors do not overlap: so it is in D dimensions, but in a
single one of them only where M sigma is well below 1, which it is at 0.001 alone. At 0.1 single ones do overlap."""
DEAD = (0, 2, 4, 8, 12, 16)
BATCHES = (64, 256, 1024)


def shutdown_grid(scale: Scale) -> Grid:
    """Every number of dead coordinates and size of batch."""
    smoke = scale == "smoke"
    sizes, repeats = BATCHES[: 1 if smoke else 3], 1 if smoke else 10
    cases = [
        Case(
            {"sigma": sigma, "M": size, "S": dead},
            TCBenchmark(0, MSS(), D, sigma=sigma, dead=dead, floor=sigma**2 / 100, batch=size, n_data=size,
                        repeats=repeats),
        )
        for sigma in SIGMAS
        for size in sizes
        for dead in DEAD
    ]  # fmt: skip
    note = f"D = {D}, batches of {', '.join(map(str, sizes))} out of N = M, {repeats} of each"
    return Grid(tuple(cases), {"smoke": 1, "laptop": 5, "paper": 10}[scale], note)


FORMULAS: Mapping[str, str] = {
    "formula": "(D - S - 1) log M",
    "overlapping": "(D - S)/2 log(1 + 1/sigma²) - log M",
}
"""The appendix's own number, and what follows where single coordinates overlap: sum_d I(z_d;x) - log M (ours)."""


def overlapping(sigma: float, dead: int, size: int) -> float:
    """What MSS reads of D independent coordinates, each right by itself, whose joint density sees one posterior alone.

    >>> round(overlapping(0.1, 0, 256), 2)
    40.61
    """
    return (D - dead) / 2 * math.log(1 + 1 / sigma**2) - math.log(size)


def with_formula(frame: Frame) -> Frame:
    """With the appendix's own number and the other."""
    result = with_value(frame, "formula", lambda row: (D - int(row["S"]) - 1) * math.log(int(row["M"])))
    return with_value(result, "overlapping", lambda row: overlapping(float(row["sigma"]), int(row["S"]), int(row["M"])))


def fitting(sigma: Any) -> str:
    """Which formula is meant at this sigma."""
    return "overlapping" if sigma == SIGMAS[0] else "formula"


def shutdown_tables(frame: Frame) -> list[Table]:
    """The estimate, the appendix's formula and at the paper's sigma the other, the truth."""

    def columns(sigma: Any) -> tuple[Column, ...]:
        meant = dict.fromkeys(("formula", fitting(sigma)))
        formulas = (Column(name, FORMULAS[name], digits=2) for name in meant)
        return Column("tc", "estimated TC", digits=2), *formulas, Column("truth", "true TC", digits=4)

    return [
        table(f"Total correlation in nats, sigma = {sigma:g}", group, ("M", "S"), columns(sigma))
        for (sigma,), group in groups(with_formula(frame), "sigma").items()
    ]


def shutdown_figures(frame: Frame) -> dict[str, Any]:
    """The estimate over S, the formula dashed."""
    from hatchel.study.figures import lines

    def drawn(sigma: Any, group: Frame) -> Any:
        both = {"tc": "estimated", fitting(sigma): "formula"}  # its name is as wide as the axes
        return lines(group, "S", both, "M", ("dead dimensions S", "TC, nats"))

    return {
        f"TC by dead dimensions, sigma = {sigma:g}": drawn(sigma, group)
        for (sigma,), group in groups(with_formula(frame), "sigma").items()
    }


def shares_of_formula(rows: Frame) -> float | None:
    """The estimate to the formula that is meant at its sigma, in the mean over S up to half of D."""
    name = fitting(rows["sigma"].iloc[0])
    runs = wide(with_formula(rows[rows["S"] <= D // 2]), ("tc", name))
    return float((runs["tc"] / runs[name]).mean()) if len(runs) else None


def shutdown_claims() -> list[Claim]:
    """Eq. 11 and what follows it."""
    return [
        RTC(f"T3.sigma{sigma:g}.m{size}", "App. 1.3", f"sigma = {sigma:g}, M = {size}: with up to half of the "
            f"coordinates dead the estimate is {FORMULAS[fitting(sigma)]} within 15 % (ours); the truth is 0.",
            inside(of_each(shares_of_formula), {"sigma": sigma, "M": size}, 0.85, 1.15), fitting(sigma) != "formula")
        for sigma in SIGMAS
        for size in BATCHES
    ]  # fmt: skip


register(Study(
    name="dimension-shutdown",
    about="MSS of independent codes with S dead coordinates: the estimate falls as (D - S - 1) log M, the truth is 0.",
    paper="Cheng et al. 2020, App. 1.3",
    grid=shutdown_grid,
    tables=shutdown_tables,
    figures=shutdown_figures,
    claims=tuple(shutdown_claims()),
))  # fmt: skip
