"""Answers of the index as files that pandas reads."""

from __future__ import annotations

from pathlib import Path

from hatchel.core.errors import HatchelError
from hatchel.study.index import Answer


def write_parquet(answer: Answer, path: Path) -> None:
    """A Parquet file; a column of several types becomes text."""
    try:
        import pandas as pd
        import pyarrow  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError as error:
        raise HatchelError(f'writing Parquet needs {error.name}: pip install "hatchel[data]"') from None
    frame = pd.DataFrame(answer.rows, columns=list(answer.columns))
    for name in frame.columns:
        kinds = {type(v) for v in frame[name] if v is not None} - {int, float}
        if kinds and len({type(v) for v in frame[name] if v is not None}) > 1:
            frame[name] = [None if v is None else str(v) for v in frame[name]]
    draft = path.with_name(f".{path.name}")
    frame.to_parquet(draft, index=False)
    draft.replace(path)
