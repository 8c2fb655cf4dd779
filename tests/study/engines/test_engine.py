"""Naming an engine, and what is said when it is not there."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from hatchel.errors import HatchelError
from hatchel.spec import decode, encode
from hatchel.study.engines.dask import Dask
from hatchel.study.engines.engine import Engine
from hatchel.study.engines.here import Here
from hatchel.study.engines.local import Local
from hatchel.study.engines.ray import Ray
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
        assert decode(Engine, word) == engine
        assert decode(Engine, encode(engine)) == engine


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
        decode(Engine, word)
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
            opened(decode(Engine, f"{kind}://{address}"))
    for bad in ("head", "head:port", ":8786"):
        with pytest.raises(HatchelError, match=f"is not HOST:PORT; say --engine {kind}://HOST:PORT"):
            opened(decode(Engine, f"{kind}://{bad}"))


@pytest.mark.parametrize(("kind", "package"), [("dask", "distributed"), ("ray", "ray"), ("slurm", "submitit")])
def test_a_missing_extra_is_named(kind: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        HatchelError, match=rf'engine {kind}: {package} is not installed; pip install "hatchel\[{kind}\]"'
    ):
        opened(decode(Engine, kind))


def test_slurm_is_sent_to_a_login_node_where_there_is_no_sbatch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(HatchelError, match="engine slurm: there is no sbatch here; run the study on a login node"):
        opened(Slurm())
