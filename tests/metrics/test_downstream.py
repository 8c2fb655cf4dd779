import numpy as np
import pytest

from hatchel.metrics import downstream


@pytest.mark.parametrize("model", ["logistic", "boosting"])
def test_clear_codes_can_be_read_and_noise_cannot(model, grid, noise):
    onehot = np.eye(3)[grid[:, 0]]
    assert downstream(onehot, grid[:, 0], model=model, labels=60).value == 1
    chance = downstream(noise, grid[:, 0], model=model, labels=200).value
    assert chance == pytest.approx(1 / 3, abs=0.07)


def test_more_labels_help(grid, noise):
    codes = np.eye(3)[grid[:, 0]] + 0.7 * noise
    few, many = (downstream(codes, grid[:, 0], labels=n).value for n in (8, 1500))
    assert few < many - 0.05


def test_share_of_labels_and_names(grid, noise):
    score = downstream(noise, grid, share=0.1, names=["a", "b", "c"])
    assert score.n == 160
    assert list(score.parts) == ["a", "b", "c"]
    assert score.value == pytest.approx(np.mean(list(score.parts.values())))


def test_the_engine_of_the_boosted_trees_may_be_scikit_learn(grid, noise):
    codes = (grid + 0.5 * noise).round(1)
    ours, theirs = (downstream(codes, grid, model="boosting", labels=300, engine=e) for e in ("hatchel", "sklearn"))
    assert theirs.value == pytest.approx(ours.value, abs=0.02)
