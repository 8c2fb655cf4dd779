"""The real files of a data set: where they are kept, how they are verified and fetched, and what to do by hand."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

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


def data_folder(kind: str) -> Path:
    """Where the files of a data set are kept: the folder of its kind in HATCHEL_DATA, else in the cache's `files`."""
    named = os.environ.get("HATCHEL_DATA")
    return (Path(named).expanduser() if named else cache_folder() / "files") / kind


def find_file(kind: str, path: str, file: RemoteFile) -> Path:
    """The file in the folder `path` (or `path` itself), or in the data folder; an error that says what to put where."""
    given = Path(path).expanduser() if path else data_folder(kind)
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
    """By pooch, which writes to whatever has `write` and `flush`: here to a file that may already have a beginning."""
    import pooch
    import requests

    have = partial.stat().st_size if partial.is_file() else 0
    headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={have}-"} if have else {})}
    with partial.open("ab") as file, ExitStack() as stack:
        target = _Resumed(file, label, stack)
        get = pooch.HTTPDownloader(
            chunk_size=BLOCK, timeout=TIMEOUT, headers=headers, hooks={"response": target.answered}
        )
        try:
            get(address, target, None)
        except requests.RequestException as error:
            if have and getattr(error.response, "status_code", 0) == 416:
                return  # nothing is left to send: all of it is here
            broke = isinstance(error, requests.exceptions.ChunkedEncodingError)
            raise OSError(target.broken() if broke else _first_cause(error)) from error
        if target.total is not None and target.size < target.total:
            raise OSError(target.broken())


class _Resumed:
    """A file opened for appending that a download continues, or replaces where the server cannot continue it."""

    def __init__(self, file: IO[bytes], label: str, stack: ExitStack) -> None:
        self.file = file
        self.label = label
        self.stack = stack
        self.size = 0
        self.total: int | None = None
        self.advance: Callable[[float], None] = lambda amount: None

    def answered(self, response: Any, **_: Any) -> None:
        """Called by requests before it reads the body of an answer, redirections included."""
        if response.status_code == 200:
            self.file.truncate(0)  # all of it comes, asked for or not
        elif response.status_code != 206:
            return
        self.size = os.fstat(self.file.fileno()).st_size
        length = response.headers.get("Content-Length")
        self.total = self.size + int(length) if length else None
        self.advance = self.stack.enter_context(progress(self.label, self.total, self.size))

    def write(self, block: bytes) -> None:
        self.file.write(block)
        self.size += len(block)
        self.advance(len(block))

    def flush(self) -> None:
        self.file.flush()

    def broken(self) -> str:
        of = "" if self.total is None else f" of {self.total}"
        return f"the connection broke after {self.size}{of} bytes; run it again to resume"


def _first_cause(error: BaseException) -> str:
    """The innermost error: requests wraps "Connection refused" into three lines about pools and retries."""
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    return str(error) or type(error).__name__
