"""Files that are either whole or not there, that say whether they are still what was written, and have one writer.

A JSON file ends in a digest of what stands before it (`"integrity": "sha256-..."`). Other files are listed with theirs
in SHA256SUMS of their folder, or in NAME.sha256 beside them, as `sha256sum --check` reads them.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import json
import os
import secrets
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Generator, Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from hatchel.core.errors import HatchelError

SUMS = "SHA256SUMS"
LOCK = "lock"
DRAFT = ".hatchel-"
"""How the names of files and folders begin that are not whole yet."""
STALE = 60.0
"""Seconds after which a draft that no process holds is one that a kill has left."""


class Damaged(HatchelError):
    """A file that is not what was written."""


@contextlib.contextmanager
def whole_folder(target: Path, sums: bool = False) -> Generator[Path]:
    """A temporary folder that becomes `target` (which must not exist) in one rename if nothing goes wrong.

    `sums`: with the digests of its files.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_stale(target.parent)
    draft = _draft(target)
    draft.mkdir()
    try:
        with _held(draft):
            yield draft
            if sums:
                write_sums(draft, [p for p in draft.iterdir() if p.is_file()])
            for path in (*draft.rglob("*"), draft):
                _flush(path)
            draft.rename(target)
        _flush(target.parent)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


@contextlib.contextmanager
def exclusive(path: Path) -> Generator[None]:
    """One process at a time; the operating system lets go when a process dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        _lock(file.fileno(), path, wait=True)
        yield


@contextlib.contextmanager
def claimed(path: Path) -> Generator[bool]:
    """Whether this process alone holds the lock; False at once where another does. Who holds it stands in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        mine = _lock(file.fileno(), path, wait=False) and _still_there(file.fileno(), path)
        if mine:
            since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
            note = json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since})
            with contextlib.suppress(OSError):  # a full disk: the lock is held all the same
                file.truncate(0)
                file.write(note.encode())
                file.flush()
        try:
            yield mine
        finally:
            if mine:
                with contextlib.suppress(OSError):
                    file.truncate(0)


@contextlib.contextmanager
def sole_writer(folder: Path, option: str = "--out") -> Generator[None]:
    """This process alone writes into a folder, which an option names; where another does, an error says which."""
    with claimed(folder / LOCK) as mine:
        if not mine:
            try:
                who = json.loads((folder / LOCK).read_text(encoding="utf-8"))
                name = f"process {who['pid']} on {who['host']}, since {who['since']},"
                stop = f", stop it with `kill {who['pid']}`, upon which it saves itself,"
            except (OSError, ValueError, KeyError, TypeError):
                name, stop = "another process", ""
            raise HatchelError(f"{folder}: {name} is training into it; wait for it{stop} or choose another {option}")
        yield


def write_text(path: Path, text: str, flush: bool = True, draft: Path | None = None) -> None:
    """Replace a file's content in one rename."""
    write_bytes(path, text.encode("utf-8"), flush, draft)


def write_bytes(path: Path, content: bytes, flush: bool = True, draft: Path | None = None) -> None:
    """Replace a file's content in one rename; without `flush` a power failure in the next seconds may undo it.

    `draft`: a file in the same folder that is not needed any more and becomes it. One new file less, and above all none
    to remove: ext4 passes over those removed in the last minutes, one by one, each time that it makes one.
    """
    remove_stale(path.parent)
    mode = "wb" if draft else "xb"
    draft = draft or _draft(path)
    try:
        with draft.open(mode) as file, _held(draft):
            file.write(content)
            file.flush()
            if flush:
                os.fsync(file.fileno())
        draft.replace(path)
        if flush:
            _flush(path.parent)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: Any, sealed: bool = True, flush: bool = True, draft: Path | None = None) -> None:
    """Replace a file by the value as indented JSON, without NaN; an object ends in its digest, unless not `sealed`."""
    text = json.dumps(value, indent=2, allow_nan=False)
    if sealed and isinstance(value, dict) and value:
        text = _seal(text.removesuffix("\n}").encode()).decode()
    write_text(path, text.rstrip("\n") + "\n", flush, draft)


def read_json(path: Path) -> Any:
    """The value in a JSON file, or an error that names it."""
    try:
        return _parsed(path)[0]
    except OSError as error:
        raise HatchelError(f"{path}: cannot be read ({error.strerror})") from None


def write_sums(folder: Path, files: Iterable[Path], others: Mapping[str, str] | None = None) -> None:
    """Write a folder's SHA256SUMS: the digests of some of its files, and known ones of others."""
    sums = {**(others or {}), **{file.name: _digest(file) for file in files}}
    write_text(folder / SUMS, _page(sums))


def write_summed(path: Path, content: bytes) -> None:
    """A file with its digest in NAME.sha256 beside it, which is there first: a kill between both is seen as damage."""
    write_text(beside(path), _page({path.name: hashlib.sha256(content).hexdigest()}))
    write_bytes(path, content)


def beside(path: Path) -> Path:
    """Where the digest of a file lies that was written alone."""
    return path.with_name(f"{path.name}.sha256")


