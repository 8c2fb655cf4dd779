"""The tutorials run from top to bottom in a real Jupyter kernel, and show what they promise."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
ROOT = Path(__file__).parent.parent
EXECUTE = """
import sys, nbformat, nbclient
book = nbformat.read(sys.argv[1], 4)
nbclient.NotebookClient(book, timeout=120).execute()
nbformat.write(book, sys.argv[2])
"""


def executed(name: str, folder: Path) -> list[dict[str, Any]]:
    """All outputs of a notebook's cells, run in a folder of its own."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    own = {"TUTORIAL_STEPS": "60", "PYTHONPATH": path, "HATCHEL_CACHE": str(folder / "cache"), "HOME": str(folder)}
    command = [sys.executable, "-c", EXECUTE, str(ROOT / "docs/tutorials" / name), "out.ipynb"]
    done = subprocess.run(command, cwd=folder, env=os.environ | own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    cells = json.loads((folder / "out.ipynb").read_text())["cells"]
    return [output for cell in cells for output in cell.get("outputs", ())]


def texts(outputs: list[dict[str, Any]], kind: str) -> list[str]:
    return ["".join(output["data"][kind]) for output in outputs if kind in output.get("data", {})]


def test_own_images(tmp_path: Path) -> None:
    outputs = executed("own_images.ipynb", tmp_path)
    pages = texts(outputs, "text/html")
    card = next(page for page in pages if "minimises" in page)
    assert "-log p(x|z) + 4*KL" in card
    assert "data:image/png;base64," in card
    assert any("60/60" in page for page in texts(outputs, "text/plain")), "the bar is one output that was updated"
    assert sum("/60 steps" in "".join(output.get("text", "")) for output in outputs) == 0
    assert any("<iframe" in page and "http://127.0.0.1:" in page for page in pages)
    assert len(texts(outputs, "image/png")) >= 2  # a picture of the data, reconstructions
    assert "PosixPath('runs/discs/report.html')" in texts(outputs, "text/plain")
    assert (tmp_path / "runs/discs/report.html").is_file()
    assert texts(outputs, "text/plain")[-1] == "np.float32(0.0)"
    noise = "".join("".join(output.get("text", "")) for output in outputs if output.get("name") == "stderr")
    assert "1,000 images of 32x48, 3 channels; conv and deconv" in noise


def test_metrics_on_your_arrays(tmp_path: Path) -> None:
    outputs = executed("metrics_on_your_arrays.ipynb", tmp_path)
    copied, rotated = json.loads(texts(outputs, "text/plain")[-1])
    assert copied == pytest.approx(1, abs=0.01)
    assert rotated < 0.5
    assert "mig" in texts(outputs, "text/html")[0]
