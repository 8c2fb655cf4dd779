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

__all__ = ["from_array", "from_frame", "load"]


def from_array(values: Any, factors: Any = None, **options: Any) -> Dataset:
    """An array of images or rows with its factors; options: `names` of the factors, `channels="first"` or "last"."""
    from hatchel.data.array import from_array

    return from_array(values, factors, **options)


def from_frame(frame: Any, **options: Any) -> Dataset:
    """A DataFrame; options: factors, leave_out, categorical, missing."""
    from hatchel.data.table import from_frame

    return from_frame(frame, **options)


def load(name: str | Path, **options: Any) -> Dataset:
    """The data set of that name, or the folder, array or table at that path; options are the fields of its Source."""
    from hatchel.data.source import load

    return load(name, **options)
