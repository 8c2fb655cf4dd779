"""Every remedy that an error names is typed here, as it is printed, and works."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from hatchel.cli.main import app
from hatchel.core.errors import HatchelError

ASSIGNMENT = r"[\w.]+=(?:\[[^\]]*\]|[^\s,;.\[]+)"
REMEDY = re.compile(rf"(?:[Ss]et|use|with) ({ASSIGNMENT}(?: {ASSIGNMENT})*)")
COMMAND = re.compile(r"hatchel ((?:train|evaluate|list|study|data) [^`'\n]*?)(?:`|\)?$)")

SQUARES = "data=xy_squares data.size=16 batch_size=16 latent.dim=4"
LINES = {
    "empty cells": "train vae data=TMP/gaps.csv batch_size=4",
    "stray texts": "train vae data=TMP/strays.csv batch_size=4",
    "too many texts": "train vae data=TMP/names.csv batch_size=4",
    "several arrays": "train vae data=TMP/two.npz batch_size=4",
    "a broken picture": "train vae data=TMP/pictures batch_size=2 data.size=16",
    "rows": "train vae data=TMP/rows.npy batch_size=4 encoder=conv",
    "data show, empty cells": "data show TMP/gaps.csv --out TMP/rows.png",
    "discrete sites": f"train dip_vae_i {SQUARES} latent=mixed",
    "one level": f"train de_vae {SQUARES} latent=diagonal",
}
"""What provokes them."""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    numbers = [f"{v:.3f},{w:.3f}" for v, w in rng.normal(size=(40, 2))]
    (tmp_path / "gaps.csv").write_text("\n".join(["a,b", *numbers, "1.5,"]))
    (tmp_path / "strays.csv").write_text("\n".join(["a,b", *numbers, "1.5,none"]))
    (tmp_path / "names.csv").write_text("\n".join(["a,b", *(f"{n},name {n}" for n in range(3000))]))
    images = rng.integers(255, size=(12, 16, 16), dtype=np.uint8)
    np.savez(tmp_path / "two.npz", first=images, second=images)
    np.save(tmp_path / "odd.npy", rng.integers(255, size=(12, 28, 28), dtype=np.uint8))
    np.save(tmp_path / "rows.npy", rng.normal(size=(12, 5)))
    (tmp_path / "pictures").mkdir()
    for n in range(4):
        Image.fromarray(images[n]).save(tmp_path / "pictures" / f"{n}.png")
    (tmp_path / "pictures" / "broken.png").write_bytes(b"\x89PNG")
    return tmp_path


def told(words: list[str]) -> str:
    """The error of a command line; nothing where it works."""
    try:
        found = CliRunner().invoke(app, words, catch_exceptions=False)
    except HatchelError as error:
        return str(error)
    assert found.exit_code == 0, found.output
    return ""


@pytest.mark.filterwarnings("ignore:left out 1 unreadable")
@pytest.mark.parametrize("name", sorted(LINES))
def test_what_an_error_says_to_set_works_as_typed(name: str, files: Path) -> None:
    words = LINES[name].replace("TMP", str(files)).split()
    if words[0] == "train":
        words += ["steps=1", "-q", "--out", str(files / "run")]
    line = told(words)
    found = REMEDY.search(line)
    assert found, line or "it works"
    again = told([*words, *found[1].split()])
    assert not again, f"{line}\n{found[1]}\n{again}"


def test_commands_that_errors_name_work_as_typed(files: Path) -> None:
    out = str(files / "run")
    start = ["train", "vae", *SQUARES.split(), "-q", "--out", out]
    assert not told([*start, "steps=2"])
    for words in (
        [*start, "steps=2", "seed=1"],  # another configuration: to train that run further ...
        ["show", "TMP"],
        ["list", "presets"],
    ):
        line = told(words)
        found = COMMAND.search(line)
        if found is None:
            assert "Known: " in line
            continue
        assert not told(found[1].replace("steps=...", "steps=3").split()), line
