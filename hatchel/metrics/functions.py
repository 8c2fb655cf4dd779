"""Functions on arrays: one per metric, derived from its Spec, and `evaluate` for all of them at once."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import textwrap
import typing
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from typing import Any

import numpy as np

from hatchel.core.errors import HatchelError
from hatchel.core.progress import progress
from hatchel.core.spec import from_dict
from hatchel.metrics.inputs import Seed, array, whole
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.metrics.score import Score, Scores


def evaluate(
    codes: Any,
    factors: Any = None,
    which: str | Sequence[str | Metric] = "all",
    *,
    seed: int = 0,
    bootstrap: int | None = 0,
    **known: Any,
) -> Scores:
    """All metrics (or those named, or the given Specs) on one set of codes; `known`: what else Probe takes.

    Every metric starts from its own generator of the one seed, so a score does not depend on the others asked for.
    """
    return measure(Probe(codes, factors, seed=seed, **known), which, seed, bootstrap)


def measure(
    probe: Probe, which: str | Sequence[str | Metric] = "all", seed: int = 0, bootstrap: int | None = 0
) -> Scores:
    """`evaluate` on a Probe that is already there."""
    everything = which == "all"
    if everything:
        which = tuple(Metric.members())
    elif isinstance(which, str):
        which = which.split(",")
    scores: dict[str, Score] = {}
    skipped: dict[str, str] = {}
    chosen = [from_dict(Metric, w.strip() if isinstance(w, str) else w, "which") for w in which]
    seed, bootstrap = whole(seed, "seed"), None if bootstrap is None else whole(bootstrap, "bootstrap")
    with progress("measuring", len(chosen)) as advance:
        for metric in chosen:
            reason = metric.missing(probe)
            try:
                if reason:
                    skipped[metric.variant] = f"needs {reason}"
                else:
                    scores[metric.variant] = metric.score(probe, seed, bootstrap)
            except HatchelError as error:
                if not everything:
                    raise
                skipped[metric.variant] = str(error)
            advance(1)
    return Scores(scores, skipped)


ARGUMENTS: Mapping[str, str] = {
    "codes": "(n, D): one row per example, posterior means as a rule; an array, a tensor, a list or a table.",
    "factors": "(n, K): the factors of the same rows: numbers, booleans or words.",
    "samples": "(n, D): samples of q(z|x).",
    "std": "(n, D) or (D,): standard deviations of q(z|x).",
    "noise": "(D, D): the correlation matrix of the noise of q(z|x); independent by default.",
    "features": "{layer: (n, F)}: features of the encoder's layers.",
    "others": "A list of (n, D'): codes of other models for the same rows.",
    "others_std": "A list of (n, D'): standard deviations of the other models' codes.",
    "clusters": "(n,): one cluster number per row.",
    "images": "(n, ...): images in [0, 1].",
    "reconstructions": "(n, ...): their reconstructions in [0, 1].",
    "names": "The factors' names; factor_0, factor_1, ... by default.",
    "continuous": "Which factors are continuous: one truth value for each, or one for all; found out by default.",
    "ordered": "Which factors have an order: one truth value for each, or one for all; all numbers by default.",
    "train": "Rows to fit on: how many, or their numbers; 10,000, or two thirds of fewer than 15,000.",
    "test": "Rows to test on: how many, or their numbers; 5,000, or a third.",
    "bootstrap": "Replicates, at most, for a 95 % interval; 0: none; None: as many as usual.",
    "seed": "Random seed, or a numpy Generator.",
}
"""What every argument that is not an option of the metric means."""

_MASK, _ROWS = Sequence[bool] | bool | None, int | np.ndarray | None
_OPTIONAL: Mapping[str, tuple[Any, Any]] = {
    "names": (None, Sequence[str] | None), "continuous": (None, _MASK), "train": (None, _ROWS), "test": (None, _ROWS),
    "bootstrap": (0, int | None), "seed": (0, Seed),
}  # fmt: skip


@functools.cache
def metric_function(metric: type[Metric]) -> Callable[..., Score]:
    """`mig(codes, factors, *, bins=20, ...)` from the class MIG: what it needs by position, its options by keyword."""
    signature = _signature(metric)
    options = {metric.argument_names.get(f.name, f.name): f.name for f in dataclasses.fields(metric)}

    def function(*args: Any, **kwargs: Any) -> Score:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{metric.kind}() {error}") from None
        chosen = metric(**{options[name]: given.pop(name) for name in list(given) if name in options})
        seed, bootstrap = given.pop("seed", 0), given.pop("bootstrap", 0)
        if "images" in given:
            given["images"] = (given["images"], given.pop("reconstructions"))
        if not metric.reads_codes:
            first = next(iter(signature.parameters))
            given["codes"] = np.zeros(
                (*array(given["images"][0] if first == "images" else given[first], first).shape[:1], 1)
            )
        return chosen.score(Probe(**given), seed, bootstrap)

    function.__name__ = function.__qualname__ = metric.kind
    function.__module__ = "hatchel.metrics"
    function.__doc__ = _documentation(metric, signature, options)
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def _signature(metric: type[Metric]) -> inspect.Signature:
    required = ["codes"] * metric.reads_codes
    for need in metric.needs:
        required += ["images", "reconstructions"] if need == "errors" else [need]
    arrays = [n for n in dict.fromkeys((*metric.also_needs.values(), *metric.accepts)) if n not in required]
    optional = ["names", "continuous"] * ("factors" in required) + ["train", "test"] * metric.fits
    hints = typing.get_type_hints(metric)
    parameters = [Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation=Any) for name in required]

    def add(name: str, default: Any, annotation: Any) -> None:
        parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation))

    for field in dataclasses.fields(metric):
        add(metric.argument_names.get(field.name, field.name), field.default, hints[field.name])
    for name in arrays:
        add(name, None, Any)
    for name in (*optional, "bootstrap", "seed"):
        add(name, *_OPTIONAL[name])
    return inspect.Signature(parameters, return_annotation=Score)


def _documentation(metric: type[Metric], signature: inspect.Signature, options: Mapping[str, str]) -> str:
    """The class's docstring with a list of arguments before its example."""
    help_texts = {argument: metric.help().get(field, "") for argument, field in options.items()}
    lines = [
        textwrap.fill(
            f"{name}: {' '.join((help_texts.get(name) or ARGUMENTS.get(name, '')).split())}",
            width=110, initial_indent="    ", subsequent_indent="        ",
        )
        for name in signature.parameters
    ]  # fmt: skip
    text, arrow, example = (inspect.getdoc(metric) or metric.kind).partition(">>> ")
    return "\n".join([text.rstrip(), "", "Arguments:", *lines, *(["", arrow + example] if arrow else [])])
