"""The tutorials run from top to bottom in a real Jupyter kernel, and show what they promise."""

from __future__ import annotations

import ast
import json
import os
import re
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
    own = {"TUTORIAL_STEPS": "10", "PYTHONPATH": path, "HATCHEL_CACHE": str(folder / "cache"), "HOME": str(folder)}
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
    assert any("10/10" in page for page in texts(outputs, "text/plain")), "the bar is one output that was updated"
    assert sum("/10 steps" in "".join(output.get("text", "")) for output in outputs) == 0
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


def test_new_term(tmp_path: Path) -> None:
    """Both formulas, a MIG of every seed of both, and the interval of their differences as Student's t has it."""
    from scipy import stats

    outputs = executed("new_term.ipynb", tmp_path)
    formulas, migs, tasks = (ast.literal_eval(text) for text in texts(outputs, "text/plain")[-3:])
    assert formulas["sparse"] == formulas["VAE"] + " + 2*E|mu|_1"
    difference = [a - b for a, b in zip(migs["sparse"], migs["VAE"], strict=True)]
    assert len(difference) == 5
    low, high = stats.t.interval(0.95, 4, sum(difference) / 5, stats.sem(difference))
    printed = "".join("".join(output.get("text", "")) for output in outputs if output.get("name") == "stdout")
    found = re.search(r"sparse - VAE: (\S+) \[(\S+), (\S+)\], 5 pairs", printed)
    assert found is not None
    assert [float(x) for x in found.groups()] == pytest.approx([sum(difference) / 5, low, high], abs=3e-3)
    assert tasks == 2 * 2 * 10  # methods x data x seeds


def test_devae_line_by_line(tmp_path: Path) -> None:
    outputs = executed("devae.ipynb", tmp_path)
    shown = texts(outputs, "text/plain")
    assert "'-log p(x|z) + beta_i*KL(q(z|x)||p(z)), beta: 1, 10, 40 by level'" in shown
    assert "True" in shown  # Eqs. 4 to 6 by hand
    drawn, expected = next(ast.literal_eval(text) for text in shown if text.startswith("([0."))
    assert drawn == pytest.approx(expected, abs=0.02)
    migs = next(ast.literal_eval(text) for text in shown if text.startswith("[0."))
    assert migs == pytest.approx([migs[0]] * 3, abs=1e-3)
