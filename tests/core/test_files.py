"""Whole or not there, as it was written or named as damaged, one writer at a time."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hatchel.core import files
from hatchel.core.errors import HatchelError
from hatchel.core.files import (
    SUMS,
    Damaged,
    check_digest,
    claimed,
    disk_problem,
    read_json,
    sole_writer,
    whole_folder,
    write_bytes,
    write_json,
    write_summed,
)
from tests.torture import damages

VALUE = {"name": "ä", "numbers": [1, 2.5, None], "nested": {"sum": "mine"}}


def test_json_carries_the_digest_of_what_stands_before_it(tmp_path: Path) -> None:
    path = tmp_path / "value.json"
    write_json(path, VALUE)
    assert read_json(path) == VALUE
    body, _, end = path.read_bytes().rpartition(b',\n  "integrity": "sha256-')
    assert end == hashlib.sha256(body).hexdigest().encode() + b'"\n}\n'
    assert json.loads(path.read_text())["name"] == "ä"  # any reader of JSON reads it


def test_a_file_that_is_not_needed_becomes_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, draft = tmp_path / "value.json", tmp_path / "note.json"
    for n in (1, 2):  # a new file, and in the place of one
        draft.write_text("longer than what comes in its place " * 9)
        number = draft.stat().st_ino
        write_json(path, {"n": n}, draft=draft)
        assert (read_json(path), path.stat().st_ino, draft.exists()) == ({"n": n}, number, False)
    write_json(path, {"n": 3}, draft=draft)  # there is none
    assert (read_json(path), list(tmp_path.iterdir())) == ({"n": 3}, [path])

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    draft.write_text("a note")
    with pytest.raises(OSError, match="No space"):
        write_json(path, {"n": 4}, draft=draft)
    assert (read_json(path), list(tmp_path.iterdir())) == ({"n": 3}, [path])


def test_json_without_a_digest_is_read_and_known_as_old(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text(json.dumps(VALUE, indent=2) + "\n")
    assert read_json(path) == VALUE
    assert not check_digest(path)
    write_json(path, VALUE)
    assert check_digest(path)
    for other in ([1, 2], {}):
        write_json(path, other)
        assert read_json(path) == other


def test_a_value_changed_by_hand_is_told_how_to_stay(tmp_path: Path) -> None:
    path = tmp_path / "value.json"
    write_json(path, VALUE)
    path.write_text(path.read_text().replace("2.5", "3.5"))
    with pytest.raises(Damaged, match="remove its last entry, `integrity`"):
        read_json(path)
    text = path.read_text().splitlines()
    path.write_text("\n".join([*text[:-3], text[-3].rstrip(","), "}"]))
    assert read_json(path)["numbers"] == [1, 3.5, None]


def unnoticed(path: Path, what: str) -> None:
    assert check_digest(path), what


@pytest.mark.parametrize("kind", ["json", "alone", "folder", "sums"])
def test_no_damage_goes_unnoticed(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "box" / ("value.json" if kind == "json" else "value.bin")
    if kind == "json":
        path.parent.mkdir()
        write_json(path, VALUE)
    elif kind == "alone":
        path.parent.mkdir()
        write_summed(path, bytes(range(256)) * 9)
    else:
        with whole_folder(path.parent, sums=True) as draft:
            (draft / path.name).write_bytes(bytes(range(256)) * 9)
            (draft / "other.bin").write_bytes(b"other")
    hit = path.with_name(SUMS) if kind == "sums" else path
    whole = hit.read_bytes()
    for what, content in damages(whole, 200, seed=0):
        hit.write_bytes(content)
        with pytest.raises(Damaged):
            unnoticed(path, what)
    hit.write_bytes(whole)
    assert check_digest(path)


def test_sums_are_what_sha256sum_reads(tmp_path: Path) -> None:
    with whole_folder(tmp_path / "box", sums=True) as draft:
        (draft / "a b.bin").write_bytes(b"1")
    done = subprocess.run(["sha256sum", "--check", SUMS], cwd=tmp_path / "box", capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"a b.bin: OK\n")


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_writes_is_not(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from hatchel.core.files import whole_folder\n"
        "with whole_folder(Path(sys.argv[1])) as draft:\n"
        "    (draft / 'part').write_text('half'); print(draft, flush=True); time.sleep(100)"
    )
    writer = subprocess.Popen([sys.executable, "-c", code, tmp_path / "target"], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    draft = Path(writer.stdout.readline().strip())
    mine = tmp_path / ".bashrc-0123"
    mine.write_text("not ours")
    old = time.time() - 2 * files.STALE
    for path in (draft, mine):
        os.utime(path, (old, old))
    write_bytes(tmp_path / "first", b"")
    assert (draft / "part").is_file()
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    write_bytes(tmp_path / "second", b"")
    assert sorted(p.name for p in tmp_path.iterdir()) == [".bashrc-0123", "first", "second"]


def test_a_lock_names_its_holder_and_ends_with_it(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from hatchel.core.files import sole_writer\n"
        "with sole_writer(Path(sys.argv[1])): print('held', flush=True); time.sleep(100)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    holder.stdout.readline()
    words = rf"process {holder.pid} on \S+, since 20.* UTC, .*`kill {holder.pid}`"
    with pytest.raises(HatchelError, match=words), sole_writer(tmp_path):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    with sole_writer(tmp_path), claimed(tmp_path / "lock") as mine:
        assert not mine  # by the same process neither
    assert (tmp_path / "lock").read_text() == ""


def test_the_lock_of_a_removed_folder_counts_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last holder removed it between our opening and our locking of it."""
    import fcntl

    real = fcntl.flock

    def late(handle: int, how: int) -> None:
        (tmp_path / "lock").unlink()
        real(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with claimed(tmp_path / "lock") as mine:
        assert not mine


def test_a_file_system_without_locks_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import fcntl

    def none(handle: object, how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", none)
    for _ in range(2):
        with sole_writer(tmp_path):
            write_bytes(tmp_path / "file", b"1")
    assert (
        capsys.readouterr().err == f"hatchel: {tmp_path}: has no locks; take care that no other process writes there\n"
    )


def test_folders_are_flushed_after_a_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[str] = []
    real = os.fsync

    def noted(handle: int) -> None:
        flushed.append(Path(f"/proc/self/fd/{handle}").readlink().name.partition("-")[0])
        real(handle)

    monkeypatch.setattr(os, "fsync", noted)
    write_bytes(tmp_path / "file", b"1")
    with whole_folder(tmp_path / "box") as draft:
        (draft / "inner").write_bytes(b"2")
    name = tmp_path.name.partition("-")[0]
    assert flushed == [".hatchel", name, "inner", ".hatchel", name]


def test_a_full_disk_is_known_by_any_name() -> None:
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        assert disk_problem(OSError(number, os.strerror(number))) == os.strerror(number)
    wrapped = RuntimeError("could not")
    wrapped.__cause__ = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert disk_problem(wrapped) == os.strerror(errno.ENOSPC)
    assert disk_problem(OSError(errno.ENOENT, os.strerror(errno.ENOENT))) == ""
