"""Page: the HTML around the one script and the one style sheet, for the server and as a folder that needs no server."""

from __future__ import annotations

import base64
import gzip
import json
import tempfile
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from hatchel.core.errors import HatchelError
from hatchel.core.files import whole_folder, writable_folder
from hatchel.explorer.runtime import Runtime
from hatchel.explorer.session import Session
from hatchel.export.onnx import write_decoder
from hatchel.report.page import rendered
from hatchel.training.run import TrainedRun

EXAMPLES = 300
"""Items that the page holds at most, with their codes and pictures."""
SPACE = 3 << 20
"""Bytes that these may take: fewer of them where pictures or codes are large."""
STATIC_POLICY = (
    "default-src 'none'; script-src 'self' blob: 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; "
    "form-action 'none'; base-uri 'none'"
)


def asset(name: str) -> str:
    """A file of the page, by a name from the code, never from a request."""
    return resources.files("hatchel.explorer").joinpath("web", name).read_text(encoding="utf-8")


def page(
    about: dict[str, Any], scripts: Sequence[str] = (), policy: str | None = None, token: str | None = None
) -> str:
    """The page; `scripts` come before its own, `policy` is a content security policy for where no server sends one.

    `token`: for its own files and requests, where it is inside another page: browsers keep no cookie there.
    """
    values = {"about": about, "data": script_json(about), "scripts": scripts, "policy": policy}
    suffix = f"?token={token}" if token else ""
    return rendered("explorer.html.j2", {**values, "suffix": suffix}, "hatchel.explorer", "web")


def script_json(value: Any) -> Markup:
    """JSON that can stand inside a script element: no `<` can end it.

    >>> "</script>" in script_json({"name": "</script>"})
    False
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def check_folder(folder: Path) -> Path:
    """A folder that is empty or not there yet, or why it cannot be used, before any work is done."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise HatchelError(f"--static {folder}: is already there; remove it, or name a new folder")
    writable_folder(folder.resolve().parent)
    return folder


def write_static(session: Session, folder: Path, runtime: Runtime) -> Path:
    """Write index.html and all it needs; it can be opened from disk or put on any static host."""
    check_folder(folder)
    models = [[_decoder(e.run, level) for level in range(len(e.spaces))] for e in session.runs]
    examples = _examples(session)
    about = _about(session, examples)
    if folder.exists():
        folder.rmdir()
    with whole_folder(folder) as draft:
        write_runtime(draft / "runtime.js", runtime)
        encoded = [session.pick(item) | {"item": n} for n, item in enumerate(examples)]
        _script(draft / "models.js", models=models)
        _script(draft / "examples.js", examples=packed(json.dumps(encoded, allow_nan=False).encode()))
        for name in ("explorer.js", "explorer.css", "local.js", "NOTICE.txt"):
            (draft / name).write_text(asset(name), encoding="utf-8")
        text = page(about, ("runtime.js", "models.js", "examples.js", "local.js"), STATIC_POLICY)
        (draft / "index.html").write_text(text, encoding="utf-8")
    return folder


def write_runtime(path: Path, runtime: Runtime) -> None:
    """The runtime as a script."""
    _script(path, module=packed(runtime.module), wasm=packed(runtime.wasm))


def packed(content: bytes) -> str:
    """Compressed, as letters; the same bytes give the same text.

    >>> gzip.decompress(base64.b64decode(packed(b"abc")))
    b'abc'
    """
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode("ascii")


def _decoder(run: TrainedRun, level: int) -> str:
    with tempfile.TemporaryDirectory() as place:
        return packed(write_decoder(run, Path(place) / "decoder.onnx", level).read_bytes())


def _script(path: Path, **values: Any) -> None:
    path.write_text(f"Object.assign((window.HATCHEL ??= {{}}), {json.dumps(values)});\n", encoding="utf-8")


def _examples(session: Session) -> list[int]:
    """Numbers of the items that the page holds: the one it starts with, then a spread of those that were encoded."""
    each = sum(int(np.prod(e.run.shape)) + 12 * len(e.spaces) * e.run.spec.latent.width for e in session.runs)
    count = min(EXAMPLES, max(2, SPACE // each), len(session.points))
    spread = session.points[np.linspace(0, len(session.points) - 1, count).astype(np.int64)]
    return list(dict.fromkeys([session.start, *session.items[spread].tolist()]))


def _about(session: Session, examples: list[int]) -> dict[str, Any]:
    """What the page needs, its items numbered anew."""
    about = session.about()
    found = session.data.factors(examples)
    for k, factor in enumerate(about["factors"]):
        assert found is not None
        factor["of"] = found[:, k].tolist()
    numbers = list(range(len(examples)))
    among = f"examples from {session.data.name}"
    return about | {"count": len(examples), "start": 0, "points": numbers, "among": among}
