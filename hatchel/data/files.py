"""The real files: where they are looked for, how they are verified, and what to say when they are not there."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

from hatchel.core.errors import HatchelError
from hatchel.data.cache import cache_folder


@dataclass(frozen=True)
class RemoteFile:
    """A file of a data set that Hatchel does not ship."""

    name: str
    mirrors: tuple[str, ...] = ()
    """Addresses to try in turn."""
    page: str = ""
    """Where a person finds it when no address works."""
    md5: str = ""
    """Of the uncompressed bytes; empty where it is not known for certain (then shapes are checked)."""

    @property
    def names(self) -> tuple[str, ...]:
        """The file as it is offered, or unpacked."""
        return (self.name, self.name.removesuffix(".gz")) if self.name.endswith(".gz") else (self.name,)


def data_folder(kind: str) -> Path:
    """Where the files of a data set are kept: the folder of its kind in HATCHEL_DATA, else in the cache's `files`."""
    named = os.environ.get("HATCHEL_DATA")
    return (Path(named).expanduser() if named else cache_folder() / "files") / kind


def located(kind: str, path: str, file: RemoteFile) -> Path:
    """The file in the folder `path` (or `path` itself), or in the data folder; an error that says what to put where."""
    given = Path(path).expanduser() if path else data_folder(kind)
    if given.is_file():
        return given
    for name in file.names:
        if (given / name).is_file():
            return given / name
    raise HatchelError(f"{kind} needs the file {file.name}, and it is not in {given}. {by_hand(kind, file, given)}")


def by_hand(kind: str, file: RemoteFile, folder: Path) -> str:
    """What a person can do about a missing file."""
    address = file.page or (file.mirrors[0] if file.mirrors else "its authors' page")
    fetch = f"Fetch it with `hatchel data get {kind}`, or download" if file.mirrors else "Download"
    return f"{fetch} it from {address} and put it into {folder}"


def contents(path: Path, md5: str = "") -> bytes:
    """The bytes of a file, unpacked if it is gzipped, and verified where the checksum is known."""
    try:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        if packed:
            with gzip.open(path) as file:
                raw = file.read()
        else:
            raw = path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise HatchelError(f"{path} cannot be read ({error}); it may be truncated: fetch it again") from error
    if md5 and hashlib.md5(raw, usedforsecurity=False).hexdigest() != md5:
        raise HatchelError(f"{path} is not the original file: its checksum differs from {md5}; fetch it again")
    return raw
