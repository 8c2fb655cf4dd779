"""Tables, claims and figures of the published records come out as the first release wrote them, to the letter."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from hatchel.study.store import published
from hatchel.study.study import PUBLISHED, Study

WANTED: dict[str, Any] = json.loads(gzip.decompress((Path(__file__).parent / "published_tables.json.gz").read_bytes()))


COUNTED_ANEW = {"recurd-cost"}
"""Other networks and columns than the first release's: its record is of those."""


@pytest.mark.parametrize("name", sorted(WANTED.keys() - COUNTED_ANEW))
def test_the_same_texts_from_the_same_records(name: str) -> None:
    study, wanted = Study.load(name), WANTED[name]
    _, frame = published(PUBLISHED / name)
    assert [[t.title, t.markdown()] for t in study.tables(frame)] == wanted["tables"]
    if "claims" in wanted:
        assert [[c.holds, c.text, c.evidence] for c in study.claims(frame)] == wanted["claims"]


@pytest.mark.parametrize("name", ["devae-diffusion", "recurd-depth", "disintegration", "downstream-mnist"])
def test_the_same_figures(name: str) -> None:
    _, frame = published(PUBLISHED / name)
    assert list(Study.load(name).figures(frame)) == WANTED[name]["figures"]
