"""Slurm: jobs of a Slurm cluster, submitted by submitit."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count, Positive
from hatchel.study.engines.engine import Engine, missing

P = ParamSpec("P")
T = TypeVar("T")

POLL = 2.0
"""Seconds between two looks at the jobs."""
GRACE = 30.0
"""Seconds a job may be gone from the queue before its result shows on a slow shared file system."""
ARRAY = 500
"""Jobs of one array; Slurm refuses more than 1000 unless told otherwise."""
TIMEOUTS = 10
"""Times a task may use up its minutes and be queued again; it goes on from its last checkpoint."""


class Slurm(Engine):
    """One job a task, in arrays. Run the study on a login node; the nodes need the store's folder and this Python."""

    partition: str = ""
    """The cluster's default, if not said."""
    minutes: Count = 240
    """Limit of a job; a task that needs longer is queued again and goes on from its last checkpoint."""
    memory: Positive = 4.0
    """Gigabytes for a task."""
    gpus: int = 0
    """GPUs for a task."""
    folder: str = "slurm"
    """Where the jobs' scripts and logs go; on a file system that the nodes share."""

    def ready(self) -> None:
        if importlib.util.find_spec("submitit") is None:
            raise missing("slurm", "submitit")
        if shutil.which("sbatch") is None:
            raise HatchelError("engine slurm: there is no sbatch here; run the study on a login node of the cluster")
        _live()

    @contextmanager
    def open(self) -> Generator[Executor]:
        self.ready()
        import submitit

        inner = submitit.AutoExecutor(Path(self.folder).resolve(), cluster="slurm", slurm_max_num_timeout=TIMEOUTS)
        inner.update_parameters(name="hatchel", timeout_min=self.minutes, mem_gb=self.memory)
        inner.update_parameters(cpus_per_task=self.threads, slurm_array_parallelism=self.slots)
        if self.gpus:
            inner.update_parameters(gpus_per_node=self.gpus)
        if self.partition:
            inner.update_parameters(slurm_partition=self.partition)
        jobs = _Jobs(inner)
        try:
            yield jobs
        finally:
            jobs.shutdown()  # in every case: nobody else looks for the results

    @property
    def slots(self) -> int:
        return self.workers or 256


@dataclass
class _Waiting:
    """A submitted call."""

    future: Future[Any]
    job: Any
    gone: float | None = None
    """Since when it is not in the queue."""


class _Jobs(Executor):
    """Calls as jobs. One thread submits what has come together, as an array, and looks for results."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._new: list[tuple[Future[Any], Callable[..., Any], Sequence[Any]]] = []
        self._waiting: list[_Waiting] = []
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        with self._lock:
            self._new.append((future, _Again(fn), args))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._closed.set()
        self._thread.join()
        for waiting in self._waiting:
            waiting.job.cancel(check=False)

    def _watch(self) -> None:
        while not self._closed.wait(POLL):
            self._send()
            self._poll()

    def _send(self) -> None:
        with self._lock:
            new = [call for call in self._new[:ARRAY] if call[0].set_running_or_notify_cancel()]
            self._new = self._new[ARRAY:]
        if new:
            try:
                with self._inner.batch():
                    jobs = [self._inner.submit(fn, *args) for _, fn, args in new]
            except Exception as error:
                for future, _, _ in new:
                    future.set_exception(_refused(error))
                return
            self._waiting += [_Waiting(call[0], job) for call, job in zip(new, jobs, strict=True)]

    def _poll(self) -> None:
        try:
            live = _live() if self._waiting else set[str]()
        except HatchelError:
            live = {waiting.job.job_id for waiting in self._waiting}  # a busy controller: look again later
        still: list[_Waiting] = []
        for waiting in self._waiting:
            if waiting.job.paths.result_pickle.exists():
                _deliver(waiting)
            elif waiting.job.job_id in live:
                waiting.gone = None
                still.append(waiting)
            elif waiting.gone is None or time.monotonic() - waiting.gone < GRACE:
                waiting.gone = waiting.gone or time.monotonic()
                still.append(waiting)
            else:
                waiting.future.set_exception(_died(waiting.job, "ended without a result"))
        self._waiting = still


class _Again:
    """A call that submitit may queue again when its time is up or it was preempted."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn

    def __call__(self, *args: Any) -> Any:
        return self.fn(*args)

    def checkpoint(self, *args: Any) -> Any:
        """The same call: a task finds its own checkpoints."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self, *args)


def _deliver(waiting: _Waiting) -> None:
    try:
        error = waiting.job.exception()
        result = waiting.job.result() if error is None else None
    except Exception as damaged:  # a result that cannot be read must not end the thread that looks for the others
        waiting.future.set_exception(_died(waiting.job, str(damaged)))
        return
    if error is None:
        waiting.future.set_result(result)
    else:
        lines = [line for line in str(error).splitlines() if line.strip() and not line.startswith(("---", "You can"))]
        waiting.future.set_exception(_died(waiting.job, lines[-1] if lines else type(error).__name__))


def _died(job: Any, reason: str) -> RuntimeError:
    return RuntimeError(f"job {job.job_id}: {reason} (its log: {job.paths.stderr})")


def _refused(error: Exception) -> HatchelError:
    lines = str(error).strip().splitlines()
    return HatchelError(f"engine slurm: sbatch refused ({lines[-1] if lines else type(error).__name__})")


def _live() -> set[str]:
    """Jobs of this user that are queued or running. Asked of squeue, because sacct needs an accounting database."""
    command = ["squeue", "--me", "--noheader", "--array", "--format=%i"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HatchelError(f"engine slurm: squeue does not answer ({error})") from None
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise HatchelError(f"engine slurm: squeue failed ({reason}); is the controller up?")
    return set(done.stdout.split())
