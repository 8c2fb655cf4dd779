"""Security: what every request must pass before it is read, and the headers that every answer carries."""

from __future__ import annotations

import asyncio
import hashlib
import html
import ipaddress
import json
import math
import secrets
import socket
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

import h11
from starlette.exceptions import HTTPException
from uvicorn.protocols.http.h11_impl import H11Protocol

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}
FRAMED = HEADERS["content-security-policy"].replace(
    "frame-ancestors 'none'", "frame-ancestors http://localhost:* http://127.0.0.1:* vscode-webview: vscode-file:"
)
"""For a page inside a notebook on this machine."""
FRAME = ("/", "/explorer.js", "/explorer.css")
"""Whose addresses may carry the token inside a notebook, where browsers keep no cookie."""
LOOPBACK = ("localhost", "127.0.0.1", "::1")
WILDCARDS = ("0.0.0.0", "::")
COOKIE = "hatchel-explorer"
"""With the start of the token's digest: explorers on other ports of this machine have cookies of their own."""
CONNECTIONS = 100
"""At a time; beyond that the oldest of those that wait for their client makes room."""
HEADERS_WITHIN, BODY_WITHIN = 10.0, 60.0
"""Seconds that a client may take for its request."""


class Patient(H11Protocol):
    """A connection whose client has only so long for its request: half-open ones must not pile up."""

    connections: set[Patient]
    since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        self.since = self.loop.time()
        if len(self.connections) > CONNECTIONS:
            waiting = [c for c in self.connections if c.limit < BODY_WITHIN]
            oldest = min(waiting or [self], key=lambda c: c.since)
            self.connections.discard(oldest)  # now, and not only when the loop comes to it
            oldest.transport.abort()
        self._check()

    @property
    def limit(self) -> float:
        """Seconds that the client has for what it is to send; infinite while it is the server's turn."""
        if not self.cycle or self.cycle.response_complete:
            return HEADERS_WITHIN
        return BODY_WITHIN if self.conn.their_state is h11.SEND_BODY else math.inf

    def on_response_complete(self) -> None:
        self.since = self.loop.time()
        super().on_response_complete()

    def _check(self) -> None:
        if self.transport.is_closing():
            return
        if self.loop.time() - self.since > self.limit:
            self.transport.abort()
        else:
            self.loop.call_later(0.5, self._check)


class Secured:
    """An application behind checks of its Host, Origin, token and size."""

    def __init__(self, inner: Application, *, host: str, token: str | None, limit: int, framed: bool = False) -> None:
        self.inner, self.token, self.limit, self.framed = inner, token, limit, framed
        self.cookie = f"{COOKIE}-{hashlib.sha256((token or '').encode()).hexdigest()[:8]}"
        self.headers = HEADERS | ({"content-security-policy": FRAMED} if framed else {})
        if framed:
            del self.headers["x-frame-options"]
        self.names = {*LOOPBACK, host.lower()}
        self.anywhere = host in WILDCARDS
        if self.anywhere:
            self.names |= {socket.gethostname().lower(), socket.getfqdn().lower()}

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request, as ASGI defines it."""
        if scope["type"] == "lifespan":
            await self.inner(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}

        async def outward(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = [(k.encode(), v.encode()) for k, v in self.headers.items()]
                message["headers"] = [*message.get("headers", []), *extra]
            await send(message)

        refused = self._refused(scope, headers)
        if refused is not None:
            await _answer(scope, outward, *refused)
            return
        if self.token is not None and scope["path"] == "/" and scope["query_string"] and not self.framed:
            # From here on a cookie speaks for the browser, and the token leaves the address bar and the history.
            cookie = f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Lax"
            await _answer(scope, outward, 303, "", [(b"location", b"/"), (b"set-cookie", cookie.encode())])
            return
        await self.inner(scope, self._counted(receive), outward)

    @property
    def _too_large(self) -> tuple[int, str]:
        return 413, f"the request is larger than {self.limit >> 20} MB; send less"

    def _refused(self, scope: MutableMapping[str, Any], headers: dict[str, str]) -> tuple[int, str] | None:
        """Why a request is not let in."""
        host = headers.get("host", "")
        if not self._known(host):
            return 421, f"this explorer is not called {host[:80]!r}; open the address that it printed"
        origin = headers.get("origin")
        if origin is not None and (origin == "null" or urlsplit(origin).netloc != host):
            return 403, "requests from other pages are not answered"
        if self.token is not None and not any(
            secrets.compare_digest(given.encode(), self.token.encode())
            for given in _tokens(scope, headers, self.cookie, FRAME if self.framed else ("/",))
        ):
            return 401, "this explorer needs its token; open the whole address that it printed, with ?token=..."
        try:
            length = int(headers.get("content-length", "0"))
        except ValueError:
            return 400, "the content-length is not a number"
        return self._too_large if length > self.limit else None

    def _known(self, host: str) -> bool:
        """Whether a Host header names this server: a page elsewhere may have its own name point to our address."""
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            return False
        if not name:
            return False
        if name in self.names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return self.anywhere

    def _counted(self, receive: Receive) -> Receive:
        seen = 0

        async def inward() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self.limit:
                raise HTTPException(*self._too_large)
            return message

        return inward


def _tokens(scope: MutableMapping[str, Any], headers: dict[str, str], cookie: str, paths: Collection[str]) -> list[str]:
    """Whatever a request offers as a token: in the address of some paths, in a header, in the cookie."""
    found = parse_qs(scope["query_string"].decode("latin-1")).get("token", []) if scope["path"] in paths else []
    kind, _, value = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        found.append(value.strip())
    try:
        cookies = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return found
    return [*found, cookies[cookie].value] if cookie in cookies else found


async def _answer(
    scope: MutableMapping[str, Any],
    send: Send,
    status: int,
    text: str,
    headers: list[tuple[bytes, bytes]] | None = None,
) -> None:
    """A message as JSON for the page's own requests, as a page otherwise."""
    if scope["path"].startswith("/api/"):
        kind, body = b"application/json", json.dumps({"error": text}).encode()
    else:
        kind, body = b"text/html; charset=utf-8", message_page(status, text).encode()
    length = (b"content-length", str(len(body)).encode())
    start = [(b"content-type", kind), length, *(headers or [])]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": body})


def message_page(status: int, text: str) -> str:
    """A page with one message."""
    shown = html.escape(text)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{status}</title>'
        f'<meta name="viewport" content="width=device-width"><h1>{status}</h1><p>{shown}</p></html>'
    )
