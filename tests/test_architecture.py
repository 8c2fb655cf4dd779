"""Packages import only from those before them: import-linter passes, and names an arrow that points back."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("importlinter")
ROOT = Path(__file__).parent.parent
LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", LINT, "--no-logo", "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("architecture")
    shutil.copytree(ROOT / "hatchel", folder / "hatchel", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def test_the_packages_keep_their_order(copy: Path) -> None:
    done = lint(copy)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("lazy", [False, True])
def test_an_arrow_back_is_named(copy: Path, lazy: bool) -> None:
    planted = copy / "hatchel" / "nets" / "planted.py"
    arrow = "import hatchel.methods.method"
    planted.write_text(f"def later():\n    {arrow}\n" if lazy else f"{arrow}\n")
    done = lint(copy)
    planted.unlink()
    assert done.returncode != 0
    assert "hatchel.nets.planted -> hatchel.methods.method" in done.stdout
