"""Build the zoo: for each method the pool's run of median MIG, trained again and packed into hatchel/zoo.

    python benchmarks/zoo.py                      # every model whose records are there and that is not packed yet
    python benchmarks/zoo.py shapes3d/rtc_vae     # this one, anew
    python benchmarks/zoo.py --runs FOLDER        # where runs are trained, or are kept from before; default runs/build
    python benchmarks/zoo.py --page               # only the table of docs/zoo.md, from the cards

Records hold no weights, but a training is a function of its spec and seed on one machine: the median run is trained
again, and its MIG held against the record's. New records of dSprites or MNIST need nothing here: a model is built for
every data set that the pool's records have.
"""

from __future__ import annotations

import argparse
import functools
import io
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from hatchel.core.errors import HatchelError
from hatchel.core.files import write_text
from hatchel.core.spec import from_dict
from hatchel.evaluation.evaluation import StoredScores
from hatchel.export.zoo import ITEMS, LARGEST, Card, card, halved, names, pack, unpacked
from hatchel.metrics.metric import Metric
from hatchel.metrics.score import Scores
from hatchel.report.findings import glance
from hatchel.report.pictures import rows_figure, traversal_labels, traversed
from hatchel.study.frame import Frame, select
from hatchel.study.study import Study
from hatchel.study.task import Workspace
from hatchel.training.run import TrainedRun, train

MODELS: Mapping[str, Mapping[str, Any]] = {
    "vae": {"method": "VAE", "strength": 1, "encoder": "conv", "variant": ""},
    "beta_vae": {"method": "beta-VAE", "strength": 4, "encoder": "conv", "variant": ""},
    "factor_vae": {"method": "FactorVAE", "strength": 10, "encoder": "conv", "variant": ""},
    "beta_tcvae": {"method": "beta-TCVAE", "strength": 6, "encoder": "conv", "variant": ""},
    "recurd": {"method": "RecurD-1", "strength": 0.0, "encoder": "recursive", "variant": ""},
    "de_vae": {"method": "DeVAE", "strength": "", "encoder": "conv", "variant": ""},
    "factor_vae_split": {"method": "FactorVAE", "strength": 10, "encoder": "split", "variant": ""},
    "hf_vae": {"method": "HFVAE", "strength": 4.0, "encoder": "conv"},
    "rtc_vae": {"method": "RTC-VAE", "strength": 10, "encoder": "conv", "variant": ""},
    "comb": {"method": "Comb", "strength": "", "encoder": "split", "variant": "12,000 steps"},
}
"""Four baselines, the method of each paper and our own, by their labels in the pool or in the study named below."""
STUDIES = {"comb": "comb-confirm"}
"""Of models whose records are not the pool's."""
DATA = {"Shapes3D": "shapes3d", "dSprites": "dsprites", "MNIST": "mnist"}
SEEDS = 3
"""Fewer have no median worth the name."""
METRICS = ("mig", "sap", "dci", "factor_vae_score", "active_units", "reconstruction", "gaussian_tc")
SMOOTH, VOTED = METRICS[:3], METRICS[3]
"""Scores between 0 and 1; the votes of the last fall to one dimension or to another by a hair."""
ROUNDING = 1e-2
"""What half precision may change of the smooth ones."""
RULE = "the run of median MIG over the seeds of its study (of an even number the lower of the two in the middle)"
BEGIN, END = "<!-- models: python benchmarks/zoo.py --page -->", "<!-- end of models -->"
PICTURES = Path(__file__).parents[1] / "docs" / "zoo"
PAGE = Path(__file__).parents[1] / "docs" / "zoo.md"


