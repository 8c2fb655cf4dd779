"""Server: a session over HTTP, behind a token."""

from __future__ import annotations

import asyncio
import errno
import secrets
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import torch
import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat
from starlette.exceptions import HTTPException

from hatchel.core.errors import HatchelError
from hatchel.explorer.desk import Desk
from hatchel.explorer.page import asset, page
from hatchel.explorer.security import WILDCARDS, Application, Patient, Secured, message_page
from hatchel.explorer.session import BATCH, Session
from hatchel.explorer.uploads import BYTES, RequestError

PORT = 8765
"""Tried first; another free one is taken where it is busy."""
LIMIT = BYTES + (64 << 10)
"""Of any request's body: an upload, and a little so that one just too large is answered by name."""

T = TypeVar("T")
Number = Annotated[int, Field(ge=0, le=2**53, strict=True)]


class Asked(BaseModel):
    """A request's body: nothing but the fields."""

    model_config = ConfigDict(extra="forbid")


class Decode(Asked):
    """Codes of a level of a run."""

    run: Number = 0
    level: Number = 0
    codes: Annotated[list[list[FiniteFloat]], Field(min_length=1, max_length=BATCH)]


class Pick(Asked):
    """An item of the data."""

    item: Number


class Scatter(Asked):
    """Columns of the points' codes."""

    run: Number = 0
    level: Number = 0
    columns: Annotated[list[Number], Field(min_length=1, max_length=3)]


def application(
    session: Session, *, host: str = "127.0.0.1", token: str | None = None, framed: bool = False
) -> Application:
    """The application behind its checks. The models run in one thread of their own, so that it always answers."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="explorer", initializer=_one_thread)
    app = FastAPI(title="Hatchel explorer", docs_url=None, redoc_url=None, openapi_url=None)
    index = page(session.about(), token=token if framed else None)

    async def work(call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(pool, call)

    desk = Desk(session, work)

    @app.exception_handler(HatchelError)
    async def refused(request: Request, error: HatchelError) -> Response:  # pyright: ignore[reportUnusedFunction]
        return JSONResponse({"error": str(error)}, error.status if isinstance(error, RequestError) else 422)

    @app.exception_handler(RequestValidationError)
    async def invalid(  # pyright: ignore[reportUnusedFunction]
        request: Request, error: RequestValidationError
    ) -> Response:
        first: dict[str, Any] = dict(error.errors()[0])
        place = ".".join(str(p) for p in first["loc"][1:])
        status = 400 if first["type"] == "json_invalid" else 422
        return JSONResponse({"error": f"{place}: {first['msg']}" if place else str(first["msg"])}, status)

    @app.exception_handler(HTTPException)
    async def missing(request: Request, error: HTTPException) -> Response:  # pyright: ignore[reportUnusedFunction]
        if request.url.path.startswith("/api/"):
            return JSONResponse({"error": error.detail}, error.status_code, error.headers)
        return HTMLResponse(message_page(error.status_code, error.detail), error.status_code, error.headers)

    @app.get("/")
    async def root() -> Response:  # pyright: ignore[reportUnusedFunction]
        return HTMLResponse(index)

    for name, kind in (("explorer.js", "text/javascript"), ("explorer.css", "text/css")):
        _serve_asset(app, name, kind)

    @app.post("/api/decode")
    async def decode(asked: Decode) -> Response:  # pyright: ignore[reportUnusedFunction]
        return _items(await desk.decode(asked.run, asked.level, asked.codes))

    @app.post("/api/pick")
    async def pick(asked: Pick) -> Response:  # pyright: ignore[reportUnusedFunction]
        return JSONResponse(await work(lambda: session.pick(asked.item)))

    @app.post("/api/upload")
    async def upload(request: Request) -> Response:  # pyright: ignore[reportUnusedFunction]
        content = await request.body()
        return JSONResponse(await work(lambda: session.upload(content)))

    @app.post("/api/scatter")
    async def scatter(asked: Scatter) -> Response:  # pyright: ignore[reportUnusedFunction]
        return JSONResponse(await work(lambda: session.scatter(asked.run, asked.level, asked.columns)))

    @app.post("/api/picture")
    async def picture(asked: Pick) -> Response:  # pyright: ignore[reportUnusedFunction]
        return _items(await work(lambda: session.picture(asked.item)))

    return Secured(app, host=host, token=token, limit=LIMIT, framed=framed)


def _serve_asset(app: FastAPI, name: str, kind: str) -> None:
    content = asset(name)

    @app.get(f"/{name}")
    async def answer() -> Response:  # pyright: ignore[reportUnusedFunction]
        return Response(content, media_type=kind)


def _items(found: NDArray[Any]) -> Response:
    """Pixels as bytes, the rows of a table as numbers."""
    if found.ndim >= 3:
        return Response(found.tobytes(), media_type="application/octet-stream")
    return JSONResponse(found.tolist())


def _one_thread() -> None:
    torch.set_num_threads(1)  # one small picture: a second thread would only wait for the first


@dataclass(frozen=True)
class Listening:
    """A server that has its port already; `address` is what to open."""

    address: str
    server: uvicorn.Server
    listener: socket.socket

    @classmethod
    def on(
        cls, session: Session, *, host: str = "127.0.0.1", port: int | None = None, framed: bool = False
    ) -> Listening:
        """On a host and port, with a new token, which is part of the address: other users of a machine reach it too.

        `framed`: a notebook on this machine may show the page inside itself.
        """
        token = secrets.token_urlsafe(24)
        listener = listen(host, port)
        app = application(session, host=host, token=token, framed=framed)
        config = uvicorn.Config(
            app, http=Patient, log_level="error", access_log=False, server_header=False, lifespan="off", ws="none"
        )
        return cls(address(host, listener.getsockname()[1], token), uvicorn.Server(config), listener)

    def run(self) -> None:
        """Serve until interrupted, or until `server.should_exit`."""
        with self.listener:
            self.server.run(sockets=[self.listener])


def address(host: str, port: int, token: str | None) -> str:
    """What to open.

    >>> address("::1", 80, None), address("10.0.0.7", 8000, "secret")
    ('http://[::1]:80/', 'http://10.0.0.7:8000/?token=secret')
    """
    place = socket.gethostname() if host in WILDCARDS else f"[{host}]" if ":" in host else host
    return f"http://{place}:{port}/" + (f"?token={token}" if token else "")


def listen(host: str, port: int | None) -> socket.socket:
    """A listening socket on the port, or on a free one where none was asked for and the usual one is busy."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host, PORT if port is None else port, type=socket.SOCK_STREAM
        )[0]
    except OSError as error:
        raise HatchelError(f"--host {host}: is not an address of this machine ({error.strerror})") from None
    for attempt in (place[1], 0):
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((place[0], attempt, *place[2:]))
            listener.listen(128)
            return listener
        except OSError as error:
            listener.close()
            busy = error.errno == errno.EADDRINUSE
            if port is not None or not busy or attempt == 0:
                what = f"the port {place[1]} is busy; choose another" if busy else f"{error.strerror}"
                raise HatchelError(f"cannot listen on {host}:{place[1]}: {what}") from None
    raise AssertionError
