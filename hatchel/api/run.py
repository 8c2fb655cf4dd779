"""Run: a trained model with everything one does with it; `train` makes one, `load` reads it, `evaluate` scores it."""

from __future__ import annotations

import base64
import functools
import html
import io
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hatchel.core import distributed
from hatchel.core.errors import HatchelError
from hatchel.core.files import write_bytes
from hatchel.core.plugins import extra
from hatchel.core.progress import in_notebook
from hatchel.data.dataset import Dataset
from hatchel.data.held import dataset_of
from hatchel.data.source import Source
from hatchel.data.table import TableColumn, decoded_frame
from hatchel.evaluation.codes import ITEMS, items_stored
from hatchel.evaluation.evaluation import Evaluation, announce_collapse
from hatchel.evaluation.evaluation import evaluate as evaluate_run
from hatchel.export.zoo import run_folder
from hatchel.methods.method import Method
from hatchel.methods.resolve import resolve
from hatchel.metrics.functions import evaluate as evaluate_codes
from hatchel.metrics.score import Scores
from hatchel.training.events import read_events
from hatchel.training.run import TrainedRun
from hatchel.training.run import train as train_spec
from hatchel.training.spec import RunSpec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hatchel.report.findings import Findings

SERVED: list[Any] = []
"""Explorers that this notebook has opened; they end with its kernel."""


@dataclass(frozen=True)
class Picture:
    """A figure with the values that it shows; a notebook shows the figure."""

    figure: Figure
    values: NDArray[Any]
    """Images (rows, n, H, W, C) as bytes, or rows of a table (rows, n, F) in the data's units."""

    def __repr__(self) -> str:
        return f"<Picture of {self.values.shape}: a notebook shows it, .save('picture.png') writes it>"

    def _repr_png_(self) -> bytes:
        from hatchel.report.style import png

        return png(self.figure, 110)

    def save(self, path: str | Path) -> Path:
        """Write it as PNG, SVG or PDF, by the ending."""
        drawing = io.BytesIO()
        try:
            self.figure.savefig(drawing, format=Path(path).suffix[1:] or "png", facecolor="white")
            write_bytes(Path(path), drawing.getvalue())
        except (OSError, ValueError) as error:
            raise HatchelError(f"{path}: cannot be written ({error}); name a file such as traversals.png") from None
        return Path(path)


class _Draws(NamedTuple):
    codes: NDArray[np.float32]  # (n, D)
    items: NDArray[np.float32]
    """Images (n, H, W, C) in [0, 1], or rows (n, F) in the data's units."""


class Samples(_Draws):
    """Draws of the prior, (codes, items); a notebook shows what they decode to."""

    columns: tuple[TableColumn, ...] = ()
    """Of a table."""

    def to_pandas(self) -> Any:
        """Of a table: its columns, with the likelier value of those that are not numbers."""
        return decoded_frame(self.items, self.columns)

    def _repr_html_(self) -> str:
        from hatchel.report.pictures import mosaic, to_bytes
        from hatchel.report.style import pixels_uri

        if self.items.ndim == 2:
            return self.to_pandas().to_html()
        rows = [to_bytes(self.items[i : i + 12]) for i in range(0, len(self.items), 12)]
        uris = [pixels_uri(mosaic(row[None])) for row in rows]
        return "".join(f'<img src="{uri}" style="display:block;margin-bottom:2px">' for uri in uris)


