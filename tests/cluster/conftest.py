"""Tests that need a cluster of their own: `make test-cluster`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.own_slurm import own_slurm

FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not os.environ.get("HATCHEL_TEST_CLUSTER"):
        for item in items:
            if FOLDER in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="needs Ray and a Slurm of its own: make test-cluster"))


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Its folder."""
    folder = tmp_path_factory.mktemp("slurm")
    with own_slurm(folder):
        yield folder
