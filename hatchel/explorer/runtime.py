"""Runtime: ONNX Runtime for browsers in one pinned version, from the cache folder, npm or a folder of one's own."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hatchel.core.errors import HatchelError
from hatchel.core.files import whole_folder
from hatchel.data.cache import cache_folder

VERSION = "1.30.0"
INTEGRITY = "q0y+JrrtukXSzsBWEMccVfqX25LRmosXHF+CaRJmg8pZClzcV7svNc4rKY3jL02Vb7QmRMDs1SigqR4CXAfKYQ=="
"""SHA-512 of the npm package."""
MODULE, WASM = "ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm"
CHECKSUMS = {
    MODULE: "11e64bd8ffe11bd1a2a2f0d6275fdfbbba7262f0b76b99b53d228a8a22ef3d90",
    WASM: "3398c10d07d229bd91b364548e130e0e51a8e5704b88c7c083ebbeb78842dee2",
}
"""SHA-256 of the two files that are used."""
PLACES = ("", "dist", "package/dist", "node_modules/onnxruntime-web/dist")
SECONDS = 600


@dataclass(frozen=True)
class Runtime:
    """The two files: the JavaScript module and the WebAssembly it loads."""

    module: bytes
    wasm: bytes


def runtime(folder: Path | None = None) -> Runtime:
    """From a folder that was named, else from the cache, else fetched by npm into the cache."""
    if folder is not None:
        return _from_folder(folder)
    home = cache_folder() / f"onnxruntime-web-{VERSION}"
    kept = _kept(home)
    if kept is None:
        _fetch(home)
        kept = _kept(home)
    if kept is None:
        raise HatchelError(f"{home}: what npm gave is not onnxruntime-web {VERSION}; remove the folder and try again")
    return kept


def _from_folder(folder: Path) -> Runtime:
    for place in PLACES:
        module, wasm = folder / place / MODULE, folder / place / WASM
        if module.is_file() and wasm.is_file():
            return Runtime(module.read_bytes(), wasm.read_bytes())
    raise HatchelError(
        f"--runtime {folder}: has no {MODULE} and {WASM}; name the folder of an unpacked onnxruntime-web, such as "
        "node_modules/onnxruntime-web"
    )


def _kept(home: Path) -> Runtime | None:
    """What the cache holds, if its checksums are right."""
    try:
        found = {name: (home / name).read_bytes() for name in CHECKSUMS}
    except OSError:
        return None
    if any(hashlib.sha256(found[name]).hexdigest() != right for name, right in CHECKSUMS.items()):
        return None
    return Runtime(found[MODULE], found[WASM])


def _fetch(home: Path) -> None:
    package = f"onnxruntime-web@{VERSION}"
    by_hand = f"run `npm pack {package}` where there is a network, unpack it, and name that folder with --runtime"
    npm = shutil.which("npm")
    if npm is None:
        raise HatchelError(f"--static needs onnxruntime-web {VERSION}, and there is no npm to fetch it; {by_hand}")
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent) as draft:
            done = subprocess.run(
                [npm, "pack", package, "--silent", "--pack-destination", draft],
                cwd=draft, capture_output=True, text=True, timeout=SECONDS, check=False,
            )  # fmt: skip
            archives = list(Path(draft).glob("*.tgz"))
            if done.returncode or len(archives) != 1:
                reason = (done.stderr.strip().splitlines() or ["it wrote nothing"])[-1]
                raise HatchelError(f"npm could not fetch {package} ({reason}); {by_hand}")
            content = archives[0].read_bytes()
            if base64.b64encode(hashlib.sha512(content).digest()).decode() != INTEGRITY:
                raise HatchelError(f"npm gave a {package} with the wrong checksum; it was not kept; {by_hand}")
            shutil.rmtree(home, ignore_errors=True)
            with tarfile.open(archives[0]) as archive, whole_folder(home) as kept:
                for name in CHECKSUMS:
                    member = archive.extractfile(f"package/dist/{name}")
                    assert member is not None
                    (kept / name).write_bytes(member.read())
    except subprocess.TimeoutExpired:
        raise HatchelError(f"npm did not fetch {package} within {SECONDS // 60} minutes; {by_hand}") from None
    except OSError as error:
        raise HatchelError(f"{home}: cannot keep onnxruntime-web there ({error.strerror}); {by_hand}") from None
