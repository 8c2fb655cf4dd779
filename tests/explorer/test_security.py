from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest

from hatchel.explorer import security
from hatchel.explorer.security import CONNECTIONS
from hatchel.explorer.server import Listening, application
from hatchel.explorer.session import Session


@pytest.fixture(scope="module")
def client(connect: Callable[..., Any], session: Session) -> Any:
    return connect(application(session))


def test_a_body_without_a_length_is_counted(client: Any) -> None:
    async def parts():
        for _ in range(20):
            yield bytes(1 << 20)

    answer = client.post("/api/upload", content=parts())
    assert answer.status_code == 413
    assert "larger than" in answer.json()["error"]


def test_pages_and_their_headers(client: Any) -> None:
    for path in ("/", "/explorer.js", "/explorer.css", "/nothing", "/api/nothing", "/../../etc/passwd"):
        answer = client.get(path)
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.status_code == (200 if path in ("/", "/explorer.js", "/explorer.css") else 404)
    for path in ("/docs", "/openapi.json", "/redoc"):
        assert client.get(path).status_code == 404
    assert client.get("/api/decode").status_code == 405


def test_only_its_own_names_are_answered(client: Any) -> None:
    for host in ("127.0.0.1:8765", "localhost:1", "[::1]:80"):
        assert client.get("/", headers={"host": host}).status_code == 200
    for host in ("evil.example", "evil.example:8765", "10.0.0.1", "", "[::1", "localhost.evil.example"):
        assert client.get("/", headers={"host": host}).status_code == 421
        assert client.post("/api/pick", json={"item": 0}, headers={"host": host}).status_code == 421


def test_other_pages_cannot_ask(client: Any) -> None:
    for origin, status in (("http://evil.example", 403), ("null", 403), (client.home, 200)):
        answer = client.post("/api/pick", json={"item": 0}, headers={"origin": origin})
        assert answer.status_code == status


def test_beyond_this_machine_every_request_needs_the_token(connect: Callable[..., Any], session: Session) -> None:
    app = application(session, host="0.0.0.0", token="right-token")
    client = connect(app, "http://10.1.2.3:8765")
    for path in ("/", "/?token=wrong", "/explorer.js", "/explorer.js?token=right-token", "/?token=right-tokeñ"):
        assert client.get(path).status_code == 401
    assert client.post("/api/pick", json={"item": 0}).status_code == 401
    assert client.get("/", headers={"cookie": "hatchel-explorer=wrong"}).status_code == 401
    assert client.get("/", headers={"authorization": "Bearer right-token"}).status_code == 200
    client.inner.cookies.clear()
    first = client.get("/?token=right-token")
    assert first.status_code == 303
    assert first.headers["location"] == "/"
    assert "HttpOnly" in first.headers["set-cookie"]
    assert client.get("/").status_code == 200  # the cookie speaks now
    assert client.post("/api/pick", json={"item": 0}).status_code == 200
    assert client.get("/", headers={"host": "evil.example"}).status_code == 421


@pytest.fixture
def opened(session: Session) -> Iterator[Listening]:
    opened = Listening.on(session, port=None)
    thread = threading.Thread(target=opened.run, daemon=True)
    thread.start()
    while not opened.server.started:
        time.sleep(0.01)
    yield opened
    opened.server.should_exit = True
    thread.join(10)


def half_open(opened: Listening, sent: bytes) -> socket.socket:
    connection = socket.create_connection(opened.listener.getsockname(), timeout=10)
    connection.sendall(sent)
    return connection


def test_half_open_connections_do_not_stop_it(opened: Listening, capfd: pytest.CaptureFixture[str]) -> None:
    idle = [half_open(opened, b"GET / HTTP/1.1\r\nHost: 127") for _ in range(300)]
    for _ in range(3):
        assert httpx.get(opened.address, follow_redirects=True).status_code == 200
    assert len(opened.server.server_state.connections) <= CONNECTIONS
    for connection in idle:
        connection.close()
    assert capfd.readouterr() == ("", "")


def test_a_request_that_does_not_come_is_not_waited_for(opened: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "HEADERS_WITHIN", 0.1)
    monkeypatch.setattr(security, "BODY_WITHIN", 0.2)
    token = opened.address.rpartition("=")[2].encode()
    head = b"POST /api/pick HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + token + b"\r\n"
    for sent in (b"", b"GET / HT", head, head + b"Content-Length: 100\r\n\r\n{"):
        with half_open(opened, sent) as connection:
            connection.settimeout(5)
            with suppress(ConnectionResetError):
                assert connection.recv(100) == b""
    assert httpx.get(opened.address, follow_redirects=True).status_code == 200


def test_the_token_is_needed_on_this_machine_too(opened: Listening) -> None:
    home, _, token = opened.address.partition("?token=")
    assert home.startswith("http://127.0.0.1:")
    assert len(token) >= 32
    assert httpx.get(home).status_code == 401
    assert httpx.post(f"{home}api/pick", json={"item": 1}).status_code == 401
    with httpx.Client() as client:
        assert client.get(opened.address, follow_redirects=True).status_code == 200
        assert client.post(f"{home}api/pick", json={"item": 1}).status_code == 200


def test_a_page_inside_a_notebook_keeps_the_token_in_its_address(connect: Callable[..., Any], session: Session) -> None:
    """Browsers keep no cookie of a frame, and other users of the machine reach the port."""
    client = connect(application(session, token="right-token", framed=True))
    for path in ("/", "/?token=wrong", "/explorer.js", "/explorer.css?token=wrong"):
        assert client.get(path).status_code == 401
    assert client.post("/api/pick?token=right-token", json={"item": 1}).status_code == 401
    shown = client.get("/?token=right-token")
    assert shown.status_code == 200
    assert "set-cookie" not in shown.headers
    assert "frame-ancestors http://localhost:*" in shown.headers["content-security-policy"]
    for name in ("explorer.js", "explorer.css"):
        assert f'"{name}?token=right-token"' in shown.text
        assert client.get(f"/{name}?token=right-token").status_code == 200
    bearer = {"authorization": "Bearer right-token"}
    assert client.post("/api/pick", json={"item": 1}, headers=bearer).status_code == 200


def test_an_explorer_of_a_notebook_has_a_token(session: Session) -> None:
    framed = Listening.on(session, port=0, framed=True)
    framed.listener.close()
    assert len(framed.address.partition("?token=")[2]) >= 32
