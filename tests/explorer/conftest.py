"""Runs that took no training, whose decoders visibly answer to every latent; one server and one browser for all."""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import torch

from hatchel.data.dataset import Dataset
from hatchel.data.table import TableColumn
from hatchel.data.xy_squares import XYSquares
from hatchel.explorer.page import write_static
from hatchel.explorer.runtime import Runtime, runtime
from hatchel.explorer.session import Session
from hatchel.latents.diagonal import Diagonal
from hatchel.latents.latent import Latent
from hatchel.latents.mixed import Mixed
from hatchel.latents.scaled_hierarchy import ScaledHierarchy
from hatchel.latents.variables import Concrete, Gaussian
from hatchel.methods.resolve import resolve
from hatchel.training.checkpoint import Description, save
from hatchel.training.run import TrainedRun


@pytest.fixture(scope="session")
def make_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., TrainedRun]:
    """A run of a latent on data, its decoder's weights enlarged so that a small move changes many pixels."""

    def make(latent: Latent, data: Dataset | None = None, size: int = 16) -> TrainedRun:
        source = XYSquares(size=size, places=8)
        loaded = data or source.load()
        spec = resolve("vae", source).with_fields(latent=latent).fit_to(loaded)
        system = spec.build(loaded.shape)
        with torch.no_grad():
            for parameter in [*system.model.decoder.parameters(), *system.model.encoder.parameters()]:
                parameter.mul_(3.0 if parameter.ndim > 1 else 1.0)
        folder = tmp_path_factory.mktemp("run")
        description = Description(spec, loaded.shape, len(loaded), loaded.fingerprint)
        description.write(folder)
        save(folder, 0, system, None)
        run = TrainedRun(folder, description, system.model, 0)
        run._data = loaded
        return run

    return make


@pytest.fixture(scope="session")
def plain(make_run: Callable[..., TrainedRun]) -> TrainedRun:
    return make_run(Diagonal(4))


@pytest.fixture(scope="session")
def mixed(make_run: Callable[..., TrainedRun]) -> TrainedRun:
    return make_run(Mixed({"class": Concrete(3), "style": Gaussian(2)}))


@pytest.fixture(scope="session")
def hierarchy(make_run: Callable[..., TrainedRun]) -> TrainedRun:
    run = make_run(ScaledHierarchy(Diagonal(3), levels=2), size=32)
    with torch.no_grad():
        run.model.latent.log_scales += 0.7
    return run


@pytest.fixture(scope="session")
def table(make_run: Callable[..., TrainedRun]) -> TrainedRun:
    rng = np.random.default_rng(0)
    rows = np.concatenate(
        [rng.normal(size=(60, 1)), rng.integers(2, size=(60, 1)), np.eye(3)[rng.integers(3, size=60)]], axis=1
    ).astype(np.float32)
    columns = (
        TableColumn("height", "gaussian", 1, 170.0, 10.0),
        TableColumn("smokes", "bernoulli", values=("no", "yes")),
        TableColumn("colour", "categorical", 3, values=("red", "green", "blue")),
    )
    return make_run(Diagonal(2), Dataset("people", rows, columns=columns))


@pytest.fixture(scope="session")
def session(plain: TrainedRun) -> Session:
    return Session([plain])


@pytest.fixture(scope="session")
def pair(mixed: TrainedRun, hierarchy: TrainedRun) -> Session:
    return Session([mixed, hierarchy])


@pytest.fixture(scope="session")
def folder(hierarchy: TrainedRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page that needs no server, but for the runtime, which is a pretended one."""
    place = tmp_path_factory.mktemp("static") / "page"
    return write_static(Session([hierarchy]), place, Runtime(b"module", b"wasm"))


@pytest.fixture(scope="session")
def browser_runtime(tmp_path_factory: pytest.TempPathFactory) -> Runtime:
    """From the user's cache if it is there, else by npm into a folder of the tests."""
    from hatchel.data.cache import cache_folder
    from hatchel.explorer.runtime import VERSION

    kept = cache_folder() / f"onnxruntime-web-{VERSION}"
    if kept.is_dir():
        return runtime(kept)
    if shutil.which("npm") is None:
        pytest.skip(f"no onnxruntime-web {VERSION} in the cache folder, and no npm to fetch it")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HATCHEL_CACHE", str(tmp_path_factory.mktemp("runtime")))
        return runtime()


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[[Session], str]]:
    """A session's address; every server ends with the tests."""
    from hatchel.explorer.server import Listening

    running: list[tuple[Listening, threading.Thread]] = []
    known: dict[int, str] = {}

    def start(session: Session) -> str:
        if id(session) not in known:
            opened = Listening.on(session)
            thread = threading.Thread(target=opened.run, daemon=True)
            thread.start()
            while not opened.server.started:
                time.sleep(0.01)
            running.append((opened, thread))
            known[id(session)] = opened.address
        return known[id(session)]

    yield start
    for opened, thread in running:
        opened.server.should_exit = True
        thread.join(10)


class Client:
    """Requests to an application without a network in between."""

    def __init__(self, app: Any, home: str) -> None:
        self.home = home
        self.inner = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=home)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return asyncio.run(self.inner.get(path, **options))

    def post(self, path: str, **options: Any) -> httpx.Response:
        return asyncio.run(self.inner.post(path, **options))


@pytest.fixture(scope="session")
def connect() -> Callable[..., Client]:
    def to(app: Any, home: str = "http://127.0.0.1:8765") -> Client:
        return Client(app, home)

    return to