def check_digest(path: Path) -> bool:
    """Whether a file has a digest, as all have since 0.3; Damaged where it is not what was written."""
    if not path.is_file():
        raise Damaged(f"{path}: is missing")
    if path.suffix == ".json":
        return _parsed(path)[1]
    page = beside(path) if beside(path).is_file() else path.with_name(SUMS)
    if not page.is_file():
        return False
    if _sums(page).get(path.name) != _digest(path):
        raise Damaged(f"{path}: is damaged (its digest is not the one in {page.name})")
    return True


def listed(folder: Path) -> dict[str, str]:
    """Names and digests in a folder's SHA256SUMS; none where there is none."""
    return _sums(folder / SUMS) if (folder / SUMS).is_file() else {}


def unfinished(path: Path) -> bool:
    """Whether it is a draft, which a kill may have left."""
    return path.name.startswith(DRAFT)


def remove_stale(folder: Path) -> None:
    """Remove what processes left half-written that were killed; a living one holds a lock on its draft."""
    for draft in folder.glob(f"{DRAFT}*"):
        with contextlib.suppress(OSError):
            if time.time() - draft.stat().st_mtime > STALE:
                with _held(draft, required=True):
                    shutil.rmtree(draft) if draft.is_dir() else draft.unlink()


def disk_problem(error: BaseException | None) -> str:
    """Why nothing can be written (a full or read-only disk, a quota), also where a library says so in its own way.

    >>> disk_problem(OSError(28, "No space left on device")), disk_problem(ValueError("no space"))
    ('No space left on device', '')
    """
    kinds = [os.strerror(number) for number in (errno.ENOSPC, errno.EDQUOT, errno.EROFS)]
    while error is not None:
        found = [words for words in (*kinds, "database or disk is full") if words in str(error)]
        if found:
            return found[0]
        error = error.__cause__ or error.__context__
    return ""


def writable_folder(path: Path) -> Path:
    """Make a folder, or say why it cannot be written to, before any work is done."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise HatchelError(f"{path}: cannot write there ({error.strerror}); choose another folder with --out") from None
    return path


def _parsed(path: Path) -> tuple[Any, bool]:
    """A JSON file's value, and whether it has a digest."""
    content = path.read_bytes()
    tail = content[-120:]
    # Both, because damage may have hit one of them.
    sealed = b'"integrity"' in tail or b'"sha256-' in tail
    if sealed and content != _seal(content[: -len(_seal(b""))]):
        raise Damaged(
            f"{path}: is damaged, or was changed by hand (its digest is another); "
            "if you changed it, remove its last entry, `integrity`"
        )
    try:
        value = json.loads(content)
    except ValueError as error:
        raise Damaged(f"{path}: is not JSON, so it is damaged ({error})") from None
    if sealed:
        cast(dict[str, Any], value).pop("integrity")
    return value, sealed


def _seal(body: bytes) -> bytes:
    """The text of an object up to its last entry, and its end."""
    return body + b',\n  "integrity": "sha256-%s"\n}\n' % hashlib.sha256(body).hexdigest().encode()


def _page(sums: Mapping[str, str]) -> str:
    """Lines for sha256sum, and a comment that guards them."""
    text = "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items()))
    return f"{text}# lines above: {hashlib.sha256(text.encode()).hexdigest()}\n"


def _sums(page: Path) -> dict[str, str]:
    text = page.read_text(encoding="utf-8", errors="replace")
    lines = [line.partition("  ") for line in text.splitlines() if not line.startswith("#")]
    sums = {name: digest for digest, _, name in lines}
    if text != _page(sums):
        raise Damaged(f"{page}: is damaged (its own digest is another)")
    return sums


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _draft(target: Path) -> Path:
    return target.with_name(f"{DRAFT}{target.name}-{secrets.token_hex(4)}")


@contextlib.contextmanager
def _held(draft: Path, required: bool = False) -> Generator[None]:
    """A lock on a draft, folder or file, as a sign of life; OSError where it is `required` and another has it."""
    handle = -1
    try:
        with contextlib.nullcontext() if required else contextlib.suppress(OSError):  # Windows opens no folder
            handle = os.open(draft, os.O_RDONLY)
            if not _lock(handle, draft, wait=False, strict=True) and required:
                raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        yield
    finally:
        if handle >= 0:
            os.close(handle)


def _flush(path: Path) -> None:
    """To the disk; of a folder, its entries."""
    windows = sys.platform == "win32"
    if windows and path.is_dir():
        return
    handle = os.open(path, os.O_RDWR if windows else os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that does not flush folders
            raise
    finally:
        os.close(handle)


def _lock(handle: int, path: Path, wait: bool, strict: bool = False) -> bool:
    """Held until the file is closed. Over NFS Linux makes it a byte-range lock, which holds between machines."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(handle, 0, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except PermissionError:  # how Windows reports that another has it
        return False
    except OSError as error:
        if strict or error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
            raise
        _without_locks(path.parent)
    return True


def _still_there(handle: int, path: Path) -> bool:
    """Whether an open file is the one of that name: its last holder may have removed it with its folder meanwhile."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return False


@functools.cache
def _without_locks(folder: Path) -> None:
    print(f"hatchel: {folder}: has no locks; take care that no other process writes there", file=sys.stderr)
