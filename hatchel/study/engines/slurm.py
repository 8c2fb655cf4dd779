"""Slurm: jobs of a Slurm cluster, submitted by submitit."""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, ParamSpec, TypeVar

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count, Positive
from hatchel.study.engines.engine import Engine, require

P = ParamSpec("P")
T = TypeVar("T")

POLL = 2.0
"""Seconds between two checks of the jobs."""
GRACE = 30.0
"""Seconds a job may be gone from the queue before its result shows on a slow shared file system."""
ARRAY = 500
"""Jobs of one array; Slurm refuses more than 1000 unless told otherwise."""
TIMEOUTS = 10
"""Times a task may use up its minutes and be queued again; it goes on from its last checkpoint."""


class Slurm(Engine):
    """One job a task, or several short ones, in arrays.

    Run the study on a login node; the nodes need the store's folder and this Python.
    """

    brief: ClassVar[float] = 20.0  # a job takes as long to start
    first: ClassVar[int] = 2  # the first of a process imports, which says nothing of the next
    ahead: ClassVar[int] = 4
    begins: ClassVar[float] = 300.0

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
        require("slurm", "submitit")
        if shutil.which("sbatch") is None:
            raise HatchelError("engine slurm: there is no sbatch here; run the study on a login node of the cluster")
        _live()

    @contextmanager
    def open(self) -> Generator[Executor]:
        self.ready()
        import submitit

        inner = submitit.AutoExecutor(Path(self.folder).resolve(), cluster="slurm", slurm_max_num_timeout=TIMEOUTS)
        options = {"gpus_per_node": self.gpus, "slurm_partition": self.partition}
        inner.update_parameters(
            name="hatchel", timeout_min=self.minutes, mem_gb=self.memory, cpus_per_task=self.threads,
            slurm_array_parallelism=self.slots, **{name: value for name, value in options.items() if value},
        )  # fmt: skip
        with _Jobs(inner) as jobs:  # cancelled at the end in every case: nobody else waits for the results
            yield jobs

    @property
    def slots(self) -> int:
        return self.workers or 256


class _Jobs(Executor):
    """Calls as jobs. One thread submits what has come together, as an array, and delivers results."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._new: deque[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]] = deque()
        self._jobs: dict[Future[Any], Any] = {}
        self._gone: dict[Future[Any], float] = {}
        """Since when a job without a result is not in the queue."""
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        self._new.append((future, _Again(fn), args))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._closed.set()
        self._thread.join()
        for job in self._jobs.values():
            job.cancel(check=False)

    def _watch(self) -> None:
        while not self._closed.wait(POLL):
            self._send()
            self._collect()

    def _send(self) -> None:
        calls = [self._new.popleft() for _ in range(min(ARRAY, len(self._new)))]
        calls = [call for call in calls if call[0].set_running_or_notify_cancel()]
        try:
            if calls:
                with self._inner.batch():
                    jobs = [self._inner.submit(fn, *args) for _, fn, args in calls]
                self._jobs |= {call[0]: job for call, job in zip(calls, jobs, strict=True)}
        except Exception as error:
            reason = [type(error).__name__, *str(error).strip().splitlines()][-1]
            for future, _, _ in calls:
                future.set_exception(HatchelError(f"engine slurm: sbatch refused ({reason})"))

    def _collect(self) -> None:
        try:
            live = _live() if self._jobs else set[str]()
        except HatchelError:
            return  # a busy controller: asked again later
        for future, job in list(self._jobs.items()):
            if not job.paths.result_pickle.exists():
                if job.job_id in live:
                    self._gone.pop(future, None)
                    continue
                if time.monotonic() - self._gone.setdefault(future, time.monotonic()) < GRACE:
                    continue
            del self._jobs[future]
            _deliver(future, job)


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


def _deliver(future: Future[Any], job: Any) -> None:
    reason = "ended without a result"
    if job.paths.result_pickle.exists():
        try:
            error = job.exception()
            if error is None:
                future.set_result(job.result())
                return
            lines = [
                line for line in str(error).splitlines() if line.strip() and not line.startswith(("---", "You can"))
            ]
            reason = lines[-1] if lines else type(error).__name__
        except Exception as damaged:  # a result that cannot be read must not end the thread that waits for the others
            reason = str(damaged)
    future.set_exception(RuntimeError(f"job {job.job_id}: {reason} (its log: {job.paths.stderr})"))


def _live() -> set[str]:
    """Jobs of this user that are queued or running. Asked of squeue, because sacct needs an accounting database."""
    command = ["squeue", "--me", "--noheader", "--array", "--format=%i"]
    try:
        return set(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.split())
    except (OSError, subprocess.SubprocessError) as error:
        reason = (str(getattr(error, "stderr", None) or error).strip().splitlines() or [""])[-1]
        raise HatchelError(f"engine slurm: squeue failed ({reason}); is the controller up?") from None
