"""`make torture`: kills, damage, races and full disks for as long as asked; a table of what was tried and failed."""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hatchel.cli.main import main
from hatchel.core.errors import HatchelError
from hatchel.core.files import DRAFT, Damaged
from hatchel.core.spec import updated
from hatchel.evaluation.codes import encodings, not_stored
from hatchel.evaluation.evaluation import Evaluation, evaluate
from hatchel.explorer.runtime import MODULE, WASM
from hatchel.export import onnx, safetensors, zoo
from hatchel.methods.resolve import resolve
from hatchel.study.engines.local import Here
from hatchel.study.runner import run_tasks
from hatchel.study.store import Store
from hatchel.study.trained import Trained
from hatchel.training.checkpoint import checkpoints, restore
from hatchel.training.events import read_events
from hatchel.training.loop import make_optimizer
from hatchel.training.run import TrainedRun, train
from hatchel.training.spec import RunSpec

NETS = {"encoder": {"kind": "mlp", "hidden": [8]}, "decoder": {"kind": "mlp_decoder", "hidden": [8]}, "latent.dim": 2}
PLAIN = {"data.size": 8, "batch_size": 16, "log_every": 5, "checkpoint_every": 20, "device": "cpu", "threads": 1}
STUDY = """\
name: small
data: {kind: xy_squares, size: 8}
methods: [vae]
set: {steps: 4, batch_size: 16, encoder: {kind: mlp, hidden: [8]}, decoder: {kind: mlp_decoder, hidden: [8]}}
seeds: 2
metrics: [mig]
"""


