from __future__ import annotations

from pathlib import Path

import pytest

from hatchel.data.xy_squares import XYSquares
from hatchel.methods.resolve import resolve
from hatchel.studies.hfvae import OBJECTIVES, Verified
from hatchel.study.task import Workspace

NOWHERE = Workspace(Path("nowhere"), Path("nowhere"))


def verified(name: str, weights: tuple[float, ...] | None = None) -> dict[str, float]:
    method, symbols, own = OBJECTIVES[name]
    cell = Verified(0, resolve(method, XYSquares(size=16), symbols), weights or own, draws=4)
    return dict(cell.compute(NOWHERE).values)


@pytest.mark.parametrize("name", ["beta-TCVAE", "HFVAE, one group", "Information Dropout"])
def test_equal_draw_by_draw_where_both_are_sampled(name):
    found = verified(name)
    assert abs(found["difference"]) < 1e-3
    assert found["own"] == pytest.approx(found["basis"], rel=1e-5)


def test_anchors_are_rewarded_by_their_information() -> None:
    """What is left is what a closed KL and a drawn one differ by, as for the VAE, whose draws are the same."""
    found = verified("Anchor VAE")
    assert found["difference"] == pytest.approx(verified("VAE")["difference"], abs=1e-3)
    assert 2 * found["anchor"] > 0.1
    assert found["own"] == pytest.approx(verified("VAE")["own"] - 2 * found["anchor"], abs=0.3)


def test_other_weights_would_be_seen():
    """The code is informative: I(x;z), TC and the dimension-wise KL are all far from 0, so each weight counts."""
    right = verified("beta-TCVAE")
    assert min(abs(right[name]) for name in ("mi", "tc", "dw")) > 0.02
    for place in (1, 2, 3):
        wrong = [1.0, 1.0, 6.0, 1.0]
        wrong[place] += 1
        assert abs(verified("beta-TCVAE", (wrong[0], wrong[1], wrong[2], wrong[3]))["difference"]) > 0.02
