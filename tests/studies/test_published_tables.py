"""Tables and figures of the records that are published still come out as the first release wrote them."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from hatchel.study.store import PUBLISHED, published
from hatchel.study.study import Study

WANTED: dict[str, Any] = json.loads(gzip.decompress((Path(__file__).parent / "published_tables.json.gz").read_bytes()))


def numbers(text: str) -> str:
    """Without the intervals: the first release's were a bootstrap's."""
    return re.sub(r" \[[^\]|]*\]", "", text)


@pytest.mark.parametrize("name", sorted(WANTED.keys() & {folder.name for folder in PUBLISHED.iterdir()}))
def test_the_same_numbers_from_the_same_records(name: str) -> None:
    study, wanted = Study.load(name), WANTED[name]
    _, frame = published(PUBLISHED / name)
    assert [[t.title, numbers(t.markdown())] for t in study.tables(frame)] == [
        [n, numbers(t)] for n, t in wanted["tables"]
    ]


@pytest.mark.parametrize("name", ["domain-generalisation", "downstream-mnist"])
def test_the_same_figures(name: str) -> None:
    _, frame = published(PUBLISHED / name)
    assert list(Study.load(name).figures(frame)) == WANTED[name]["figures"]
