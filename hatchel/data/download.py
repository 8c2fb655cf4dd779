"""Fetching a file: mirrors in turn, resumed where it broke off, verified before it gets its name."""

from __future__ import annotations

import urllib.error
import urllib.request
from pathlib import Path

from hatchel.core.errors import HatchelError
from hatchel.core.progress import progress
from hatchel.data.files import RemoteFile, by_hand, contents

BLOCK = 1 << 18
TIMEOUT = 30.0


def fetch(kind: str, file: RemoteFile, folder: Path) -> Path:
    """The file in the folder, downloaded unless it is already there and right."""
    for name in file.names:
        if (folder / name).is_file():
            if file.md5:
                contents(folder / name, file.md5)
            return folder / name
    failures: list[str] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HatchelError(
            f"cannot write to {folder}: {error.strerror}. Name another folder in HATCHEL_DATA"
        ) from error
    partial = folder / f"{file.name}.part"
    for mirror in file.mirrors:
        try:
            _download(mirror, partial, file.name)
            if file.md5:
                contents(partial, file.md5)
        except HatchelError as error:
            partial.unlink(missing_ok=True)  # whole but wrong: the next mirror starts afresh
            failures.append(f"{mirror}: {error}")
        except (OSError, ValueError) as error:
            failures.append(f"{mirror}: {getattr(error, 'reason', error)}")
        else:
            return partial.replace(folder / file.name)
    tried = f"no mirror gave it ({'; '.join(failures)})" if failures else "it has no address for programs"
    page = file.page or next(iter(file.mirrors), "")
    raise HatchelError(f"{file.name}: {tried}. {by_hand(kind, RemoteFile(file.name, page=page), folder)}")


def _download(address: str, partial: Path, label: str) -> None:
    have = partial.stat().st_size if partial.is_file() else 0
    request = urllib.request.Request(address, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        response = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code == 416 and have:  # nothing is left to send: all of it is here
            error.close()
            return
        raise
    with response:
        resumed = response.status == 206
        length = response.headers.get("Content-Length")
        left = int(length) if length else None
        done = have if resumed else 0
        with (
            partial.open("ab" if resumed else "wb") as file,
            progress(label, None if left is None else done + left, done) as advance,
        ):
            received = 0
            while block := response.read(BLOCK):
                file.write(block)
                received += len(block)
                advance(len(block))
    if left is not None and received < left:
        raise OSError(f"the connection broke after {done + received} of {done + left} bytes; run it again to resume")
