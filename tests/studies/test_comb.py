"""Comb: the cells of the search, that a round goes on from the last, and what confirms and explains its winner."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from hatchel.core.spec import to_dict
from hatchel.methods.comb import Comb
from hatchel.nets.split import Split
from hatchel.objective.trace import Batch
from hatchel.studies import comb_winner
from hatchel.studies.comb import (
    ENCODERS,
    OBJECTIVES,
    OPTIMISERS,
    ROUNDS,
    SEARCH_SEEDS,
    STEPS,
    Cell,
    cells,
    next_round,
    of_round,
    search,
    standings,
)
from hatchel.studies.comb_winner import LONGER, GradientConflict, ablation, confirm, gradients, size, wide_conv
from hatchel.study.engines.local import Here
from hatchel.study.runner import run_tasks
from hatchel.study.store import Store
from hatchel.study.study import Study
from hatchel.study.task import Workspace
from hatchel.study.trained import Trained
from tests.study.made import both, rows

CELLS = cells()


def made(*found: tuple[Cell, list[float]]):
    """A frame in which each cell has these MIGs by seed, DCI-D half of them, and a FactorVAE score of 1."""
    frames = [rows(c.labels, mig=m, dci=[v / 2 for v in m], factor_vae_score=[1.0] * len(m)) for c, m in found]
    frame = both(*frames)
    return frame.assign(seed=frame["seed"] + SEARCH_SEEDS)


def test_the_list_has_every_part_once_at_the_centre() -> None:
    assert len(CELLS) == len(set(CELLS)) == len(ENCODERS) + len(OBJECTIVES) + len(OPTIMISERS) - 2
    assert {c.encoder for c in CELLS} == {*ENCODERS}
    assert {c.objective for c in CELLS} == {*OBJECTIVES}
    assert {c.optimiser for c in CELLS} == {*OPTIMISERS}


def test_every_cell_is_another_run() -> None:
    runs = [case.task.trainings()[0] for case in search("laptop").cases]
    assert len({run.digest() for run in runs}) == len(CELLS)
    assert {run.steps for run in runs} == {STEPS}


def test_seeds_of_the_search_are_not_those_that_confirm() -> None:
    assert [sorted({c.task.seed for c in search("laptop", n, CELLS[:2]).tasks()}) for n in range(3)] == [
        [100], [100, 101], [100, 101, 102, 103, 104],
    ]  # fmt: skip


def test_the_best_by_the_mean_of_three_scores_over_seeds_go_on() -> None:
    frame = made((CELLS[0], [0.2, 0.4]), (CELLS[1], [0.6, 0.6]), (CELLS[2], [0.9, 0.1]))
    found = standings(frame)
    assert [cell for cell, _ in found] == [CELLS[1], CELLS[2], CELLS[0]]
    assert [score for _, score in found] == pytest.approx([(1.5 * m + 1) / 3 for m in (0.6, 0.5, 0.3)])
    following = next_round("laptop", made(*((cell, [i / 100]) for i, cell in enumerate(CELLS))))
    assert {Cell(*list(c.labels.values())[:3]) for c in following} == {*CELLS[-ROUNDS[1].cells :]}  # type: ignore[arg-type]
    assert {c.task.seed for c in following} == {100, 101}
    assert next_round("laptop", made((CELLS[0], [0.2] * 5))) == []


def test_a_round_has_the_seeds_of_the_rounds_before() -> None:
    """Of the cells that take part in it; the first round alone would rank them the other way."""
    frame = made((CELLS[0], [0.6, 0.0]), (CELLS[1], [0.5, 0.5]), (CELLS[2], [0.1]))
    assert [cell for cell, _ in standings(of_round(frame, 0))] == CELLS[:3]
    found = standings(of_round(frame, 1))
    assert [cell for cell, _ in found] == [CELLS[1], CELLS[0]]
    assert [score for _, score in found] == pytest.approx([(1.5 * m + 1) / 3 for m in (0.5, 0.3)])


def test_rounds_follow_each_other(tmp_path: Path) -> None:
    study, store = Study.load("comb-search"), Store(tmp_path)
    counts = [len(study.tasks("smoke", store=store))]
    for _ in ROUNDS:
        run_tasks([c.task for c in study.tasks("smoke", store=store)], store, Here())
        counts.append(len(study.tasks("smoke", store=store)))
    assert counts == [3, 5, 8, 8]  # 3 cells with a seed, 2 with one more, 1 with three more
    frame = Study.load("comb-search", tmp_path).frame("smoke")
    assert [len(t.rows) for t in study.tables(frame)] == [3, 2, 1]


def test_the_winner_is_the_same_on_all_data() -> None:
    cases = [c for c in confirm("laptop").tasks() if (c.labels["method"], c.labels["variant"]) == ("Comb", LONGER)]
    runs = {c.labels["data"]: c.task.trainings()[0] for c in cases}
    assert {*runs} == {"Shapes3D", "dSprites", "Shapes3D, 64 px", "MNIST"}
    own = [{k: v for k, v in to_dict(run).items() if k not in ("data", "steps", "seed")} for run in runs.values()]
    for settings, run in zip(own, runs.values(), strict=True):
        schedule = settings["objective"]["kl"]["weight"]
        shares = {name: schedule.pop(name) / run.steps for name in ("steps", "delay")}
        assert shares == {name: getattr(Comb().kl, name) / Comb.paper_steps for name in shares}
    assert own == [own[0]] * 4
    seeds = {c.task.seed for c in confirm("laptop").tasks() if c.labels["data"] == "dSprites"}
    assert seeds == {*range(10)}


@pytest.mark.parametrize("what", ["parameters", "multiplications"])
def test_the_plain_encoder_is_as_large_as_the_split_one(what: str) -> None:
    ratio = size(wide_conv(what), what, (3, 32, 32), 10) / size(Split(), what, (3, 32, 32), 10)
    assert ratio == pytest.approx(1, abs=0.05)
    assert any(wide_conv(what) == task.run.encoder for c in ablation("laptop").cases
               if isinstance(task := c.task, Trained))  # fmt: skip


@pytest.mark.parametrize("encoder", ["conv", "split", "recursive"])
def test_gradients_of_the_latents_add_up_to_that_of_the_loss(encoder: str) -> None:
    run = search("laptop", 0, [Cell(encoder=encoder)]).cases[0].task.trainings()[0].fit_to_shape((3, 32, 32))
    system = run.build((3, 32, 32))
    batch = Batch(torch.rand(16, 3, 32, 32, generator=torch.Generator().manual_seed(0)), 1000, 5, 1)
    found = gradients(system, run.latent.widths, batch)
    shared = [p for n, p in system.model.encoder.named_parameters() if not n.startswith(("head.", "last."))]
    whole = torch.autograd.grad(system(batch).total, shared)
    assert len(found) == len(whole)
    for parts, of_loss in zip(found, whole, strict=True):
        torch.testing.assert_close(parts.sum(0), of_loss.flatten(), rtol=1e-3, atol=1e-4 * float(of_loss.abs().max()))


def test_conflict_is_read_at_every_time_from_the_run_that_was_scored(tmp_path: Path) -> None:
    task = ablation("smoke").then[0].cases[0].task
    assert isinstance(task, GradientConflict)
    place = Workspace(tmp_path / "cell", tmp_path / "runs")
    found = task.with_fields(snapshots=3, batches=2).compute(place)
    assert [step for step, _ in found.details["curves"]["cosine"]] == [1, 2, 3]
    assert found.values["cosine"] == pytest.approx(sum(v for _, v in found.details["curves"]["cosine"]) / 3)
    assert len([p for p in place.runs.iterdir() if p.is_dir()]) == 1
    assert Trained(seed=0, run=task.run).trained(place).steps == 3  # trained already


def test_confirming_runs_and_holds_the_winner_against_the_others(tmp_path: Path) -> None:
    study, store = Study.load("comb-confirm"), Store(tmp_path)
    cases = study.tasks("smoke")
    assert run_tasks([c.task for c in cases], store, Here()).failed == 0
    _, against = study.tables(store.frame_of(cases))
    first = [row.labels[:3] for row in against.rows][:3]
    assert first == [
        ("Shapes3D", "FactorVAE", "conv"),
        ("Shapes3D", "beta-TCVAE", "split"),
        ("Shapes3D", "VAE", "conv"),
    ]


def test_no_task_is_asked_for_twice() -> None:
    digests = [c.task.digest() for c in confirm("laptop").tasks()]
    assert len(digests) == len({*digests})


def test_the_difference_from_a_method_is_at_its_best_strength_over_the_other_seeds() -> None:
    def at(method: str, strength: float, migs: list[float]):
        labels = {"data": "Shapes3D", "method": method, "strength": strength, "encoder": "conv", "variant": ""}
        return rows(labels, mig=migs, dci=migs, factor_vae_score=migs)

    frame = both(at("Comb", 0, [0.6, 0.7, 0.8]), at("VAE", 1, [0.1, 0.2, 0.3]), at("VAE", 4, [0.5, 0.4, 0.3]))
    found = comb_winner.confirm_tables(frame)[1].rows[0].ours[0]
    assert found is not None
    assert found.value == pytest.approx(((0.6 - 0.5) + (0.7 - 0.4) + (0.8 - 0.3)) / 3)
