"""Comb: the cells of the search, that a round goes on from the last, and what confirms and explains its winner."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from hatchel.core.spec import from_dict, to_dict
from hatchel.nets.part import Encoder
from hatchel.objective.trace import Batch
from hatchel.studies import comb_winner
from hatchel.studies.comb import (
    ENCODERS,
    LAST,
    OBJECTIVES,
    OPTIMISERS,
    ROUNDS,
    Cell,
    cells,
    next_round,
    search,
    standings,
)
from hatchel.studies.comb_winner import GradientConflict, ablation, confirm, gradients, size, wide_conv, winner
from hatchel.study.engines.local import Here
from hatchel.study.runner import run_tasks
from hatchel.study.store import Store
from hatchel.study.study import Study
from hatchel.study.task import Workspace
from hatchel.study.trained import Grown, Trained, grown_folder
from tests.study.made import both, rows

CELLS = cells()


def made(*found: tuple[Cell, list[float]], number: int = 1):
    """A frame of a round in which each cell has these MIGs, DCI-D half of them, and a FactorVAE score of 1."""
    frames = [
        rows({**c.labels, "round": number}, mig=m, dci=[v / 2 for v in m], factor_vae_score=[1.0] * len(m))
        for c, m in found
    ]
    return both(*frames)


def test_the_list_has_every_part_once_at_the_centre() -> None:
    assert len(CELLS) == len(set(CELLS)) == 63
    assert {c.encoder for c in CELLS} == {*ENCODERS}
    assert {c.objective for c in CELLS} == {*OBJECTIVES}
    assert {c.optimiser for c in CELLS} == {*OPTIMISERS}


def test_a_cell_is_one_run_in_all_rounds() -> None:
    for cell in CELLS:
        tasks = [search("laptop", number, [cell]).cases[0].task for number in range(len(ROUNDS))]
        runs = [task.run for task in tasks if isinstance(task, Grown)]
        assert [run.steps for run in runs] == [1_250, 2_500, LAST]
        assert len({grown_folder(Path(), run) for run in runs}) == 1
        same = [{**to_dict(run), "steps": 0} for run in runs]
        assert same[0] == same[1] == same[2]


def test_seeds_of_the_search_are_not_those_that_confirm() -> None:
    assert [sorted({c.task.seed for c in search("laptop", n, CELLS[:2]).tasks()}) for n in range(3)] == [
        [100, 101], [100, 101, 102], [100, 101, 102, 103, 104],
    ]  # fmt: skip


def test_the_best_by_the_mean_of_three_scores_over_seeds_go_on() -> None:
    frame = made((CELLS[0], [0.2, 0.4]), (CELLS[1], [0.6, 0.6]), (CELLS[2], [0.9, 0.1]))
    found = standings(frame)
    assert [cell for cell, _ in found] == [CELLS[1], CELLS[2], CELLS[0]]
    assert [score for _, score in found] == pytest.approx([(1.5 * m + 1) / 3 for m in (0.6, 0.5, 0.3)])
    following = next_round("laptop", made(*((cell, [i / 100]) for i, cell in enumerate(CELLS))))
    assert {Cell(*list(c.labels.values())[:3]) for c in following} == {*CELLS[-ROUNDS[1].cells :]}  # type: ignore[arg-type]
    assert {c.labels["round"] for c in following} == {2}
    assert next_round("laptop", made((CELLS[0], [0.2]), number=3)) == []


def test_rounds_follow_each_other_and_go_on_with_the_same_training(tmp_path: Path) -> None:
    study, store = Study.load("comb-search"), Store(tmp_path)
    counts = [len(study.tasks("smoke", store=store))]
    for _ in ROUNDS:
        run_tasks([c.task for c in study.tasks("smoke", store=store)], store, Here())
        counts.append(len(study.tasks("smoke", store=store)))
    assert counts == [3, 6, 8, 8]
    last = study.tasks("smoke", store=store)[-1]
    in_one_go = Store(tmp_path / "other")
    run_tasks([last.task], in_one_go, Here())
    ours, whole = (s.record(last.task.digest())["values"] for s in (store, in_one_go))
    assert {n: v for n, v in ours.items() if n != "seconds_per_step"} == {
        n: v for n, v in whole.items() if n != "seconds_per_step"
    }
    frame = Study.load("comb-search", tmp_path).frame("smoke")
    assert [len(t.rows) for t in study.tables(frame)] == [3, 3, 2]


def test_the_winner_is_the_same_on_all_data() -> None:
    runs = {c.labels["data"]: c.task.trainings()[0] for c in confirm("laptop").tasks() if c.labels["method"] == "Comb"}
    assert list(runs) == ["Shapes3D", "dSprites", "Shapes3D, 64 px", "MNIST"]
    own = [{k: v for k, v in to_dict(run).items() if k not in ("data", "steps", "seed")} for run in runs.values()]
    assert own == [own[0]] * 4
    seeds = {c.task.seed for c in confirm("laptop").tasks() if c.labels["data"] == "dSprites"}
    assert seeds == {*range(10)}


def test_a_schedule_is_the_same_share_of_a_longer_training() -> None:
    scheduled = Cell(objective="FactorVAE 0 to 20 in a half", optimiser="cosine, 2e-3, warm-up 250")
    fields = {change.field: change.value for change in winner(2 * LAST, of=scheduled).changes}
    assert (fields["gamma"]["steps"], fields["gamma"]["end"]) == (LAST, 20)
    assert fields["optimizer.schedule"] == {"kind": "cosine", "steps": 2 * LAST, "warmup": 500, "floor": 0.05}


@pytest.mark.parametrize("what", ["parameters", "multiplications"])
def test_the_plain_encoder_is_as_large_as_the_winners(what: str) -> None:
    own = from_dict(Encoder, ENCODERS[comb_winner.WINNER.encoder])
    ratio = size(wide_conv(what), what, (3, 32, 32), 10) / size(own, what, (3, 32, 32), 10)
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
    assert [row.labels[:2] for row in against.rows][:2] == [("Shapes3D", "FactorVAE"), ("Shapes3D", "VAE")]


def test_the_difference_from_a_method_is_at_its_best_strength_over_the_other_seeds() -> None:
    def at(method: str, strength: float, migs: list[float]):
        labels = {"data": "Shapes3D", "method": method, "strength": strength, "encoder": "conv", "variant": ""}
        return rows(labels, mig=migs, dci=migs, factor_vae_score=migs)

    frame = both(at("Comb", 0, [0.6, 0.7, 0.8]), at("VAE", 1, [0.1, 0.2, 0.3]), at("VAE", 4, [0.5, 0.4, 0.3]))
    found = comb_winner.confirm_tables(frame)[1].rows[0].ours[0]
    assert found is not None
    assert found.value == pytest.approx(((0.6 - 0.5) + (0.7 - 0.4) + (0.8 - 0.3)) / 3)
