"""Discover: what varies in unlabelled data. A portfolio is trained and halved by how well its seeds agree.

Labels are never used for a choice; where there are some, the page shows how good the choice was.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.core.files import Damaged, read_json, sole_writer, write_json
from hatchel.core.spec import to_dict
from hatchel.data.source import Source
from hatchel.methods.resolve import resolve
from hatchel.objective.estimators.discriminator import DensityRatio
from hatchel.study.engines.engine import Engine
from hatchel.study.runner import Tally, run_tasks
from hatchel.study.store import Store
from hatchel.study.trained import Grown, grown_folder

ITEMS = 3_000
"""Encoded by every model, to compare them."""
TRIAL = 100
"""Steps after which it is known what a step costs."""
ROUNDS = ((2, 1.0, 0.3), (3, 0.5, 0.65), (3, 0.25, 1.0))
"""Of each round: the seeds, the share of the portfolio that takes part, and the share of the time that is then used."""
LONGEST = 100_000
"""Minutes, some ten weeks."""
LEFT, LEFT_SECONDS = 0.1, 60.0
"""For the measuring and the page at the end: this share of the time, and no more than these seconds."""


@dataclass(frozen=True)
class Candidate:
    """A method with its strength."""

    label: str
    method: str
    fields: Mapping[str, Any]
    anew: bool = False
    """Whether every round trains it from the start, because its schedule is as long as the training."""


def portfolio(shape: tuple[int, ...]) -> list[Candidate]:
    """What is tried. Weights are in nats, and a larger image has more of them: they grow with the number of pixels."""
    pictures = len(shape) == 3
    scale = shape[1] * shape[2] / 1024 if pictures else 1.0
    split = {"encoder": "split"} if pictures else {}
    critic = {"by": DensityRatio(hidden=256)}
    made = [Candidate("VAE", "vae", split)]
    made += [Candidate(f"beta-VAE {b * scale:g}", "beta_vae", {"beta": b * scale}) for b in (2, 6)]
    made += [Candidate(f"beta-TCVAE {b * scale:g}", "beta_tcvae", {"beta": b * scale, **split}) for b in (3, 6)]
    made += [
        Candidate(f"FactorVAE {g * scale:g}", "factor_vae", {"gamma": g * scale, **critic, **split})
        for g in (5, 10, 30)
    ]
    return [*made, *_combs(scale / 4)] if pictures else made


def _combs(scale: float) -> list[Candidate]:
    """Its own weights, which are for 64 px and stand for smaller images too, and a bottleneck that stays tighter."""
    of = {"gamma": 80.0, "kl.start": 128.0, "kl.end": 4.0}
    made = {"Comb": of, "Comb, tighter": {**of, "kl.end": 8.0}}
    scaled = {label: {k: v * max(1.0, scale) for k, v in fields.items()} for label, fields in made.items()}
    return [Candidate(label, "comb", fields, anew=True) for label, fields in scaled.items()]


@dataclass
class Standing:
    """How a candidate did in a round."""

    label: str
    steps: int
    agreement: list[float]
    """UDR of each seed's model among the others (Duan et al. 2020)."""
    explained: list[float]
    mig: list[float]
    """Empty without labels."""

    @property
    def score(self) -> float:
        """What it is ranked by: agreement, times what is reconstructed, or a code of one coordinate would win."""
        return float(np.mean(self.agreement) * np.clip(np.mean(self.explained), 0, 1))


@dataclass
class Plan:
    """What was decided, kept so that the same command goes on after a stop."""

    spent: float = 0.0
    """Seconds."""
    costs: dict[str, float] = field(default_factory=dict[str, float])
    """Seconds a step, by candidate, in the last round that it took part in, or the trial."""
    overhead: float = 0.0
    """Seconds to measure a run."""
    sizes: list[int] = field(default_factory=list[int])
    """Steps at the end of each round."""
    rounds: list[list[Standing]] = field(default_factory=list[list[Standing]])
    """The standings of the rounds that are done, the best first."""


