import math

import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.metrics import InfoMEC, Probe, infomec

REFERENCE = {
    "dsprites__a_perfect": (0.71571044, 0.999999983, 0.991027797),
    "dsprites__b_rotated": (0.515544449, 0.999984116, 0.329475834),
    "dsprites__c_disintegrated": (0.838360751, 0.999999981, 0.806963233),
    "dsprites__d_noise": (0.524184851, 0.00339882663, 0.323243571),
    "dsprites__e_nonlinear": (0.636744998, 0.498935882, 0.443527948),
    "dsprites__f_two_in_one": (math.nan, 0.806493849, 0.991267384),
    "shapes3d__a_perfect": (0.81479553, 0.999999986, 0.988171474),
    "shapes3d__b_rotated": (0.468808031, 0.999999984, 0.30592941),
    "shapes3d__d_noise": (0.3627025, 0.00191289014, 0.215244267),
}
"""InfoM, InfoE and InfoC of latent_quantization's compute_infomec; InfoM is 0/0 where a latent has no information."""


@pytest.mark.parametrize("name", REFERENCE)
def test_agreement_with_the_reference(name, case):
    d = case(name)
    rows = np.arange(len(d["codes_train"]))
    probe = Probe(d["codes_train"], d["factors_train"], train=rows, test=rows[:1])  # no test rows are read
    score = InfoMEC().score(probe)
    infom, infoe, infoc = REFERENCE[name]
    assert score.parts["infoe"] == pytest.approx(infoe, abs=5e-5)
    assert score.parts["infoc"] == pytest.approx(infoc, abs=5e-4)
    if math.isnan(infom):
        assert 0.5 < score.value < 1
        assert any("no information, left out of InfoM: z6" in note for note in score.notes)
    else:
        assert score.value == pytest.approx(infom, abs=5e-4)


def test_the_engine_may_be_scikit_learn(grid, noise):
    codes = grid[:600] + 0.5 * noise[:600]
    ours, theirs = (infomec(codes, grid[:600], engine=e) for e in ("hatchel", "sklearn"))
    assert theirs.matrix == pytest.approx(ours.matrix, abs=1e-6)  # but for noise of 1e-10 against ties
    assert theirs.value == pytest.approx(ours.value, abs=1e-6)


def test_perfect_duplicated_and_two_in_one(grid):
    perfect, doubled = infomec(grid + 0.0, grid).parts, infomec(grid[:, [0, 0, 1, 2]] + 0.0, grid).parts
    assert [perfect[k] for k in ("infom", "infoc")] == pytest.approx([1, 1], abs=0.02)
    assert doubled["infom"] == pytest.approx(1, abs=0.02)
    assert doubled["infoc"] == pytest.approx((np.mean([0.5, 1, 1]) - 1 / 4) / (3 / 4), abs=0.02)
    both = np.stack([grid[:, 0] * 4 + grid[:, 1], grid[:, 2]], axis=1) + 0.0
    shared = infomec(both, grid).parts
    assert shared["infoc"] == pytest.approx(1, abs=0.02)
    assert shared["infom"] == pytest.approx((np.mean([0.5, 1]) - 1 / 3) / (2 / 3), abs=0.02)


def test_small_ranges_are_pruned_and_reported(grid, noise):
    codes = np.c_[grid + 0.1 * noise, 1e-3 * noise[:, 0], np.ones(len(grid))]
    score = infomec(codes, grid)
    assert "range too small, left out: z3, z4" in score.notes
    assert score.parts["infom"] == pytest.approx(infomec(codes[:, :3], grid).parts["infom"], abs=0.02)
    assert "range too small" not in " ".join(infomec(codes[:, :4], grid, pruning=0).notes)


def test_one_latent():
    factors = np.random.default_rng(0).integers(3, size=(900, 2))
    assert infomec(factors[:, :1] + 0.0, factors).parts["infoc"] <= 1


def test_seed_and_constant_factor(grid, noise):
    codes = grid + 0.5 * noise
    assert infomec(codes, grid, seed=3).value == infomec(codes, grid, seed=3).value
    score = infomec(codes, np.c_[grid, np.ones(len(grid))])
    assert score.value == pytest.approx(infomec(codes, grid).value, abs=1e-9)
    assert np.isnan(score.matrix[:, 3]).all()
    with pytest.raises(HatchelError, match="infinite"):
        infomec(codes + np.inf, grid)