class Run(TrainedRun):
    """A trained model: encode, decode, traverse, evaluate, report, explore. `hatchel.load(folder)` reads one."""

    @classmethod
    def load(cls, folder: str | Path, device: str = "cpu", *, step: int | None = None, data: Any = None) -> Self:
        """The run in a folder, or a model of the zoo by its name, `zoo:shapes3d/rtc_vae`; see `TrainedRun.load`."""
        return super().load(run_folder(folder), device, step=step, data=data)

    @classmethod
    def of(cls, trained: TrainedRun) -> Self:
        """The same model and data."""
        run = cls.__new__(cls)
        vars(run).update(vars(trained))
        return run

    def __repr__(self) -> str:
        return f"<Run {self.spec.title}: {self.steps:,} steps, {self.spec.latent.width} latents, {self.folder}>"

    def evaluate(self, *arguments: Any, **options: Any) -> Evaluation:
        """Every metric on codes of the run's own data; see `hatchel.evaluation.evaluation.evaluate`."""
        return _evaluated(self, *arguments, **options)

    def report(self, path: str | Path | None = None) -> Path:
        """Write one self-contained HTML page about the run, by default RUN/report.html; the path."""
        from hatchel.report.findings import analyse
        from hatchel.report.page import write_report

        return write_report(analyse(self), Path(path or self.folder / "report.html"))

    def traverse(self, rows: int = 12) -> Picture:
        """One dimension moved at a time, the most informative first: rows of images, or plots of a table's columns."""
        from hatchel.report import columns, pictures

        if rows < 1:
            raise HatchelError(f"rows: must be at least 1, got {rows}")
        found = self._glance
        if not found.pictured:
            return Picture(*columns.traversals(found, rows))
        images, counts = pictures.traversed(self, found, rows)
        labels = pictures.traversal_labels(found.dimensions, len(images))
        return Picture(pictures.rows_figure(images, labels, counts), images)

    def reconstruct(self, images: Any = None, level: int = 0, hard: bool = False) -> Any:
        """Images or rows through the mean code and back; of a DataFrame, a DataFrame.

        Without images: a picture of some of the run's own items above what comes back, or of a table column by column.
        """
        if hasattr(images, "iloc"):
            return decoded_frame(super().reconstruct(images, level, hard), self.columns)
        if images is not None:
            return super().reconstruct(images, level, hard)
        from hatchel.report import columns, pictures

        found = self._glance
        if not found.pictured:
            return Picture(*columns.reconstructions(found))
        shown = pictures.reconstructed(found)
        return Picture(pictures.rows_figure(shown, pictures.reconstruction_labels(self.levels)), shown)

    def sample(self, n: int = 12, seed: int = 0, level: int = 0) -> Samples:
        """n codes z ~ p(z), (n, D), and the mean image or row of each."""
        drawn = Samples(*super().sample(n, seed, level))
        drawn.columns = self.columns
        return drawn

    @property
    def history(self) -> Any:
        """The loss, each term and the critics over the steps, as a DataFrame with a row for every logged step."""
        import pandas as pd

        return pd.DataFrame(read_events(self.folder) or [{"step": 0}]).set_index("step")

    def explore(self, height: int = 760) -> Any:
        """Explore the run: inside a notebook, else in the browser until Ctrl-C; needs the `web` extra."""
        server = extra("hatchel.explorer.server", "web", "the explorer")
        from hatchel.explorer.session import Session

        inside = in_notebook()
        items = items_stored(self) or ITEMS
        opened = server.Listening.on(Session([self], items=items), host="127.0.0.1", port=None, framed=inside)
        if inside:
            from IPython.display import IFrame

            SERVED.append(opened)
            threading.Thread(target=opened.run, daemon=True).start()
            return IFrame(opened.address, "100%", height)
        print(f"Explorer: {opened.address}   (Ctrl+C to stop)", flush=True)
        return opened.run()

    @functools.cached_property
    def _glance(self) -> Findings:
        from hatchel.report.findings import glance

        try:  # as it was measured, since other items or another seed would replace what is stored
            known = Evaluation.load(self.folder).settings
            return glance(self, items=int(known["items"]), seed=int(known["seed"]))
        except (HatchelError, KeyError):
            return glance(self)

    def _repr_html_(self) -> str:
        """A card: what was trained, its scores as far as they are measured, traversals."""
        facts = f"{self.steps:,} steps, {self.spec.latent.width} latents, {self.folder}"
        lines = html.escape(f": minimises {self.spec.formula()}"), html.escape(facts)
        parts = [f"<b>{html.escape(self.spec.name)}</b>{'<br>'.join(lines)}"]
        try:
            means = Evaluation.load(self.folder).get("mean") or {}
            parts.append(", ".join(f"{html.escape(name)} <b>{float(s):.3f}</b>" for name, s in means.items()))
        except HatchelError:
            parts.append("Not measured yet: <code>run.evaluate()</code>")
        try:
            picture = base64.b64encode(self.traverse(6)._repr_png_()).decode()  # pyright: ignore[reportPrivateUsage]
            parts.append(f'<img src="data:image/png;base64,{picture}" style="max-width:100%" alt="Traversals">')
        except HatchelError as error:
            parts.append(html.escape(str(error)))
        return "".join(f"<p>{part}</p>" for part in parts if part)


