from __future__ import annotations

import os
from pathlib import Path

import pytest

from hatchel.core.errors import HatchelError
from hatchel.explorer.runtime import MODULE, VERSION, WASM, runtime


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No cache, and a PATH with nothing but what the test puts there."""
    monkeypatch.setenv("HATCHEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    return tmp_path


def pretend_npm(folder: Path, does: str) -> None:
    program = folder / "bin" / "npm"
    program.write_text(f"#!/bin/sh\n{does}\n")
    program.chmod(0o755)


def test_without_npm_the_error_says_what_to_do(empty: Path) -> None:
    with pytest.raises(HatchelError, match=rf"no npm to fetch it; run `npm pack onnxruntime-web@{VERSION}`"):
        runtime()


@pytest.mark.skipif(os.name != "posix", reason="the pretended npm is a shell script")
def test_what_npm_gives_is_checked(empty: Path) -> None:
    pretend_npm(empty, 'echo "no network" >&2; exit 1')
    with pytest.raises(HatchelError, match=r"could not fetch .* \(no network\)"):
        runtime()
    pretend_npm(empty, f'echo forged > "$5/onnxruntime-web-{VERSION}.tgz"')
    with pytest.raises(HatchelError, match="wrong checksum; it was not kept"):
        runtime()
    assert not list((empty / "cache").iterdir())


def test_a_damaged_cache_is_not_used(empty: Path) -> None:
    kept = empty / "cache" / f"onnxruntime-web-{VERSION}"
    kept.mkdir(parents=True)
    (kept / MODULE).write_text("forged")
    (kept / WASM).write_text("forged")
    with pytest.raises(HatchelError, match="no npm"):
        runtime()


def test_a_folder_of_ones_own(tmp_path: Path) -> None:
    place = tmp_path / "node_modules" / "onnxruntime-web" / "dist"
    place.mkdir(parents=True)
    with pytest.raises(HatchelError, match="--runtime"):
        runtime(tmp_path)
    (place / MODULE).write_bytes(b"module")
    (place / WASM).write_bytes(b"wasm")
    for folder in (tmp_path, place, place.parent):
        assert (runtime(folder).module, runtime(folder).wasm) == (b"module", b"wasm")
