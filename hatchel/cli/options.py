"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EngineName = Annotated[
    str, typer.Option("--engine", help="here, local, dask, dask://HOST:PORT, ray, ray://HOST:PORT or slurm.")
]
Workers = Annotated[int, typer.Option(min=0, help="Tasks at once; 0: as many as the engine allows.")]
EngineSet = Annotated[
    list[str] | None, typer.Option("--engine-set", metavar="KEY=VALUE", help="Such as partition=gpu for slurm.")
]
Folder = Annotated[Path, typer.Option("--store", help="The folder that keeps the records.")]
Plugin = Annotated[list[Path] | None, typer.Option("--plugin", help="Load a plug-in file.")]
STUDIES = Path("studies")
"""The default store."""