def train(
    method: str | Method | RunSpec,
    *,
    data: Any = None,
    out: str | Path | None = None,
    resume: bool = False,
    force: bool = False,
    progress: bool = True,
    callbacks: Sequence[object] | object = (),
    epochs: float | None = None,
    **changes: Any,
) -> Run:
    """Train a method: `train("beta_vae", data="dsprites", beta=4, steps=1000)`; or what a RunSpec describes.

    `changes` are parameters of the method and fields of the run; two underscores reach inside, as in `latent__dim=16`.
    `data`: a name, a path, a Source; an array or tensor of images (n, H, W), (n, H, W, C) or (n, C, H, W) or of rows
    (n, F), a DataFrame, a list of pictures, a torch Dataset or DataLoader; or a pair of one of these and its factors.
    `data__channels="first"`, `data__size=32` (of pictures) and `data__missing="drop"` (of a table) say how to read it.
    `out`: the run's folder, by default runs/NAME-DIGEST. A finished run with the same spec is loaded, not trained again
    (`force` starts over); an unfinished one is continued with `resume`.
    `callbacks`: one or several objects with some of the methods of `hatchel.training.callbacks.Callback`.
    `epochs`: passes over the data, in place of `steps`.
    """
    changes = {name.replace("__", "."): value for name, value in changes.items()}
    if not isinstance(method, RunSpec):
        if data is None:
            name = method if isinstance(method, str) else method.kind
            raise HatchelError(
                f'data: say what to train on: hatchel.train("{name}", data="dsprites"), or a path or an array'
            )
        named = isinstance(data, str | Path | Source)
        if not named:  # a source has its options in the spec; of what is held, they must be used up here
            own = {name: changes.pop(name) for name in list(changes) if name.startswith("data.")}
            data = dataset_of(data, {name.removeprefix("data."): value for name, value in own.items()})
        source = data if named else "xy_squares"
        if epochs is not None:
            if "steps" in changes:
                raise HatchelError("epochs: steps=... says the same; leave one of them out")
            spec = resolve(method, source, changes)
            loaded: Dataset = data if isinstance(data, Dataset) else spec.data.load()
            changes["steps"] = epoch_steps(spec, loaded, epochs)
        method, changes = resolve(method, source, changes), {}
        data = None if named else data
    elif epochs is not None:
        raise HatchelError("epochs: a RunSpec has its steps; give steps=... instead")
    given: dict[str, Any] = {"out": out, "resume": resume, "force": force, "progress": progress, "callbacks": callbacks}
    run = Run.of(train_spec(method, data=data, **given, **changes))
    if distributed.rank() == 0:
        announce_collapse(run)
    return run


def epoch_steps(spec: RunSpec, data: Dataset, epochs: float) -> int:
    """Steps of so many passes over the items to train on; what does not fill a batch waits for another pass."""
    if not 0 < epochs < float("inf"):
        raise HatchelError(f"epochs: must be above 0, got {epochs:g}")
    items = len(data.split(spec.seed, spec.test_share)[0]) if spec.test_share else len(data)
    return max(1, round(epochs * max(1, items // spec.batch_size)))


def load(folder: str | Path, device: str = "cpu", data: Any = None) -> Run:
    """The run in a folder, from its newest readable checkpoint, or a model of the zoo (`zoo:shapes3d/rtc_vae`).

    `data`: where they have moved or came from Python.
    """
    return Run.load(folder, device, data=data)


def evaluate(what: Any, *arguments: Any, **options: Any) -> Evaluation | Scores:
    """Metrics of a run, or of codes: `evaluate(run, "mig,dci")`, `evaluate(codes, factors, "mig,dci", bootstrap=200)`.

    A run or its folder: see `hatchel.evaluation.evaluation.evaluate`. Arrays: see `hatchel.metrics.evaluate`.
    """
    if isinstance(what, str | Path):
        what = Run.load(what)
    return (_evaluated if isinstance(what, TrainedRun) else evaluate_codes)(what, *arguments, **options)


def _evaluated(run: TrainedRun, *arguments: Any, **options: Any) -> Evaluation:
    """Scores, and a line on stderr where the code says nothing; the command line prints it with its table."""
    found = evaluate_run(run, *arguments, **options)
    if found.collapse:
        print(f"hatchel: {run.folder}: {found.collapse}", file=sys.stderr)
    return found