class Discovery:
    """A portfolio on one data set, within a budget of time."""

    def __init__(self, data: Source, minutes: float, store: Store, engine: Engine, seed: int = 0) -> None:
        if not 0 < minutes <= LONGEST:
            raise HatchelError(f"--minutes {minutes:g}: must be above 0 and at most {LONGEST:,}, such as --minutes 30")
        self.data, self.minutes, self.engine, self.seed = data, minutes, engine, seed
        self.loaded = data.load()
        self.candidates = {c.label: c for c in portfolio(self.loaded.shape)}
        body = [to_dict(data), minutes, seed, [to_dict(dict(c.fields)) for c in self.candidates.values()]]
        name = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:8]
        self.folder = store.folder / "discover" / f"{data.kind}-{name}"
        # One of its own: its runs grow by its plan, and another plan would have other lengths of the same runs.
        self.store = Store(self.folder)
        self.plan = self._read()

    def go(self, log: Callable[[str], None], on_progress: Callable[[Tally], None]) -> list[Standing]:
        """Every round, from where an earlier call stopped; the standings of the last one."""
        self.store.create()
        with sole_writer(self.folder, "--store"):
            return self._go(log, on_progress)

    def _go(self, log: Callable[[str], None], on_progress: Callable[[Tally], None]) -> list[Standing]:
        began, before = time.monotonic(), self.plan.spent

        def keep() -> None:
            self.plan.spent = before + time.monotonic() - began
            write_json(self.folder / "plan.json", asdict(self.plan))

        try:
            if not self.plan.costs:
                log(f"a trial: {len(self.candidates)} candidates, {TRIAL} steps each")
                self._time(on_progress)
                keep()
            for number, (seeds, share, _) in enumerate(ROUNDS):
                if number < len(self.plan.rounds):
                    continue
                labels = self._taking_part(number, share)
                if number == len(self.plan.sizes):
                    keep()
                    self.plan.sizes.append(self._size(number, labels))
                steps = self.plan.sizes[number]
                log(f"round {number + 1}: {len(labels)} candidates x {seeds} seeds, {steps:,} steps each")
                self._run([self._task(label, s, steps) for label in labels for s in range(seeds)], on_progress)
                for label in labels:  # what it costs now: the machine may have been busy during the trial
                    self.plan.costs[label] = self._cost(label, seeds, steps)
                found = [self._standing(label, seeds, steps) for label in labels]
                self.plan.rounds.append(sorted(found, key=lambda s: -s.score))
        finally:
            keep()
        return self.plan.rounds[-1]

    def folder_of(self, label: str, seed: int, steps: int) -> Path:
        task = self._task(label, seed, steps)
        return grown_folder(self.store.runs, task.run.with_fields(seed=task.seed))

    def _taking_part(self, number: int, share: float) -> list[str]:
        ranked = [s.label for s in self.plan.rounds[-1]] if self.plan.rounds else list(self.candidates)
        return ranked[: max(1, round(len(self.candidates) * share))]

    def _task(self, label: str, seed: int, steps: int) -> Grown:
        one = self.candidates[label]
        fields = {"steps": steps, "batch_size": 64, "optimizer.lr": 1e-3, **one.fields}
        run = resolve(one.method, self.data, fields)
        return Grown(seed=1000 * self.seed + seed, run=run, items=min(ITEMS, len(self.loaded)))

    def _time(self, on_progress: Callable[[Tally], None]) -> None:
        tasks = {label: self._task(label, 0, TRIAL) for label in self.candidates}
        self._run(list(tasks.values()), on_progress)
        whole: list[float] = []
        for label, task in tasks.items():
            self.plan.costs[label] = self._cost(label, 1, TRIAL)
            whole.append(self.store.record(task.digest())["seconds"] - TRIAL * self.plan.costs[label])
        self.plan.overhead = max(0.0, float(np.median(whole)))

    def _cost(self, label: str, seeds: int, steps: int) -> float:
        """Seconds a step, as a round's runs took it."""
        records = [self.store.record(self._task(label, s, steps).digest()) for s in range(seeds)]
        return float(np.mean([record["values"]["seconds_per_step"] for record in records]))

    def _size(self, number: int, labels: Sequence[str]) -> int:
        """Steps at the end of a round, so that it ends when its share of the time is used."""
        seeds, _, used = ROUNDS[number]
        whole = 60 * self.minutes
        end = (whole - min(LEFT * whole, LEFT_SECONDS)) * used
        slots = min(self.engine.slots, len(labels) * seeds)
        work = max(0.0, end - self.plan.spent) * slots - len(labels) * seeds * self.plan.overhead
        done, known = (self.plan.sizes[-1], ROUNDS[number - 1][0]) if number else (0, 0)
        # Seeds of the last round go on from where they are, but for schedules; a new one begins anew.
        cost = sum(self.plan.costs[label] for label in labels)
        kept = sum(self.plan.costs[label] for label in labels if not self.candidates[label].anew)
        steps = (work + kept * done * min(known, seeds)) / (cost * seeds)
        return max(done + TRIAL, int(steps) // 50 * 50)

    def _run(self, tasks: Sequence[Grown], on_progress: Callable[[Tally], None]) -> None:
        run_tasks(tasks, self.store, self.engine, retry=True, on_progress=on_progress)
        failed = [task.digest() for task in tasks if self.store.status(task.digest()) == "failed"]
        if failed:
            raise HatchelError(self.store.error(failed[0]))

    def _standing(self, label: str, seeds: int, steps: int) -> Standing:
        from hatchel.metrics import udr

        codes = [self.codes(label, seed, steps) for seed in range(seeds)]
        agreement = [float(udr(own, [c for j, c in enumerate(codes) if j != i])) for i, own in enumerate(codes)]
        records = [self.store.record(self._task(label, s, steps).digest())["values"] for s in range(seeds)]
        migs = [r["mig"] for r in records if "mig" in r]
        return Standing(label, steps, agreement, [r["explained"] for r in records], migs)

    def codes(self, label: str, seed: int, steps: int) -> NDArray[np.float32]:
        """The posterior means of a candidate's run, as it was measured."""
        from hatchel.evaluation.evaluation import encodings
        from hatchel.training.run import TrainedRun

        run = TrainedRun.load(self.folder_of(label, seed, steps), step=steps, data=self.loaded)
        return encodings(run, min(ITEMS, len(self.loaded)), seed=0).mean

    def _read(self) -> Plan:
        path = self.folder / "plan.json"
        if not path.is_file() or not (self.folder / "store.json").is_file():  # there was no store in it once
            return Plan()
        try:
            body = read_json(path)
        except Damaged as error:
            raise Damaged(f"{error}; to begin anew: rm -r {self.folder}") from None
        rounds = [[Standing(**standing) for standing in one] for one in body.pop("rounds")]
        return Plan(**body, rounds=rounds)
