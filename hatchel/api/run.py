"""Run: a trained model with everything one does with it; `train` makes one, `load` reads it, `evaluate` scores it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from numpy.typing import NDArray

from hatchel.data.dataset import Dataset
from hatchel.data.source import Source
from hatchel.evaluation.evaluation import Evaluation
from hatchel.evaluation.evaluation import evaluate as evaluate_run
from hatchel.methods.method import Method
from hatchel.methods.resolve import resolve
from hatchel.metrics.functions import evaluate as evaluate_codes
from hatchel.metrics.score import Scores
from hatchel.training.run import TrainedRun
from hatchel.training.run import train as train_spec
from hatchel.training.spec import RunSpec


class Run(TrainedRun):
    """A trained model: encode, decode, reconstruct, evaluate, report, explore. `hatchel.load(folder)` reads one."""

    @classmethod
    def of(cls, trained: TrainedRun) -> Self:
        """The same model and data."""
        run = cls.__new__(cls)
        vars(run).update(vars(trained))
        return run

    def evaluate(self, *arguments: Any, **options: Any) -> Evaluation:
        """Every metric on codes of the run's own data; see `hatchel.evaluation.evaluation.evaluate`."""
        return evaluate_run(self, *arguments, **options)

    def report(self, path: str | Path | None = None) -> Path:
        """Write one self-contained HTML page about the run, by default RUN/report.html; the path."""
        from hatchel.report.findings import analyse
        from hatchel.report.page import write_report

        return write_report(analyse(self), Path(path or self.folder / "report.html"))

    def explore(self) -> None:
        """Explore the run in the browser until Ctrl-C; needs the `web` extra."""
        from hatchel.explorer.server import Listening
        from hatchel.explorer.session import Session

        opened = Listening.on(Session([self]), host="127.0.0.1", port=None)
        print(f"Explorer: {opened.address}   (Ctrl+C to stop)", flush=True)
        opened.run()


def train(
    method: str | Method | RunSpec,
    *,
    data: str | Path | Source | Dataset | NDArray[Any] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
    progress: bool = True,
    callbacks: Sequence[object] = (),
    **changes: Any,
) -> Run:
    """Train a method: `train("beta_vae", data="dsprites", beta=4, steps=1000)`; or what a RunSpec describes.

    `changes` are parameters of the method and fields of the run, dotted ones as `**{"latent.dim": 16}`.
    `data`: a name, a path, a Source, a Dataset, an array of images (n, H, W, C) or of rows (n, F).
    `out`: the run's folder, by default runs/NAME-DIGEST. A finished run with the same spec is loaded, not trained again
    (`force` starts over); an unfinished one is continued with `resume`.
    `callbacks`: objects with some of the methods of `hatchel.training.callbacks.Callback`.
    """
    if not isinstance(method, RunSpec):
        named = isinstance(data, str | Path | Source)
        method, changes = resolve(method, data if named else "dsprites", changes), {}
        data = None if named else data
    given: dict[str, Any] = {"out": out, "resume": resume, "force": force, "progress": progress, "callbacks": callbacks}
    return Run.of(train_spec(method, data=data, **given, **changes))


def load(folder: str | Path, device: str = "cpu") -> Run:
    """The run in a folder, from its newest readable checkpoint."""
    return Run.load(folder, device)


def evaluate(what: Any, *arguments: Any, **options: Any) -> Evaluation | Scores:
    """Metrics of a run, or of codes: `evaluate(run, "mig,dci")`, `evaluate(codes, factors, "mig,dci", bootstrap=200)`.

    A run or its folder: see `hatchel.evaluation.evaluation.evaluate`. Arrays: see `hatchel.metrics.evaluate`.
    """
    if isinstance(what, str | Path):
        what = Run.load(what)
    return (evaluate_run if isinstance(what, TrainedRun) else evaluate_codes)(what, *arguments, **options)
