"""A command without room on its disk says so in a line and leaves nothing half-written."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.torture import called, commands, fill, furnish, half_written, small_disk

ALL = list(commands(Path("disk")))


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("disk")
    try:
        with small_disk(place, 24 << 20) as found:
            furnish(found)
            yield found
    except OSError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", ALL)
def test_a_full_disk(disk: Path, name: str) -> None:
    fill(disk, 0)
    code, said = called(*commands(disk)[name])
    assert code == 2, said
    assert "No space left on device" in said
    assert half_written(disk, code, said) == ""


@pytest.mark.parametrize("name", ["train", "evaluate", "export hub", "study run", "study export"])
def test_a_read_only_disk(disk: Path, name: str) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    try:
        code, said = called(*commands(disk)[name])
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    assert (code, said.count("\n")) == (2, 1), said
    assert "Read-only file system" in said