def build(name: str, frame: Frame, cases: Mapping[str, Any], runs: Path) -> str:
    """Train, check and pack one model; a line that says what came of it."""
    data, _, kind = name.partition("/")
    labels = {"data": next(k for k, v in DATA.items() if v == data), **MODELS[kind]}
    found = select(frame[frame["metric"] == "mig"], **labels).sort_values(["value", "seed"])
    if len(found) < SEEDS:
        return f"no: there are {len(found)} records of it, a median needs {SEEDS}"
    chosen = found.iloc[(len(found) - 1) // 2]
    task = cases[chosen["task"]]
    spec = task.run.with_fields(seed=int(chosen["seed"]), threads=1)
    run = train(spec, out=Workspace(runs, runs).run(spec), resume=True, progress=sys.stderr.isatty())
    # As the record was measured.
    again = float(scored(run, ["mig"], task.items, bootstrap=0)["mig"])
    with tempfile.TemporaryDirectory() as folder:
        half = halved(run, Path(folder))
        scores, worst, voted = measured(run, half, task.items)
    width = max(scores["mig"]["high"] - scores["mig"]["low"], ROUNDING)
    agrees = abs(again - chosen["value"]) <= width
    agreement = (
        f"trained again with the same seed, its MIG is {again:.4f}; the record has {chosen['value']:.4f}"
        f"{'' if agrees else ', which is more than the noise: another machine rounds differently'}; "
        f"half precision changes MIG, SAP and DCI by at most {worst:.4f}, the FactorVAE score by {voted:.4f}"
    )
    made = Card(
        name=name,
        about=in_words(labels, run),
        seed=spec.seed,
        seeds={str(int(row.seed)): round(float(row.value), 4) for row in found.sort_values("seed").itertuples()},
        rule=RULE,
        agreement=agreement,
        scores=scores,
        settings=spec.typed,
        measured=f"{task.items:,} held-out items; the intervals are 95 %, over items and not over seeds",
    )
    path = pack(run, made)
    draw(name)
    return (
        f"{'packed' if agrees else 'PACKED, BUT ITS MIG IS ANOTHER'}: {path.stat().st_size / 1e6:.2f} MB; {agreement}"
    )


def in_words(labels: Mapping[str, Any], run: TrainedRun) -> str:
    """`FactorVAE 10 with the split encoder; Shapes3D at 32 px, 5,000 steps of 64`."""
    spec, strength = run.spec, labels["strength"]
    number = strength if isinstance(strength, str) else f"{strength:g}"
    weight = ", l2 =" if str(labels["method"]).startswith("RecurD") else ""
    method = f"{labels['method']}{weight} {number}".strip() + (
        "" if labels["encoder"] != "split" else " with the split encoder"
    )
    return f"{method}; {labels['data']} at {run.shape[1]} px, {spec.steps:,} steps of {spec.batch_size}"


def scored(run: TrainedRun, names: Sequence[str], items: int, bootstrap: int | None = None) -> Scores:
    """Of the posterior means alone: samples and levels would cost as much each."""
    kept = StoredScores(run, items=items, seed=0, store=False)
    return kept.measure("mean", [from_dict(Metric, name) for name in names], bootstrap, strict=True)


def measured(run: TrainedRun, half: TrainedRun, items: int) -> tuple[dict[str, Any], float, float]:
    """The packed run's scores with intervals, and how far from the run's own the smooth ones are, and the voted one."""
    packed = scored(half, METRICS, items)
    own = scored(run, (*SMOOTH, VOTED), items, bootstrap=0)
    *smooth, voted = (abs(float(packed[m]) - float(own[m])) for m in own)
    worst = max(smooth)
    if worst > ROUNDING:
        raise HatchelError(f"{run.folder}: half precision changes a score by {worst:.3f}; it cannot be packed")
    ends = {m: packed[m].interval for m in METRICS if m in packed}
    return (
        {
            m: {"value": float(packed[m]), "low": i.low if i else None, "high": i.high if i else None}
            for m, i in ends.items()
        },
        worst,
        voted,
    )


def table() -> str:
    """The models that are there, for the page."""
    rows = ["| name | method and settings | MIG (95 % over items) | seeds tried: MIG | DCI | MB |"]
    rows += ["| --- | --- | --- | --- | --- | --- |"]
    for name in names():
        c = card(name)
        tried = ", ".join(f"**{v:.2f}**" if k == str(c.seed) else f"{v:.2f}" for k, v in by_value(c.seeds))
        rows.append(
            f"| `zoo:{name}` | {c.about} | {c.interval('mig')} | {tried} | {c.interval('dci')} | {c.size / 1e6:.1f} |"
        )
    size = sum(card(name).size for name in names())
    rows += ["", f"{len(names())} models, {size / 1e6:.1f} MB of at most {LARGEST / 1e6:.0f} together."]
    for name in names():
        picture = f"zoo/{name.replace('/', '-')}.png"
        if (PAGE.parent / picture).is_file():
            rows += ["", f"![Traversals of {name}]({picture})", "", f"*`zoo:{name}`: each row moves one dimension.*"]
    return "\n".join(rows)


def draw(name: str) -> Path:
    """Traversals of a model for the pages: its most informative dimensions, each moved over the data's range."""
    path = PICTURES / f"{name.replace('/', '-')}.png"
    with tempfile.TemporaryDirectory() as folder:
        run = TrainedRun.load(unpacked(name, copies=Path(folder)))
        found = glance(run, items=ITEMS, seed=0)
        images, counts = traversed(run, found, 7)
        figure = rows_figure(images, traversal_labels(found.dimensions, len(images)), counts)
    path.parent.mkdir(exist_ok=True)
    page = io.BytesIO()
    figure.savefig(page, format="png", dpi=110, bbox_inches="tight", pad_inches=0.02, facecolor="white")
    Image.open(page).convert("RGB").save(path, optimize=True)
    return path


def by_value(seeds: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(seeds.items(), key=lambda pair: pair[1])


def write_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    write_text(PAGE, f"{before}{BEGIN}\n\n{table()}\n\n{END}{rest.partition(END)[2]}")


@functools.cache
def records(name: str, store: str | None) -> tuple[Frame, dict[str, Any]]:
    """Of a study: what was found, and every task by its digest."""
    study = Study.load(name, store)
    return study.frame("laptop"), {case.task.digest(): case.task for case in study.tasks("laptop")}


def command() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("models", nargs="*", help="DATA/METHOD; all that are missing, if none is named")
    parser.add_argument("--runs", type=Path, default=Path("runs/build"))
    parser.add_argument("--store", default=None, help="a store with more of the pool's records")
    parser.add_argument("--page", action="store_true", help="only write the table of docs/zoo.md")
    given = parser.parse_args()
    every = [f"{data}/{kind}" for data in DATA.values() for kind in MODELS]
    strange = [name for name in given.models if name not in every]
    if strange:
        sys.exit(f"unknown model {strange[0]!r}; known: {', '.join(every)}")
    if not given.page:
        for name in given.models or [name for name in every if name not in names()]:
            frame, cases = records(STUDIES.get(name.partition("/")[2], "pool"), given.store)
            print(f"{name}: {build(name, frame, cases, given.runs)}", flush=True)
    write_page()


if __name__ == "__main__":
    command()
