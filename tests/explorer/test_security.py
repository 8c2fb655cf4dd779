from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hatchel.explorer.server import application
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
