import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.metrics import Probe


def test_the_reference_protocol_splits_ten_thousand_and_five_thousand():
    probe = Probe(np.arange(40_000.0)[:, None])
    assert (len(probe.train), len(probe.test)) == (10_000, 5_000)
    assert not np.intersect1d(probe.train, probe.test).size


def test_smaller_data_is_split_two_to_one_and_the_same_for_the_same_seed():
    codes = np.arange(300.0)[:, None]
    probe = Probe(codes, seed=4)
    assert (len(probe.train), len(probe.test)) == (200, 100)
    assert np.array_equal(np.sort(np.r_[probe.train, probe.test]), np.arange(300))
    assert np.array_equal(probe.train, Probe(codes, seed=4).train)
    assert not np.array_equal(probe.train, Probe(codes, seed=5).train)


def test_a_given_split_is_kept_in_order():
    left, right = np.zeros((4, 1)), np.ones((2, 1))
    probe = Probe.split((left, [0, 1, 0, 1]), (right, [0, 1]))
    assert probe.train.tolist() == [0, 1, 2, 3]
    assert probe.test.tolist() == [4, 5]


def test_asking_for_more_rows_than_there_are_is_an_error():
    with pytest.raises(HatchelError, match=r"8 \+ 4 rows asked for, but there are 10"):
        _ = Probe(np.zeros((10, 1)), train=8, test=4).train


def test_a_factor_is_continuous_if_declared_or_if_fractions_hardly_repeat():
    rng = np.random.default_rng(0)
    columns = np.stack([rng.normal(size=200), rng.integers(4, size=200) / 7, rng.integers(3, size=200)], axis=1)
    assert Probe(columns, columns).continuous.tolist() == [True, False, False]
    assert Probe(columns, columns, continuous=[True, True, False]).continuous.tolist() == [True, True, False]
    assert Probe(columns, columns).sizes.tolist() == [20, 4, 3]


def test_dead_dimensions_and_constant_factors_are_reported():
    codes = np.stack([np.arange(6.0), np.full(6, 3.0)], axis=1)
    probe = Probe(codes, np.array([[0, 1]] * 3 + [[1, 1]] * 3), names=["a", "b"])
    assert probe.notes == ("dead dimensions: z1", "constant factors, left out: b")


def test_resampled_rows_keep_the_bins_and_class_numbers_of_the_whole():
    rng = np.random.default_rng(3)
    codes, factors = rng.normal(size=(50, 2)), rng.integers(9, size=(50, 1))
    probe = Probe(codes, factors)
    rows = np.array([7, 7, 3])
    child = probe.rows(rows)
    assert np.array_equal(child.binned(), probe.binned()[rows])
    assert np.array_equal(child.classes, probe.classes[rows])
    assert np.array_equal(child.codes, codes[rows])


def test_a_bootstrap_replicate_never_mixes_the_two_sides_of_a_split():
    codes = np.arange(30.0)[:, None]
    probe = Probe(codes, np.arange(30) % 2, train=np.arange(20), test=np.arange(20, 30))
    child = probe.resampled(np.random.default_rng(0))
    assert len(child.train) + len(child.test) == 30
    assert child.codes[child.train].max() < 20 <= child.codes[child.test].min()


def test_shared_quantities_are_computed_once(monkeypatch):
    from hatchel.metrics import information

    calls = []
    original = information.mutual_information
    monkeypatch.setattr(information, "mutual_information", lambda *a: calls.append(1) or original(*a))
    rng = np.random.default_rng(0)
    probe = Probe(rng.normal(size=(90, 2)), rng.integers(3, size=(90, 2)))
    from hatchel.metrics.functions import measure

    measure(probe, "mig,mig_sup,modularity,med,dcimig")
    assert len(calls) == 1


def test_deviations_may_come_one_a_dimension_and_must_be_positive():
    codes = np.zeros((5, 2))
    assert Probe(codes, std=[0.1, 2.0]).std.shape == (5, 2)
    with pytest.raises(HatchelError, match="std: expected positive numbers"):
        Probe(codes, std=np.zeros((5, 2)))
