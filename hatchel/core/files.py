"""Files that are either whole or not there."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import IO, Any

from hatchel.core.errors import HatchelError


@contextlib.contextmanager
def whole_folder(target: Path) -> Generator[Path]:
    """A temporary folder that becomes `target` (which must not exist) in one rename if nothing goes wrong."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield draft
        for file in draft.rglob("*"):
            if file.is_file():
                _flush(file)
        draft.chmod(0o755)  # mkdtemp makes it private
        draft.rename(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


@contextlib.contextmanager
def exclusive(path: Path) -> Generator[None]:
    """One process at a time; the operating system lets go when a process dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        _lock(file, wait=True)
        yield


@contextlib.contextmanager
def claimed(path: Path) -> Generator[bool]:
    """Whether this process alone holds the lock; False at once where another does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        yield _lock(file, wait=False)


def write_text(path: Path, text: str) -> None:
    """Replace a file's content in one rename."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a file's content in one rename."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(content)
        _flush(draft)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: Any) -> None:
    """Replace a file by the value as indented JSON, without NaN."""
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """The value in a JSON file, or an error that names it."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise HatchelError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise HatchelError(f"{path}: is not JSON ({error})") from None


def writable_folder(path: Path) -> Path:
    """Make a folder, or say why it cannot be written to, before any work is done."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise HatchelError(f"{path}: cannot write there ({error.strerror}); choose another folder with --out") from None
    return path


def _flush(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _lock(file: IO[bytes], wait: bool) -> bool:
    """Held until the file is closed."""
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except PermissionError:  # how Windows reports that another has it
        return False
    return True
