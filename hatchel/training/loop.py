"""The loop: batches in, one backward, one optimiser, and nothing lost when it is stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor

from hatchel.core import distributed
from hatchel.core.errors import HatchelError
from hatchel.core.memory import keep_memory
from hatchel.core.products import fast_products
from hatchel.core.progress import TrainingBar
from hatchel.data.dataset import Dataset
from hatchel.objective.independent import blind_critics
from hatchel.objective.objective import Loss
from hatchel.training.callbacks import Watch, notify
from hatchel.training.checkpoint import (
    Description,
    checkpoints,
    remove_after,
    restore,
    save,
    stored_state,
    stored_windows,
)
from hatchel.training.compiled import loss_of
from hatchel.training.events import Events, Windows, read_events
from hatchel.training.model import System
from hatchel.training.order import Batches
from hatchel.training.spec import Adam, Constant, CriticAdam, RunSpec

if TYPE_CHECKING:
    from hatchel.training.run import TrainedRun

DIVERGED = 1e9
"""Nats per item: no image set comes near it, and float32 has lost the units digit of the terms by then."""


class Stopped(HatchelError):
    """A run that was asked to stop and saved itself."""

    exit_code = 130


class Refused(HatchelError):
    """What the first step said to its spec or data."""


def choose_device(name: str) -> torch.device:
    """cpu, cuda, cuda:1 or mps by name; auto takes the best there is."""
    if name == "auto":
        best = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
        return torch.device(f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if best == "cuda" else best)
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise HatchelError(f"device: {name!r} cannot be used here ({reason}); use cpu, cuda, mps or auto") from None
    return device


@contextlib.contextmanager
def processes(device: torch.device) -> Generator[None]:
    """Join the other processes that torchrun started, if it did."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or dist.is_initialized():
        yield
        return
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield
    finally:
        dist.destroy_process_group()


def make_optimizer(system: System, spec: RunSpec, device: torch.device) -> torch.optim.Adam:
    """One Adam for all, or AdamW; the critics are a group with settings of their own."""

    def group(parameters: Iterator[torch.nn.Parameter], adam: Adam | CriticAdam) -> dict[str, Any]:
        lr = spec.optimizer.lr if adam.lr is None else adam.lr
        schedule = adam.schedule or spec.optimizer.schedule or Constant()
        own = {"lr": lr, "betas": (adam.beta1, adam.beta2), "eps": adam.eps, "weight_decay": adam.weight_decay}
        return {"params": list(parameters), **own, "full_lr": lr, "schedule": schedule, "clip": adam.clip}

    groups = [
        group(system.model.parameters(), spec.optimizer),
        group(system.objective.parameters(), spec.critic_optimizer),
    ]
    kind = torch.optim.AdamW if any(g["weight_decay"] for g in groups) else torch.optim.Adam
    return kind([g for g in groups if g["params"]], fused=device.type in ("cpu", "cuda"))


