"""Discover: what is chosen and by what, with a portfolio of two and a few steps."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.core.files import sole_writer
from hatchel.data.xy_squares import XYSquares
from hatchel.study import discover
from hatchel.study.discover import Candidate, Discovery, Standing, portfolio
from hatchel.study.discover_page import write_discovery
from hatchel.study.engines.local import Here
from hatchel.study.store import Store
from hatchel.study.trained import explained
from tests.torture import flip

SMALL = {"encoder": "mlp", "decoder": "mlp_decoder", "latent.dim": 3}


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [Candidate("VAE", "vae", SMALL), Candidate("beta-VAE 4", "beta_vae", {"beta": 4, **SMALL})]
    monkeypatch.setattr(discover, "portfolio", lambda shape: made)
    monkeypatch.setattr(discover, "TRIAL", 2)
    monkeypatch.setattr(discover, "ROUNDS", ((2, 1.0, 0.5), (3, 0.5, 1.0)))


def search(folder: Path, minutes: float = 0.001) -> Discovery:
    return Discovery(XYSquares(size=16), minutes, Store(folder), Here())


def test_explained_is_one_less_the_error_over_the_variance() -> None:
    data = np.random.default_rng(0).integers(0, 256, size=(50, 4, 4, 1), dtype=np.uint8)
    x = data / 255

    def share(back: np.ndarray) -> float:
        run = SimpleNamespace(data=SimpleNamespace(images=lambda items: data), reconstruct=lambda images: back)
        return explained(run, np.arange(50))  # type: ignore[arg-type]

    assert share(x) == pytest.approx(1)
    assert share(np.broadcast_to(x.mean(axis=0), x.shape)) == pytest.approx(0)
    assert share((x + x.mean(axis=0)) / 2) == pytest.approx(0.75)  # half of every distance, a quarter of its square


def test_a_code_that_agrees_but_keeps_little_does_not_win() -> None:
    collapsed, good = Standing("a", 1, [0.9, 0.9], [0.1, 0.1], []), Standing("b", 1, [0.5, 0.6], [0.9, 0.9], [])
    assert (collapsed.score, good.score) == (pytest.approx(0.09), pytest.approx(0.495))


def test_weights_grow_with_the_number_of_pixels() -> None:
    small, large = ({c.method + str(i): c.fields for i, c in enumerate(portfolio((3, s, s)))} for s in (32, 64))
    assert small["factor_vae6"]["gamma"] * 4 == large["factor_vae6"]["gamma"] == 40
    assert "encoder" not in portfolio((12,))[0].fields  # rows have no convolutions


def test_comb_has_its_own_weights_up_to_64_px() -> None:
    found = {side: {c.label: c for c in portfolio((3, side, side))} for side in (32, 64, 128)}
    assert found[32]["Comb"] == found[64]["Comb"]
    assert found[128]["Comb"].fields["gamma"] == 4 * found[64]["Comb"].fields["gamma"]
    assert not any(c.method == "comb" for c in portfolio((12,)))  # its encoder reads images


def test_what_begins_anew_in_every_round_pays_for_all_of_its_steps(tmp_path: Path, tiny: None) -> None:
    made = search(tmp_path, minutes=10)
    made.plan.costs, made.plan.overhead, made.plan.spent = {"VAE": 0.01, "beta-VAE 4": 0.03}, 1.0, 270.0
    made.plan.sizes = [2950]
    made.candidates["VAE"] = Candidate("VAE", "vae", SMALL, anew=True)
    assert made._size(1, ["VAE"]) == int((540 - 270 - 3) / 0.03) // 50 * 50


def test_rounds_are_as_long_as_the_time_allows(tmp_path: Path, tiny: None) -> None:
    made = search(tmp_path, minutes=10)
    made.plan.costs, made.plan.overhead, made.plan.spent = {"VAE": 0.01, "beta-VAE 4": 0.03}, 1.0, 30.0
    # Half of 540 s, less the 30 s that are spent and 4 x 1 s of measuring; 2 seeds at 0.01 + 0.03 s a step.
    assert made._size(0, ["VAE", "beta-VAE 4"]) == int((270 - 30 - 4) / 0.08) // 50 * 50
    made.plan.sizes, made.plan.spent = [2950], 270.0
    made.minutes = 30.0  # a minute is left for the end, not three
    assert made._size(1, ["VAE"]) == int((1740 - 270 - 3 + 0.01 * 2950 * 2) / 0.03) // 50 * 50
    made.minutes = 10.0
    # Two of three seeds go on from step 2,950.
    assert made._size(1, ["VAE"]) == int((540 - 270 - 3 + 0.01 * 2950 * 2) / 0.03) // 50 * 50


def test_it_goes_on_where_it_was_and_says_what_it_found(
    tmp_path: Path, tiny: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    made = search(tmp_path)
    last = made.go(lines.append, lambda tally: None)
    assert lines == [
        "a trial: 2 candidates, 2 steps each", "round 1: 2 candidates x 2 seeds, 2 steps each",
        "round 2: 1 candidates x 3 seeds, 4 steps each",
    ]  # fmt: skip
    assert [len(s.agreement) for s in last] == [3]
    chosen = last[0]
    of = [made.store.record(made._task(chosen.label, s, chosen.steps).digest())["values"] for s in range(3)]
    assert made.plan.costs[chosen.label] == pytest.approx(np.mean([v["seconds_per_step"] for v in of]))
    assert last[0].label == made.plan.rounds[0][0].label
    again = search(tmp_path)
    monkeypatch.setattr(discover, "run_tasks", lambda *a, **k: pytest.fail("trained again"))
    assert again.go(lines.append, lambda tally: None) == last
    found = write_discovery(again)
    body = json.loads((found.page.parent / "discover.json").read_text())
    assert body["chosen"] == last[0].label
    assert Path(body["run"]) == found.run
    text = found.page.read_text(encoding="utf-8")
    assert f"Your data vary along {len(found.directions)} direction" in text
    assert f"hatchel explore {found.run}" in text
    assert (found.run / "report.html").is_file()


@pytest.mark.parametrize("minutes", [0, -1, float("nan"), float("inf"), 1e300])
def test_a_budget_that_is_none_is_refused(tmp_path: Path, minutes: float) -> None:
    with pytest.raises(HatchelError, match=r"must be above 0 and at most 100,000, such as --minutes 30"):
        search(tmp_path, minutes=minutes)


def test_two_plans_in_one_store_do_not_meet(tmp_path: Path, tiny: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discover, "TRIAL", 4)
    search(tmp_path, minutes=0.002).go(lambda line: None, lambda tally: None)
    monkeypatch.setattr(discover, "TRIAL", 2)
    made = search(tmp_path)
    assert [s.steps for s in made.go(lambda line: None, lambda tally: None)] == [4]  # fewer than the first trained them
    with sole_writer(made.folder), pytest.raises(HatchelError, match=r"wait for it, .* or choose another --store"):
        search(tmp_path).go(lambda line: None, lambda tally: None)
    flip(made.folder / "plan.json")
    with pytest.raises(HatchelError, match=f"to begin anew: rm -r {made.folder}"):
        search(tmp_path)
