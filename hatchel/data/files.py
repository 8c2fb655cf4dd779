"""The real files of a data set: where they are kept, how they are verified and fetched, and what to do by hand."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

from hatchel.core.errors import HatchelError
from hatchel.core.progress import progress
from hatchel.data.cache import cache_folder

BLOCK = 1 << 18  # bytes downloaded at a time
TIMEOUT = 30.0


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


def data_folder(kind: str, path: str = "") -> Path:
    """Where the files of a data set are kept: `path`, or the folder of its kind in HATCHEL_DATA, else in the cache."""
    if path:
        return Path(path).expanduser()
    named = os.environ.get("HATCHEL_DATA")
    return (Path(named).expanduser() if named else cache_folder() / "files") / kind


def find_file(kind: str, path: str, file: RemoteFile) -> Path:
    """The file in the folder `path` (or `path` itself), or in the data folder; an error that says what to put where."""
    given = data_folder(kind, path)
    if given.is_file():
        return given
    for name in file.names:
        if (given / name).is_file():
            return given / name
    raise HatchelError(f"{kind} needs the file {file.name}, and it is not in {given}. {how_to_get(kind, file, given)}")


def how_to_get(kind: str, file: RemoteFile, folder: Path) -> str:
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


def fetch(kind: str, file: RemoteFile, folder: Path) -> Path:
    """The file in the folder, downloaded unless it is already there and right: mirrors in turn, resumed, verified."""
    for name in file.names:
        if (folder / name).is_file():
            if file.md5:
                contents(folder / name, file.md5)
            return folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HatchelError(
            f"cannot write to {folder}: {error.strerror}. Name another folder in HATCHEL_DATA"
        ) from error
    failures: list[str] = []
    partial = folder / f"{file.name}.part"
    for mirror in file.mirrors:
        try:
            _download(mirror, partial, file.name)
            if file.md5:
                contents(partial, file.md5)
        except HatchelError as error:
            partial.unlink(missing_ok=True)  # whole but wrong: the next mirror starts afresh
            failures.append(f"{mirror}: {error}")
        except OSError as error:
            failures.append(f"{mirror}: {error}")
        else:
            return partial.replace(folder / file.name)
    if partial.is_file() and partial.stat().st_size == 0:
        partial.unlink()
    tried = f"no mirror gave it ({'; '.join(failures)})" if failures else "it has no address for programs"
    page = file.page or next(iter(file.mirrors), "")
    raise HatchelError(f"{file.name}: {tried}. {how_to_get(kind, RemoteFile(file.name, page=page), folder)}")


def _download(address: str, partial: Path, label: str) -> None:
    """Into a file that may already have a beginning, which is continued where the server can."""
    import requests

    size, total = partial.stat().st_size if partial.is_file() else 0, None
    headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={size}-"} if size else {})}
    try:
        with requests.get(address, headers=headers, stream=True, timeout=TIMEOUT) as answer:
            if size and answer.status_code == 416:
                return  # nothing is left to send: all of it is here
            answer.raise_for_status()
            size = size if answer.status_code == 206 else 0  # else all of it comes, asked for or not
            length = answer.headers.get("Content-Length")
            total = size + int(length) if length else None
            with partial.open("ab" if size else "wb") as file, progress(label, total, size) as advance:
                for block in answer.iter_content(BLOCK):
                    size += file.write(block)
                    advance(len(block))
        broke = total is not None and size < total
    except requests.exceptions.ChunkedEncodingError:
        broke = True
    except requests.RequestException as error:
        raise OSError(_first_cause(error)) from error
    if broke:
        of = "" if total is None else f" of {total}"
        raise OSError(f"the connection broke after {size}{of} bytes; run it again to resume")


def _first_cause(error: BaseException) -> str:
    """The innermost error: requests wraps "Connection refused" into three lines about pools and retries."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    return str(error) or type(error).__name__
