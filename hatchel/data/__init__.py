"""Data sets: built-in ones that need no download, the real files, and your own images, arrays and tables.

A `Source` (source.py; one file per data set) is the configuration and loads a `Dataset` (dataset.py): an array, in
memory, memory-mapped from the cache (cache.py) or made on demand, how its items are decoded (decode.py), and the
`FactorSpace` (factors.py) of what causes their variation. files.py finds and downloads, formats.py reads.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hatchel.data.dataset import Dataset

__all__ = ["load"]


def load(name: str | Path, **options: Any) -> Dataset:
    """The data set of that name, or the folder, array or table at that path; options are the fields of its Source."""
    from hatchel.data.source import load

    return load(name, **options)
