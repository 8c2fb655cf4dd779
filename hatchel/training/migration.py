"""Migration: what a run folder of an earlier version left unsaid, so that it loads as what it was."""

from __future__ import annotations

from typing import Any


def migrated(spec: dict[str, Any]) -> dict[str, Any]:
    """A stored spec in the fields of this version.

    0.1 had RecurD's encoder in the literal reading alone, its decoder with a linear layer to the 4x4 map, and pairs of
    features as they are, named m2, m3, ... for what encoders read, of which those inside a layer counted twice. The
    encoders of HFVAE had one last layer for means and log-variances.
    """
    spec = dict(spec)
    for name, kind, said in (
        ("encoder", "recursive", {"reading": "literal"}),
        ("decoder", "recurd0_decoder", {"first": "linear"}),
        *(("encoder", f"hfvae_{data}", {"branches": 1}) for data in ("mnist", "dsprites", "celeba")),
    ):
        if (spec.get(name) or {}).get("kind") == kind:
            spec[name] = {**said, **spec[name]}
    spec["objective"] = {name: _pairs(entry) for name, entry in spec.get("objective", {}).items()}
    return spec


def _pairs(entry: Any) -> Any:
    term, weight = (entry.get(name) or {} for name in ("term", "weight"))
    if term.get("kind") != "pairwise_information" or "standardised" in term:
        return entry
    modules = [name.replace("m", "routed", 1) for name in term.get("modules", ())]
    twice = term.get("over", "within") == "within" and weight.get("kind") == "constant"
    return {
        **entry,
        "term": {**term, "modules": modules, "standardised": False},
        "weight": {**weight, "value": 2 * weight["value"]} if twice else weight,
    }
