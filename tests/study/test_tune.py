"""Searches: they find the better point, count as said, go on where they were, and compute nothing twice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.data.xy_squares import XYSquares
from hatchel.metrics import udr
from hatchel.study.engines.local import Here
from hatchel.study.space import Choice, Range
from hatchel.study.store import Store
from hatchel.study.trained import Agreement
from hatchel.study.tune import Search, Tuning

SMALL = {"batch_size": 8, "latent.dim": 2, "log_every": 50}
SQUARES = XYSquares(size=16)


def tuning(*space: Range | Choice, metric: str = "mig", **changes: Any) -> Tuning:
    fields = {"fixed": {**SMALL, **changes.pop("fixed", {})}, "seeds": 2, "items": 64, **changes}
    return Tuning("beta_vae", SQUARES, space, metric, **fields)


class Quadratic(Search):
    """(beta - 3)² in place of a training."""

    def values(self, point: Mapping[str, Any]) -> list[float]:
        return [(point["beta"] - 3) ** 2 + noise for noise in (-0.1, 0.1)]


def test_finds_the_better_of_two_points_and_pays_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    search = Search(tuning(Choice("steps", (1, 25)), metric="reconstruction"), store, Here())
    best, worse = search.go(5)
    assert (best.point, worse.point) == ({"steps": 25}, {"steps": 1})
    cells = search.tuning.stages({"steps": 25})[0]
    values = [store.record(cell.digest())["values"]["reconstruction"] for cell in cells]
    assert best.found.value == pytest.approx(np.mean(values))
    assert (best.found.low, best.found.high) == pytest.approx((min(values), max(values)))
    assert len(store.digests()) == 4

    def never(*arguments: Any) -> None:
        raise AssertionError("computed twice")

    # Another search over the same points: all of them are in the store.
    monkeypatch.setattr("hatchel.study.trained.Trained.compute", never)
    again = Search(tuning(Choice("steps", (1, 25)), metric="reconstruction", seed=1), store, Here()).go(2)
    assert [t.found for t in again] == [best.found, worse.found]


def test_udr_compares_the_seeds_of_a_point(tmp_path: Path) -> None:
    from hatchel.training.run import TrainedRun

    store = Store(tmp_path)
    fixed = {"steps": 60, "batch_size": 16, "encoder": "mlp", "decoder": "mlp_decoder", "optimizer.lr": 1e-2}
    fixed["test_share"] = 0.2  # other items with every seed; UDR is of the same ones
    search = Search(tuning(Choice("beta", (0, 2)), metric="udr", fixed=fixed), store, Here())
    values = search.values({"beta": 0})
    spec = search.tuning.run({"beta": 0})
    runs = [TrainedRun.load(store.runs / f"{r.name}-{r.digest()}") for r in (spec.with_fields(seed=s) for s in (0, 1))]
    codes = [run.encode(run.data.images(np.arange(64))) for run in runs]
    assert values == pytest.approx([float(udr(codes[0], [codes[1]])), float(udr(codes[1], [codes[0]]))])
    assert min(c.std(axis=0).max() for c in codes) > 0.1  # the codes do vary
    record = store.record(Agreement(seed=0, run=spec, seeds=2, items=64).digest())["values"]
    assert record["udr"] == pytest.approx(np.mean(values))
    assert search.tuning.way == "maximize"


def test_a_range_is_searched_towards_the_best(tmp_path: Path) -> None:
    spec = tuning(Range("beta", 0.0, 16.0), direction="minimize", fixed={"steps": 1})
    trials = Quadratic(spec, Store(tmp_path), Here()).go(25)
    assert len(trials) == 25
    assert abs(trials[0].point["beta"] - 3) < 1
    assert trials[0].found.value == min(t.found.value for t in trials)
    assert trials[0].found.value == pytest.approx((trials[0].point["beta"] - 3) ** 2)
    assert all(0 <= t.point["beta"] <= 16 for t in trials)


def test_a_stopped_search_goes_on_to_the_same_points(tmp_path: Path) -> None:
    spec = tuning(Range("beta", 0.0, 16.0), direction="minimize", fixed={"steps": 1})
    whole = Quadratic(spec, Store(tmp_path / "whole"), Here()).go(14)
    parts = Store(tmp_path / "parts")
    assert len(Quadratic(spec, parts, Here()).go(6)) == 6
    assert Quadratic(spec, parts, Here()).go(14) == whole
    assert Quadratic(spec, parts, Here()).go(3) == whole  # enough already: nothing new


def test_the_point_of_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    spec = tuning(Range("beta", 0.0, 16.0), direction="minimize", fixed={"steps": 1})

    class Dies(Quadratic):
        def values(self, point: Mapping[str, Any]) -> list[float]:
            tried.append(point["beta"])
            raise KeyboardInterrupt

    tried: list[float] = []
    with pytest.raises(KeyboardInterrupt):
        Dies(spec, Store(tmp_path), Here()).go(1)
    (trial,) = Quadratic(spec, Store(tmp_path), Here()).go(1)
    assert [trial.point["beta"]] == tried


def test_two_at_once_share_the_work(tmp_path: Path) -> None:
    """The second starts and ends while the first is at its first point, which it must leave alone."""
    spec = tuning(Range("beta", 0.0, 16.0), direction="minimize", fixed={"steps": 1})
    tried: list[float] = []

    class Second(Quadratic):
        def values(self, point: Mapping[str, Any]) -> list[float]:
            tried.append(point["beta"])
            return super().values(point)

    class First(Second):
        def values(self, point: Mapping[str, Any]) -> list[float]:
            if not tried:
                tried.append(point["beta"])
                Second(spec, Store(tmp_path), Here()).go(4)
            return Quadratic.values(self, point)

    found = First(spec, Store(tmp_path), Here()).go(5)
    assert sorted(t.point["beta"] for t in found) == sorted(tried)
    assert len(set(tried)) == 5


def test_failures_are_said_and_end_the_search(tmp_path: Path) -> None:
    class Fails(Search):
        def values(self, point: Mapping[str, Any]) -> list[float]:
            raise HatchelError("no luck")

    lines: list[str] = []
    with pytest.raises(HatchelError, match="3 trials failed one after the other, the last with: no luck"):
        Fails(tuning(Range("beta", 0.0, 16.0)), Store(tmp_path), Here()).go(9, lines.append)
    assert len(lines) == 3
    assert "failed: no luck" in lines[0]


def test_the_direction_is_the_metrics_own() -> None:
    space = Choice("beta", (1, 2))
    assert tuning(space, metric="mig").way == "maximize"
    assert tuning(space, metric="reconstruction.mse_per_pixel").way == "minimize"
    assert tuning(space, metric="mig@sample").way == "maximize"
    assert tuning(space, metric="mig", direction="minimize").way == "minimize"


def test_the_name_follows_the_search() -> None:
    one = tuning(Range("beta", 1.0, 2.0))
    assert one.name == tuning(Range("beta", 1.0, 2.0)).name
    others = [
        tuning(Range("beta", 1.0, 3.0)),
        tuning(Range("beta", 1.0, 2.0), seeds=3),
        tuning(Range("beta", 1.0, 2.0), metric="sap"),
        tuning(Range("beta", 1.0, 2.0), fixed={"steps": 9}),
    ]
    assert len({one.name, *(o.name for o in others)}) == 5


@pytest.mark.parametrize(
    ("space", "changes", "message"),
    [
        ((), {}, "nothing to tune"),
        ((Choice("beta", (1, 2)),), {"metric": "migg"}, "--metric: unknown metric 'migg'. Did you mean 'mig'"),
        ((Choice("beta", (1, 2)),), {"metric": "udr", "seeds": 1}, "--seeds 2 or more"),
        ((Range("bta", 1.0, 2.0),), {}, "unknown field 'bta'. Did you mean 'beta'"),
        ((Range("beta", -1.0, 2.0),), {}, "beta_vae.beta: input should be greater than or equal to 0"),
    ],
)
def test_mistakes_are_said_before_anything_is_trained(space: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(HatchelError, match=message):
        tuning(*space, **changes)


def test_a_value_that_is_not_in_the_records(tmp_path: Path) -> None:
    search = Search(tuning(Choice("steps", (1, 2)), metric="mig.z", seeds=1), Store(tmp_path), Here())
    with pytest.raises(HatchelError, match=r"--metric: unknown value 'mig.z'. Did you mean 'mig.y'"):
        search.values({"steps": 1})


def test_optuna_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(HatchelError, match=r"hatchel\[tune\]"):
        Search(tuning(Choice("beta", (1, 2))), Store(tmp_path), Here())
