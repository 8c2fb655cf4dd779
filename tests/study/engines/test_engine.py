"""Naming an engine, and what is said when it is not there."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from hatchel.core.errors import HatchelError
from hatchel.core.spec import from_dict, to_dict
from hatchel.study.engines.dask import Dask
from hatchel.study.engines.engine import Engine
from hatchel.study.engines.here import Here
from hatchel.study.engines.local import Local
from hatchel.study.engines.ray import Ray, present_token
from hatchel.study.engines.slurm import Slurm


def test_a_word_names_an_engine_and_an_address_its_cluster() -> None:
    words = {
        "here": Here(),
        "local": Local(),
        "dask": Dask(),
        "dask://head:8786": Dask(address="head:8786"),
        "ray": Ray(),
        "ray://head:10001": Ray(address="head:10001"),
        "slurm": Slurm(),
    }
    for word, engine in words.items():
        assert from_dict(Engine, word) == engine
        assert from_dict(Engine, to_dict(engine)) == engine


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("dsak", "unknown engine 'dsak'. Did you mean 'dask'"),
        ("local://head:1", "engine local: takes no address"),
        ({"kind": "local", "workers": -1}, "workers: must be 0"),
        ({"kind": "slurm", "minutes": 0}, "minutes: input should be greater than 0"),
    ],
)
def test_a_wrong_word_is_answered(word: object, answer: str) -> None:
    with pytest.raises(HatchelError) as caught:
        from_dict(Engine, word)
    assert str(caught.value).startswith(answer)


def test_the_cores_are_divided_between_cells_not_shared() -> None:
    cores = os.cpu_count() or 1
    assert Here().slots == 1
    for engine in (Local, Dask, Ray):
        assert engine().slots == cores
        assert engine(threads=2 * cores).slots == 1
        assert engine(workers=3).slots == 3


def opened(engine: Engine) -> None:
    with engine.open():
        raise AssertionError("it opened")


@pytest.mark.parametrize("kind", ["dask", "ray"])
def test_an_unreachable_cluster_is_one_line(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", sys)  # asked for before the cluster is
    with socket.socket() as silent:  # bound but not listening: refuses
        silent.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(HatchelError, match=rf"engine {kind}: nothing answers at {address} \(Connection refused\)"):
            opened(from_dict(Engine, f"{kind}://{address}"))
    for bad in ("head", "head:port", ":8786"):
        with pytest.raises(HatchelError, match=f"is not HOST:PORT; use --engine {kind}://HOST:PORT"):
            opened(from_dict(Engine, f"{kind}://{bad}"))


@pytest.mark.parametrize(("kind", "package"), [("dask", "distributed"), ("ray", "ray"), ("slurm", "submitit")])
def test_a_missing_extra_is_named(kind: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        HatchelError, match=rf'engine {kind}: {package} is not installed; pip install "hatchel\[{kind}\]"'
    ):
        opened(from_dict(Engine, kind))


def test_slurm_is_sent_to_a_login_node_where_there_is_no_sbatch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(HatchelError, match="engine slurm: there is no sbatch here; run the study on a login node"):
        opened(Slurm())


@pytest.mark.parametrize(
    ("has", "mode", "then"),
    [
        ("nothing", None, None),
        ("RAY_AUTH_TOKEN", None, "token"),
        ("RAY_AUTH_TOKEN_PATH", None, "token"),
        ("file", None, "token"),
        ("file", "disabled", "disabled"),
    ],
)
def test_a_ray_cluster_is_shown_the_token_that_there_is(
    has: str, mode: str | None, then: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RAY_AUTH_MODE", mode or "")  # so that it is put back
    if mode is None:
        monkeypatch.delenv("RAY_AUTH_MODE")
    if has == "file":
        (tmp_path / ".ray").mkdir()
        (tmp_path / ".ray" / "auth_token").write_text("5" * 64)
    elif has != "nothing":
        monkeypatch.setenv(has, "something")
    present_token()
    assert os.environ.get("RAY_AUTH_MODE") == then


class Fickle:
    """A Ray whose head loses the process of its first clients."""

    def __init__(self, *answers: Exception | None) -> None:
        self.answers, self.calls = list(answers), list[str]()

    def init(self, address: str, **options: object) -> None:
        self.calls.append(f"init {address}")
        answer = self.answers.pop(0)
        if answer is not None:
            raise answer

    def shutdown(self) -> None:
        self.calls.append("shutdown")


LOST = ConnectionAbortedError("Initialization failure from server:\nTraceback ...\nRuntimeError: startup failed.")


@pytest.mark.parametrize(
    ("answers", "calls", "message"),
    [
        ((LOST, None), ["init ray://h:1", "shutdown", "init ray://h:1", "shutdown"], ""),
        ((LOST,) * 3, ["init ray://h:1", "shutdown"] * 3, "Initialization failure from server: RuntimeError: startup"),
        ((ConnectionError("no token."),), ["init ray://h:1", "shutdown"], r"cannot be used \(no token\); if it asks"),
    ],
)
def test_a_client_that_ray_has_lost_asks_again(
    answers: tuple[Exception | None, ...], calls: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fickle = Fickle(*answers)
    monkeypatch.setitem(sys.modules, "ray", fickle)  # pyright: ignore[reportArgumentType]
    monkeypatch.setattr(Ray, "ready", lambda self: None)  # pyright: ignore[reportUnknownLambdaType]
    if message:
        with pytest.raises(HatchelError, match=message):
            opened(Ray(address="h:1"))
    else:
        with pytest.raises(AssertionError, match="it opened"):
            opened(Ray(address="h:1"))
    assert fickle.calls == calls
