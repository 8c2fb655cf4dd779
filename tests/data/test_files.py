"""Fetching, against a server on this machine that breaks, resumes, lies and disappears."""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from hatchel.core.errors import HatchelError
from hatchel.data.files import RemoteFile, data_folder, fetch

BODY = gzip.compress(bytes(range(256)) * 4000, 0)
MD5 = hashlib.md5(bytes(range(256)) * 4000, usedforsecurity=False).hexdigest()


class Handler(BaseHTTPRequestHandler):
    seen: list[tuple[str, str | None]] = []  # noqa: RUF012 - emptied by the fixture

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.seen.append((self.path, asked))
        if self.path == "/gone":
            self.send_error(404)
            return
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/good")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = BODY[:1000] + b"x" + BODY[1001:] if self.path == "/wrong" else BODY
        start = int(asked.split("=")[1].rstrip("-")) if asked and self.path != "/no-ranges" else 0
        if start >= len(body):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        rest = body[start:]
        self.wfile.write(rest[: len(rest) // 2] if self.path == "/breaks" else rest)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    Handler.seen.clear()
    with HTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def entry(server: str, *paths: str, md5: str = MD5) -> RemoteFile:
    return RemoteFile("data.gz", tuple(server + p for p in paths), "http://example.org/page", md5)


def test_a_file_is_fetched_once(server: str, tmp_path: Path) -> None:
    path = fetch("set", entry(server, "/good"), tmp_path / "new")
    assert path == tmp_path / "new" / "data.gz"
    assert path.read_bytes() == BODY
    fetch("set", entry(server, "/good"), tmp_path / "new")
    assert len(Handler.seen) == 1
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["data.gz"]


def test_mirrors_are_tried_in_turn(server: str, tmp_path: Path) -> None:
    assert fetch("set", entry(server, "/gone", "/wrong", "/good"), tmp_path).read_bytes() == BODY
    assert [path for path, _ in Handler.seen] == ["/gone", "/wrong", "/good"]


def test_a_broken_connection_is_resumed_where_it_broke(server: str, tmp_path: Path) -> None:
    with pytest.raises(HatchelError, match=r"broke after \d+ of \d+ bytes; run it again to resume"):
        fetch("set", entry(server, "/breaks"), tmp_path)
    half = (tmp_path / "data.gz.part").stat().st_size
    assert 0 < half < len(BODY)
    assert fetch("set", entry(server, "/good"), tmp_path).read_bytes() == BODY
    assert Handler.seen[-1] == ("/good", f"bytes={half}-")


def test_a_redirection_is_followed_and_resumed(server: str, tmp_path: Path) -> None:
    (tmp_path / "data.gz.part").write_bytes(BODY[:5000])
    assert fetch("set", entry(server, "/moved"), tmp_path).read_bytes() == BODY
    assert Handler.seen == [("/moved", "bytes=5000-"), ("/good", "bytes=5000-")]


def test_a_failure_leaves_no_empty_part(server: str, tmp_path: Path) -> None:
    with pytest.raises(HatchelError, match="404"):
        fetch("set", entry(server, "/gone"), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_server_without_ranges_sends_all_of_it(server: str, tmp_path: Path) -> None:
    (tmp_path / "data.gz.part").write_bytes(b"something else")
    assert fetch("set", entry(server, "/no-ranges"), tmp_path).read_bytes() == BODY


def test_a_whole_part_needs_nothing_more(server: str, tmp_path: Path) -> None:
    (tmp_path / "data.gz.part").write_bytes(BODY)
    assert fetch("set", entry(server, "/good"), tmp_path).read_bytes() == BODY


def test_wrong_bytes_never_get_the_name(server: str, tmp_path: Path) -> None:
    with pytest.raises(HatchelError, match=r"checksum differs|cannot be read"):
        fetch("set", entry(server, "/wrong"), tmp_path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(HatchelError, match="checksum differs"):
        fetch("set", entry(server, "/good", md5="0" * 32), tmp_path)


def test_what_to_do_by_hand_is_said(server: str, tmp_path: Path) -> None:
    with pytest.raises(HatchelError) as caught:
        fetch("set", entry(server, "/gone"), tmp_path)
    assert "404" in str(caught.value) or "Not Found" in str(caught.value)
    assert f"Download it from http://example.org/page and put it into {tmp_path}" in str(caught.value)
    with pytest.raises(HatchelError, match="no address for programs"):
        fetch("celeba", RemoteFile("a.zip", (), "http://example.org"), tmp_path)


def test_no_network(tmp_path: Path) -> None:
    with pytest.raises(HatchelError, match=r"no mirror gave it .*refused.*put it into"):
        fetch("set", RemoteFile("a", ("http://127.0.0.1:9/a",)), tmp_path)


def test_a_file_that_is_there_but_wrong_is_named(tmp_path: Path) -> None:
    (tmp_path / "data.gz").write_bytes(gzip.compress(b"other"))
    with pytest.raises(HatchelError, match="not the original file"):
        fetch("set", entry("http://127.0.0.1:9", "/good"), tmp_path)


def test_where_files_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HATCHEL_CACHE", "/c")
    assert data_folder("mnist") == Path("/c/files/mnist")
    monkeypatch.setenv("HATCHEL_DATA", "/d")
    assert data_folder("mnist") == Path("/d/mnist")
