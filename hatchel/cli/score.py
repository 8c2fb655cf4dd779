"""`hatchel score`: all metrics on codes and factors from files; no model, no factor grid needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hatchel.core.errors import HatchelError, unknown

if TYPE_CHECKING:
    from hatchel.metrics.probe import Probe
    from hatchel.metrics.score import Scores


def score(
    codes: Annotated[
        Path, typer.Argument(metavar="CODES", help="Codes, one row per example: npy, npz, h5, csv, tsv or parquet.")
    ],
    factors: Annotated[
        Path | None,
        typer.Argument(
            metavar="FACTORS", help="Factors of the same rows. A file with both 'codes' and 'factors' needs no second."
        ),
    ] = None,
    metrics: Annotated[str, typer.Option(help="Comma-separated names, or all.")] = "all",
    std: Annotated[Path | None, typer.Option(help="Standard deviations of q(z|x), shaped as the codes.")] = None,
    samples: Annotated[Path | None, typer.Option(help="Samples of q(z|x), shaped as the codes.")] = None,
    names: Annotated[str | None, typer.Option(help="Comma-separated names of the factors.")] = None,
    continuous: Annotated[
        str | None, typer.Option(help="Comma-separated names of the continuous factors; or all, or none.")
    ] = None,
    bootstrap: Annotated[int, typer.Option(min=0, help="Replicates, at most, for a 95 % interval; 0: none.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
    plot: Annotated[
        Path | None, typer.Option(help="Write heat maps of information and importance here (png, pdf, svg).")
    ] = None,
) -> None:
    """Measure how well codes stand for factors, on any data: arrays or tables, without a model."""
    from hatchel.metrics.functions import measure

    probe = _probe(codes, factors, std, samples, names, continuous, seed)
    scores = measure(probe, metrics, seed, bootstrap)
    if json:
        print(scores.to_json(indent=2))
    else:
        _print(scores, probe)
    if plot is not None:
        if probe.values is None:
            raise HatchelError("--plot: the heat maps show dimensions against factors; give a file of factors")
        from hatchel.metrics.heat_map import factor_matrices, write_heat_maps

        write_heat_maps(plot, factor_matrices(probe, scores), probe.names)
        if not json:
            print(f"heat maps: {plot}")


def _probe(
    codes: Path,
    factors: Path | None,
    std: Path | None,
    samples: Path | None,
    names: str | None,
    continuous: str | None,
    seed: int,
) -> Probe:
    from hatchel.metrics.inputs import Columns, read_columns, stored_roles
    from hatchel.metrics.probe import Probe

    inside = stored_roles(codes)

    def read(path: Path | None, role: str) -> Columns | None:
        source = path or (codes if role in inside else None)
        return read_columns(source, role) if source else None

    table, spread, drawn = read(factors, "factors"), read(std, "std"), read(samples, "samples")
    given = None if table is None else table.values
    columns = 0 if given is None else 1 if given.ndim == 1 else given.shape[-1]
    called = tuple(n.strip() for n in names.split(",")) if names else (table.names if table else None)
    known = called or tuple(f"factor_{k}" for k in range(columns))
    return Probe(
        read_columns(codes, "codes").values,
        given,
        names=called,
        continuous=_mask(continuous, known),
        std=spread and spread.values,
        samples=drawn and drawn.values,
        seed=seed,
    )


def _mask(continuous: str | None, names: tuple[str, ...]) -> list[bool] | bool | None:
    if continuous is None or continuous in ("all", "none"):
        return None if continuous is None else continuous == "all"
    wanted = [n.strip() for n in continuous.split(",")]
    for name in wanted:
        if name not in names:
            raise unknown("factor", name, names, where="--continuous")
    return [name in wanted for name in names]


def _print(scores: Scores, probe: Probe) -> None:
    from hatchel.cli.printing import print_table
    from hatchel.metrics.metric import Metric

    kinds = f", {len(probe.names)} factors ({', '.join(probe.names)})" if probe.names else ""
    print(f"{probe.n} rows, {probe.dims} dimensions{kinds}\n")
    rows: list[list[str]] = []
    for name, found in scores.items():
        better = "↓" if Metric.members()[name.split("(")[0]].lower_is_better else "↑"
        spread = f"{found.interval.low:.4f} – {found.interval.high:.4f}" if found.interval else ""
        rows.append([name, f"{found.value:.4f}", spread, better, _also(found.parts, probe)])
    headings = ["metric", "value", "95 % interval", "better", "also"]
    if not any(found.interval for found in scores.values()):
        for row in (headings, *rows):
            del row[2]
    print_table(headings, rows)
    print()
    for note in dict.fromkeys(probe.notes):
        print(note)
    for reason, missing in scores.reasons.items():
        print(f"not measured: {', '.join(missing)}: {reason}")


def _also(parts: Any, probe: Probe) -> str:
    """The parts that are numbers of their own, not one per factor or dimension."""
    columns = {*probe.names, *(f"z{d}" for d in range(probe.dims))}
    shown = {k: v for k, v in parts.items() if k not in columns and isinstance(v, int | float)}
    return ", ".join(f"{k} {v:.4g}" for k, v in shown.items())
