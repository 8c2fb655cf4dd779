"""The built wheel holds everything the program reads, and runs away from the source tree."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytest.importorskip("hatchling")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = folder.glob("hatchel-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_every_file_of_the_package_is_in_the_wheel(unpacked: Path) -> None:
    source = {
        p.relative_to(ROOT) for p in (ROOT / "hatchel").rglob("*") if p.is_file() and "__pycache__" not in p.parts
    }
    assert source == {p.relative_to(unpacked) for p in (unpacked / "hatchel").rglob("*") if p.is_file()}


def test_the_wheel_trains_and_reports_away_from_the_source(unpacked: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(unpacked), "OMP_NUM_THREADS": "1"}

    def run(*words: str) -> str:
        command = [sys.executable, "-m", "hatchel", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    place = [sys.executable, "-c", "import hatchel; print(hatchel.__file__)"]
    found = subprocess.run(place, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True).stdout
    assert found.startswith(str(unpacked))
    run("train", "beta_vae", "data=xy_squares", "steps=4", "batch_size=16", "--out", "r", "--quiet")
    run("report", "r", "--bootstrap", "0")
    assert "<html" in (tmp_path / "r" / "report.html").read_text(encoding="utf-8")