def flip(path: Path, place: int = 30) -> None:
    """One bit of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def damages(whole: bytes, count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """So many ways to damage a file, each one another content: a flipped bit, a cut, a block of zeros."""
    draw = random.Random(seed)
    made = 0
    while made < count:
        place = draw.randrange(len(whole))
        match draw.choice(("flip", "cut", "zeros")):
            case "flip":
                what = f"bit flipped in byte {place} of {len(whole)}"
                content = whole[:place] + bytes([whole[place] ^ 1 << draw.randrange(8)]) + whole[place + 1 :]
            case "cut":
                what, content = f"cut to {place} of {len(whole)} bytes", whole[:place]
            case _:
                size = min(draw.choice((1, 16, 512, 4096)), len(whole) - place)
                what = f"{size} zeros from byte {place} of {len(whole)}"
                content = whole[:place] + bytes(size) + whole[place + size :]
        if content != whole:
            made += 1
            yield what, content


@contextlib.contextmanager
def small_disk(folder: Path, size: int) -> Generator[Path]:
    """A disk of so many bytes of its own, in memory; OSError where this user may not mount one."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True, check=False).returncode:
        raise OSError("no small disk: mounting a tmpfs needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path, free: int) -> None:
    """Leave so many bytes on a disk."""
    filler = disk / "filler"
    filler.unlink(missing_ok=True)
    with filler.open("wb") as file:
        file.truncate(0)
        left = shutil.disk_usage(disk).free - free
        file.write(bytes(max(left, 0)))


def called(*words: str) -> tuple[int, str]:
    """A command as a shell calls it, in this process: its exit code and what it wrote to standard error."""
    not_stored.cache_clear()  # a line is written once a process
    error, before = io.StringIO(), sys.argv
    sys.argv = ["hatchel", *words]
    try:
        with contextlib.redirect_stderr(error), contextlib.redirect_stdout(io.StringIO()):
            main()
        return 0, error.getvalue()
    except SystemExit as stop:
        return int(stop.code or 0), error.getvalue()
    finally:
        sys.argv = before


def commands(disk: Path) -> dict[str, list[str]]:
    """Every command that writes, on a disk that `furnish` has prepared."""
    run, quick = str(disk / "run"), ["--bootstrap", "0", "-n", "64"]
    study = [str(disk / "small.yaml"), "--store", str(disk / "store")]
    small = [f"{k}={v}" for k, v in PLAIN.items()]
    return {
        "train": ["train", "vae", "data=xy_squares", *small, "steps=3", "--out", str(disk / "new" / "run"), "-q"],
        "evaluate": ["evaluate", run, "--metrics", "mig,sap", *quick],
        "report": ["report", run, *quick],
        "figures": ["report", run, "--out", str(disk / "page.html"), "--figures", str(disk / "figures"), *quick],
        "export safetensors": ["export", run, "--safetensors", str(disk / "new" / "tensors")],
        "export onnx": ["export", run, "--onnx", str(disk / "new" / "onnx")],
        "export hub": ["export", run, "--hub", str(disk / "export"), "--force"],
        "explore": ["explore", run, "--static", str(disk / "page"), "--runtime", str(disk / "runtime"), "-n", "64"],
        "study run": ["study", "run", *study, "--engine", "here", "-q"],
        "study report": ["study", "report", *study],
        "study publish": ["study", "publish", *study, "--out", str(disk / "published")],
        "data show": ["data", "show", "xy_squares", "--out", str(disk / "sheet.png")],
        "score": ["score", str(disk / "rows.npz"), "--metrics", "mig", "--plot", str(disk / "plot.png")],
        "study export": ["study", "export", str(disk / "out.csv"), "--store", str(disk / "store")],
    }


def furnish(disk: Path) -> None:
    """A run, an export, and a study that is half done."""
    run = train(small_spec(), out=disk / "run", progress=False)
    safetensors.write(run, disk / "export")
    (disk / "small.yaml").write_text(STUDY)
    codes = np.random.default_rng(0).normal(size=(64, 2))
    np.savez(disk / "rows.npz", codes=codes, factors=(codes > 0).astype(np.int64))
    (disk / "runtime").mkdir()
    for name in (MODULE, WASM):
        (disk / "runtime" / name).write_bytes(b"x")
    assert called(*commands(disk)["study run"], "--seeds", "1") == (0, "")


def half_written(disk: Path, code: int, said: str) -> str:
    """What is wrong after a command on a disk without room for its result; nothing, if all is well."""
    if code not in (0, 2) or "Traceback" in said:
        return f"exit code {code}: {said[-300:]}"
    lines = [line for line in said.splitlines() if line.startswith("hatchel: ")]
    if code == 2 and not lines:
        return f"exit code 2 without a reason: {said[-300:]}"
    if drafts := [str(p) for p in disk.rglob(f"{DRAFT}*")]:
        return f"left behind: {drafts}"
    may_be_empty = ("lock", "events.jsonl", "filler")
    files = [p for p in disk.rglob("*") if p.is_file() and not p.name.endswith(may_be_empty)]
    if empty := [str(p) for p in files if not p.stat().st_size]:
        return f"empty: {empty}"
    sound, why = called("verify", str(disk))
    return "" if sound == 0 else f"damaged: {why}"


def small_spec(**fields: Any) -> RunSpec:
    """A run of seconds."""
    return updated(resolve("beta_vae", "xy_squares", {**NETS, **PLAIN}).with_fields(steps=120), fields)


def state(folder: Path) -> tuple[list[float], list[int]]:
    """The weights of a run, and the steps of its events."""
    run = TrainedRun.load(folder)
    return torch.cat([p.flatten() for p in run.model.state_dict().values()]).tolist(), [
        e["step"] for e in read_events(folder)
    ]


def training(folder: str, seed: int, resume: bool, force: bool) -> None:
    """In a process of its own; exit code 2 where it is refused."""
    torch.set_num_threads(1)
    try:
        train(small_spec(seed=seed), out=folder, resume=resume, force=force, progress=False)
    except HatchelError:
        sys.exit(2)


def tasks() -> list[Trained]:
    """Of a small study."""
    return [Trained(seed=seed, run=small_spec(), metrics=(), items=64) for seed in range(2)]


def studying(folder: str) -> None:
    """In a process of its own."""
    torch.set_num_threads(1)
    run_tasks(tasks(), Store(folder), Here())


class Torture:
    """Experiments, each a method that raises AssertionError where a promise was broken."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.draw, self.number, self.hits = folder, random.Random(seed), 0, 0
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(["tests.torture"])
        wholes = [train(small_spec(seed=seed), out=folder / f"whole-{seed}", progress=False) for seed in (0, 1)]
        self.references = [state(run.folder) for run in wholes]
        self.run = train(small_spec(), out=folder / "damaged", progress=False)
        evaluate(self.run, "mig,sap", items=64, bootstrap=0)
        safetensors.write(self.run, folder / "tensors")
        onnx.write(self.run, folder / "onnx")
        zoo.pack(self.run, zoo.Card("squares/vae", "", 0, {}, "", "", {}, ""), folder / "zoo")
        self.records = self.table(Store(folder / "peace"))
        self.damage = self.damaging()

    def table(self, store: Store) -> dict[str, Any]:
        """What the records of a study hold, computed where they are missing."""
        run_tasks(tasks(), store, Here())
        return {d: store.record(d)["values"] for d in store.digests()}

    def place(self) -> Path:
        """A new folder; the one before last is removed."""
        self.number += 1
        shutil.rmtree(self.folder / f"try-{self.number - 2}", ignore_errors=True)
        return self.folder / f"try-{self.number}"

    def start(self, function: Callable[..., None], *arguments: Any) -> Any:
        """A process."""
        process = self.context.Process(target=function, args=arguments)
        process.start()
        return process

    def kill(self, process: Any, seconds: float) -> None:
        """After so long; counted, if it was not too late."""
        process.join(seconds)
        process.kill()
        process.join()
        assert process.exitcode in (0, -9), f"ended by itself with {process.exitcode}"
        self.hits += process.exitcode == -9

    def kill_training(self) -> None:
        """Killed up to three times, then resumed: the weights and events of a run in peace."""
        folder = self.place()
        for _ in range(self.draw.randint(1, 3)):
            process = self.start(training, str(folder), 0, True, False)
            self.kill(process, self.draw.uniform(0, 1.5))
        training(str(folder), 0, True, False)
        assert state(folder) == self.references[0]

    def kill_study(self) -> None:
        """Killed up to three times, then run again: the records of a study in peace."""
        store = Store(self.place())
        for _ in range(self.draw.randint(1, 3)):
            process = self.start(studying, str(store.folder))
            self.kill(process, self.draw.uniform(0, 2.5))
        assert self.table(store) == self.records

    def race(self) -> None:
        """Two or three trainings of two seeds in one folder at once: in the end one of them, whole."""
        folder = self.place()
        seeds = [self.draw.randrange(2) for _ in range(self.draw.randint(2, 3))]
        ways = [self.draw.choice(((True, False), (False, True), (False, False))) for _ in seeds]
        started = [self.start(training, str(folder), s, *way) for s, way in zip(seeds, ways, strict=True)]
        for process in started:
            process.join(120)
        codes = [process.exitcode for process in started]
        assert set(codes) <= {0, 2}, codes
        assert 0 in codes, codes
        seed = TrainedRun.load(folder).spec.seed
        assert state(folder) == self.references[seed], (seeds, ways, codes)

    def damaging(self) -> Iterator[str]:
        """One damaged file after the other, read as the program reads it; the word is what went unnoticed, or none."""
        system = self.run.spec.build(self.run.shape)
        optimizer = make_optimizer(system, self.run.spec, torch.device("cpu"))
        newest, store = checkpoints(self.run.folder)[0], Store(self.folder / "peace")
        (codes,) = self.run.folder.glob("codes-*.safetensors")
        digest = tasks()[0].digest()

        def raises(read: Callable[[], Any]) -> bool:
            try:
                read()
            except Damaged:
                return True
            return False

        def encoded_again() -> bool:
            with contextlib.redirect_stderr(io.StringIO()):
                before = codes.stat().st_ino
                encodings(self.run, 64)
                return codes.stat().st_ino != before

        readers: dict[Path, Callable[[], bool]] = {
            newest / name: lambda: restore(self.run.folder, system, optimizer) < self.run.steps
            for name in ("model.safetensors", "training.safetensors", "state.json", "SHA256SUMS")
        }
        readers |= {
            self.run.folder / "config.json": lambda: raises(lambda: TrainedRun.load(self.run.folder)),
            self.run.folder / "evaluation.json": lambda: raises(lambda: Evaluation.load(self.run.folder)),
            codes: encoded_again,
            store.folder_of(digest) / "record.json": lambda: store.status(digest) == "waiting",
            self.folder / "tensors" / "model.safetensors": lambda: raises(
                lambda: safetensors.read(self.folder / "tensors")
            ),
            self.folder / "tensors" / "config.json": lambda: raises(lambda: safetensors.read(self.folder / "tensors")),
            self.folder / "onnx" / "decoder.onnx": lambda: raises(lambda: onnx.read(self.folder / "onnx")),
        }
        readers |= {
            path: lambda: raises(lambda: zoo.unpacked("squares/vae", self.folder / "zoo", self.place()))
            for path in (self.folder / "zoo" / "squares").iterdir()
        }
        wholes = {path: path.read_bytes() for path in readers}
        while True:
            for path, noticed in readers.items():
                for what, content in damages(wholes[path], 1, self.draw.randrange(1 << 30)):
                    path.write_bytes(content)
                    with contextlib.redirect_stderr(io.StringIO()):
                        found = noticed()
                    path.write_bytes(wholes[path])
                    yield "" if found else f"{path.name}: {what}"

    def damage_files(self) -> None:
        """A flipped bit, a cut or zeros in a file: noticed when it is read."""
        unnoticed = next(self.damage)
        assert not unnoticed, unnoticed

    def full_disk(self) -> None:
        """A command with little room on its disk: done, or refused in a line, and nothing half-written."""
        with small_disk(self.place(), 24 << 20) as disk:
            furnish(disk)
            name, words = self.draw.choice(list(commands(disk).items()))
            fill(disk, self.draw.choice((0, 4096, 1 << 15, 1 << 17, 1 << 19)))
            problem = half_written(disk, *called(*words))
            assert not problem, f"{name}: {problem}"


def run(minutes: float, seed: int) -> int:
    """The table; how many experiments failed."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        torture = Torture(Path(folder), seed)
        kinds: dict[str, tuple[Callable[[], None], float]] = {
            "kill -9 of a training, up to 3 times, then resumed": (torture.kill_training, 0.25),
            "kill -9 of a study, up to 3 times, then run again": (torture.kill_study, 0.2),
            "two or three trainings in one folder": (torture.race, 0.2),
            "flipped bit, cut, zeros in a file": (torture.damage_files, 0.1),
            "commands on a full disk": (torture.full_disk, 0.25),
        }
        rows: list[tuple[str, str, int]] = []
        for name, (experiment, share) in kinds.items():
            tried, failed, end = 0, 0, time.monotonic() + minutes * 60 * share
            least = 1000 if experiment == torture.damage_files else 1
            note, torture.hits = "", 0
            while not note and (time.monotonic() < end or tried < least):
                tried += 1
                try:
                    experiment()
                except AssertionError as error:
                    failed += 1
                    print(f"FAILED {name}: {error}", flush=True)
                except OSError as error:
                    tried, note = tried - 1, f" ({error})"
            note += f" ({torture.hits} kills hit)" if torture.hits else ""
            rows.append((name + note, str(tried), failed))
            print(f"{name}{note}: {tried} tried, {failed} failed", flush=True)
    print("\n| what | tried | failed |\n| --- | ---: | ---: |")
    for name, tried, failed in rows:
        print(f"| {name} | {tried} | {failed} |")
    return sum(failed for *_, failed in rows)


def command() -> None:
    """Called by `make torture`; not a script, which each new process would import once more."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    chosen = parser.parse_args()
    print(f"seed {chosen.seed}", flush=True)
    sys.exit(run(chosen.minutes, chosen.seed) > 0)
