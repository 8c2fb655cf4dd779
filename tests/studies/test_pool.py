"""The pool: what it asks for, and that a view of it asks for the same tasks."""

from __future__ import annotations

from collections import Counter

from hatchel.core.spec import to_dict
from hatchel.studies.pool import SHAPES, SPRITES, factor_vae, main, pool, stage
from hatchel.study.trained import Trained

CASES = pool("laptop").tasks()
RUNS = {digest: task for c in CASES if isinstance(task := c.task, Trained) for digest in [task.digest()]}


def test_every_task_is_asked_for_once_and_told_by_its_labels() -> None:
    assert len(RUNS) == len(CASES)
    assert max(Counter((tuple(c.labels.values()), c.task.seed) for c in CASES).values()) == 1


def test_main_methods_come_first_seed_by_seed_and_dsprites_last() -> None:
    count = len(main(4))
    assert [c.task.seed for c in CASES[: 2 * count]] == [0] * count + [1] * count
    assert [c.labels["data"] for c in CASES] == sorted((c.labels["data"] for c in CASES), key=(SHAPES, SPRITES).index)


def test_all_runs_are_trained_and_measured_alike() -> None:
    for task in RUNS.values():
        run = task.run
        assert (run.steps, run.batch_size, run.test_share) == (5000 if run.data.kind == "shapes3d" else 10000, 64, 0.1)
        assert run.optimizer.lr == 1e-3
        assert (task.snapshots, task.items) == (5, 10_000)
        assert run.reconstruction_scale == "printed"
    critics = [r.run for r in RUNS.values() if "tc" in r.run.objective and "by" in to_dict(r.run.objective["tc"].term)]
    assert {run.critic_optimizer.lr for run in critics} == {None}  # the model's


def test_a_view_asks_for_the_pools_tasks() -> None:
    view = stage(SHAPES, "laptop", [factor_vae(10, "split")], 2).tasks()
    assert {c.task.digest() for c in view} <= RUNS.keys()