def fit(
    system: System,
    description: Description,
    batches: Batches,
    folder: Path,
    resume: bool,
    progress: bool,
    view: Callable[[int], TrainedRun],
    callbacks: Sequence[object] = (),
) -> int:
    """Train `system` in place on these batches, up to the spec's steps or its `stop`; the steps done.

    `view`: the run as it is after so many steps, for callbacks.
    """
    spec = description.spec
    device = choose_device(spec.device)
    if device.type == "cpu":
        keep_memory()
        if spec.threads:
            torch.set_num_threads(spec.threads)
    system.to(device=device, memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
    optimizer = make_optimizer(system, spec, device)
    start = restore(folder, system, optimizer) if resume and checkpoints(folder) else 0
    before = stored_state(folder, start) if start else {}
    scaler = torch.amp.GradScaler(device.type, enabled=spec.precision == "float16")
    scaler.load_state_dict(before.get("scaler") or scaler.state_dict())
    step_of = _stepper(system, spec, device, batches, optimizer, scaler)
    first = distributed.rank() == 0
    place = {"device": device.type, "threads": torch.get_num_threads(), "processes": distributed.world()}
    if first and resume:
        remove_after(folder, start)
        _announce_changes(folder, before.get("place") or place, place)
    events = Events(folder, start) if first else None
    listeners = callbacks if first else ()
    metered = before.get("meter", {})
    meter, watch = _Meter(metered), Watch(spec.stop, metered.get("stop", {}))
    windows = Windows(system.objective.independent, stored_windows(folder, start) if start else {})

    @contextlib.contextmanager
    def aside() -> Generator[None]:
        """What is done with the model between two steps, in time that is not training's."""
        began = time.perf_counter()
        yield
        system.train()
        meter.skip(time.perf_counter() - began)

    done = start
    try:
        with aside():
            notify(listeners, "on_start", view(start), start)
        with TrainingBar(spec.name, start, spec.steps, spec.batch_size, progress and first) as bar, _signals() as stop:
            for step in range(start, spec.steps):
                loss = step_of(step) if step else _first(step_of)
                meter.add(loss)
                watch.add(loss)
                if first:
                    windows.add(loss.samples)
                done = step + 1
                ends = done == spec.steps
                if watch.due(done):
                    with aside():
                        ends |= watch.enough(view(done))
                due = done % spec.log_every == 0 or ends
                if due or device.type == "cpu":
                    # Reading a value makes a GPU wait, so there only when something is written anyway.
                    _guard(step, loss, folder)
                if due:
                    values = meter.read()
                    if spec.optimizer.schedule is not None:
                        values["lr"] = optimizer.param_groups[0]["lr"]
                    bar.update(done, {k.removeprefix("term/"): v for k, v in values.items() if k.startswith("term/")})
                    if events is not None:
                        values |= windows.read() | watch.read()
                        events.write(done, values)
                        with aside():
                            notify(listeners, "on_step", done, values)
                elif done % 10 == 0:
                    bar.advance_to(done)
                if first and (done % spec.checkpoint_every == 0 or ends or stop()):
                    state = meter.state() | watch.state(), windows.state()
                    more = {"scaler": scaler.state_dict(), "place": place}
                    save(folder, done, system, optimizer, *state, spec.keep_checkpoints, more)
                    with aside():
                        notify(listeners, "on_checkpoint", view(done), done)
                if ends:
                    break
                if stop():
                    raise Stopped(f"stopped at step {done}, saved; go on with: hatchel train {folder} --resume")
    finally:
        if events is not None:
            events.close()
        notify(listeners, "on_end")
    if first and progress and (blind := blind_critics(read_events(folder))):
        print(f"{spec.name}: {'; '.join(blind)}", file=sys.stderr)
    return done


def _announce_changes(folder: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Sums in another order are rounded otherwise."""
    other = [f"{name} {before[name]} before, {now[name]} now" for name in now if before.get(name) != now[name]]
    if other:
        print(f"hatchel: {folder}: {', '.join(other)}: results may differ in the last digits", file=sys.stderr)


def _stepper(
    system: System,
    spec: RunSpec,
    device: torch.device,
    batches: Batches,
    optimizer: torch.optim.Adam,
    scaler: torch.amp.GradScaler,
) -> Callable[[int], Loss]:
    """step -> loss, having updated the weights."""
    read = batches.data.reader(str(device))
    value_of = loss_of(system, spec)
    dtype = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[spec.precision]

    def update() -> None:
        clipped = [group for group in optimizer.param_groups if group["clip"]]
        if clipped:
            scaler.unscale_(optimizer)
        for group in clipped:
            torch.nn.utils.clip_grad_norm_(group["params"], group["clip"])
        scaler.step(optimizer)
        scaler.update()

    @fast_products(system)
    def step_of(step: int) -> Loss:
        for group in optimizer.param_groups:
            group["lr"] = group["full_lr"] * group["schedule"].at(step)
        batch = batches.at(step, read)
        with torch.autocast(device.type, dtype, enabled=spec.precision != "float32"):
            loss = value_of(batch)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss.total).backward()
        update()
        for draw in range(1, spec.critic_updates if loss.samples else 1):
            with torch.autocast(device.type, dtype, enabled=spec.precision != "float32"):
                critics = system.objective.critic_loss(loss.samples, spec.seed, step, draw)
            optimizer.zero_grad(set_to_none=True)  # without a gradient the model's weights stay as they are
            scaler.scale(critics).backward()
            distributed.average_gradients(system.objective.parameters())
            update()
        return loss

    return step_of


def _first(step_of: Callable[[int], Loss]) -> Loss:
    """The first step, which some mistakes are only seen in."""
    try:
        return step_of(0)
    except HatchelError as error:
        raise Refused(str(error)) from None


def faster_precision(spec: RunSpec, data: Dataset) -> Literal["float32", "bfloat16"]:
    """What `precision=auto` is here: bfloat16 where it makes a step at least a tenth faster; says so."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise HatchelError("precision: auto is for one process; set precision=bfloat16 or precision=float32")
    device, steps = choose_device(spec.device), dict[str, Callable[[int], Loss]]()
    if device.type == "cpu" and spec.threads:
        torch.set_num_threads(spec.threads)  # as it will be trained: half precision gains less from a second one
    for precision in ("float32", "bfloat16"):
        own = spec.with_fields(precision=precision)
        system = own.build(data.shape)
        system.to(device=device, memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
        batches = Batches(own, data, torch.arange(len(data)), system.objective.needs)
        scaler = torch.amp.GradScaler(device.type, enabled=False)
        steps[precision] = _stepper(system, own, device, batches, make_optimizer(system, own, device), scaler)
    times: dict[str, list[float]] = {precision: [] for precision in steps}
    for number in range(8):
        for precision, step_of in steps.items():
            began = time.perf_counter()
            float(step_of(number).objective)  # waits for a GPU
            times[precision].append(time.perf_counter() - began)
    whole, half = (statistics.median(seconds[2:]) for seconds in times.values())  # without the first, which warm up
    chosen = "bfloat16" if whole > 1.1 * half else "float32"
    print(f"precision=auto: {chosen}; a step in bfloat16 is {whole / half:.2f}x as fast as in float32", file=sys.stderr)
    return chosen


class _Meter:
    """Means of a loss's parts between two events, summed where they lie."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._sums: dict[str, Tensor] = {k: torch.tensor(v) for k, v in state.get("sums", {}).items()}
        self._count = int(state.get("count", 0))
        self._counts: dict[str, int] = state.get("counts", dict.fromkeys(self._sums, self._count))
        self._since = time.perf_counter() - float(state.get("seconds", 0.0))

    def state(self) -> dict[str, Any]:
        """As JSON, for a checkpoint between two events."""
        sums = {name: float(total) for name, total in self._sums.items()}
        counts = {"count": self._count, "counts": self._counts}
        return {"sums": sums, **counts, "seconds": time.perf_counter() - self._since} if sums else {}

    def skip(self, seconds: float) -> None:
        """Time that was not training's."""
        self._since += seconds

    def add(self, loss: Loss) -> None:
        parts = {"loss": loss.objective}
        parts |= {f"term/{k}": v for k, v in loss.terms.items()} | {f"critic/{k}": v for k, v in loss.critics.items()}
        parts |= {f"reading/{k}": v for k, v in loss.readings.items()}
        for name, value in parts.items():
            self._sums[name] = value + self._sums[name].to(value) if name in self._sums else value.clone()
            # A critic that rests at a level reads nothing there.
            self._counts[name] = self._counts.get(name, 0) + 1
        self._count += 1

    def read(self) -> dict[str, float]:
        values = {name: float(total) / self._counts[name] for name, total in self._sums.items()}
        values["seconds_per_step"] = (time.perf_counter() - self._since) / self._count
        self._sums, self._counts, self._count, self._since = {}, {}, 0, time.perf_counter()
        return values


def _guard(step: int, loss: Loss, folder: Path) -> None:
    """Stop where the loss is no longer a number one can go on from."""
    if abs(float(loss.objective)) < DIVERGED and all(bool(c.isfinite()) for c in loss.critics.values()):
        return
    parts = {**loss.terms, **{f"critic of {k}": v for k, v in loss.critics.items()}}
    bad = [k for k, v in parts.items() if not abs(float(v)) < DIVERGED]
    kept = checkpoints(folder)
    last = f"the last good checkpoint is {kept[0]}" if kept else "there is no checkpoint yet"
    raise HatchelError(
        f"training diverged at step {step + 1}: {', '.join(bad) or 'the weighted sum'} is not a usable number; {last}. "
        "Try a smaller optimizer.lr or a smaller weight"
    )


@contextlib.contextmanager
def _signals() -> Generator[Callable[[], bool]]:
    """Whether Ctrl-C or a polite kill has come; a second Ctrl-C does what it always does."""
    asked: list[int] = []

    def note(number: int, frame: object) -> None:
        asked.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    try:
        before = {s: signal.signal(s, note) for s in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not in the main thread: there is nothing to catch here
        before = {}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
