from __future__ import annotations

import base64
import gzip
import html
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from hatchel.core.errors import HatchelError
from hatchel.explorer.page import check_folder, write_static
from hatchel.explorer.runtime import Runtime
from hatchel.explorer.session import Session
from hatchel.training.run import TrainedRun


def values(path: Path) -> dict[str, Any]:
    text = path.read_text()
    return json.loads(text[text.index(", ") + 2 : text.rindex(");")])


def unpacked(text: str) -> bytes:
    return gzip.decompress(base64.b64decode(text))


@pytest.fixture(scope="module")
def shown(hierarchy: TrainedRun) -> Session:
    return Session([hierarchy])


def test_the_models_are_the_runs_decoders(folder: Path, hierarchy: TrainedRun) -> None:
    (levels,) = values(folder / "models.js")["models"]
    assert len(levels) == 2
    z = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    for level, model in enumerate(levels):
        (image,) = onnxruntime.InferenceSession(unpacked(model)).run(None, {"z": z})
        assert np.allclose(np.moveaxis(image, 1, 3), hierarchy.decode(z, level), atol=1e-5)


def test_the_examples_are_items_with_their_codes(folder: Path, shown: Session) -> None:
    examples = json.loads(unpacked(values(folder / "examples.js")["examples"]))
    numbers = [shown.start, *(i for i in shown.about()["points"] if i != shown.start)]
    assert len(examples) == 64
    for n in (0, 1, 63):
        assert examples[n] == shown.pick(numbers[n]) | {"item": n}
    text = (folder / "index.html").read_text()
    about = json.loads(text.split('id="about">')[1].split("</script>")[0])
    assert (about["count"], about["start"]) == (64, 0)
    assert about["factors"][1]["of"] == shown.data.factors(numbers)[:, 1].tolist()


def test_the_runtime_and_its_licence_come_along(folder: Path) -> None:
    assert {k: unpacked(v) for k, v in values(folder / "runtime.js").items()} == {"module": b"module", "wasm": b"wasm"}
    assert "Microsoft" in (folder / "NOTICE.txt").read_text()
    text = html.unescape((folder / "index.html").read_text())
    assert "default-src 'none'" in text
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_nothing_is_overwritten(tmp_path: Path, session: Session) -> None:
    assert check_folder(tmp_path / "new") == tmp_path / "new"
    (tmp_path / "mine.txt").write_text("mine")
    for place in (tmp_path, tmp_path / "mine.txt"):
        with pytest.raises(HatchelError, match="is already there"):
            write_static(session, place, Runtime(b"", b""))
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]
