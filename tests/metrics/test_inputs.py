import numpy as np
import pandas
import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.metrics import disintegration, mig

good = np.random.default_rng(0).normal(size=(60, 3))
factors = np.random.default_rng(1).integers(3, size=(60, 2))


def broken(value):
    codes = good.copy()
    codes[4, 1] = value
    return codes


@pytest.mark.parametrize(
    ("codes", "values", "message"),
    [
        (broken(np.nan), factors, "codes: 1 values are NaN or infinite, the first at row 4, column 1"),
        (broken(np.inf), factors, "codes: 1 values are NaN or infinite"),
        (np.empty((0, 3)), factors, "codes: the array is empty"),
        (good, np.empty((0, 2)), "factors: the array is empty"),
        (good, factors[:50], "factors: 50 rows, but the codes have 60"),
        (good, np.ones((60, 2)), "every factor takes one value only"),
        (good, np.arange(60), "factor_0 takes 60 values in 60 rows; give more rows than classes"),
        (good, np.where(factors == 1, np.nan, factors), "factors: .* values are NaN"),
        (good[:, :, None], factors, "codes: expected rows x columns"),
        (np.array([["a", "b"]] * 60), factors, "codes: expected numbers"),
        (good + 1j, factors, "codes: expected real numbers"),
    ],
)
def test_bad_input_gets_one_clear_line_and_no_number(codes, values, message):
    with pytest.raises(HatchelError, match=message) as error:
        mig(codes, values)
    assert "\n" not in str(error.value)


def test_names_and_masks_must_fit():
    with pytest.raises(HatchelError, match="names: 1 names for 2 factors"):
        mig(good, factors, names=["shape"])
    with pytest.raises(HatchelError, match="every factor needs its own name"):
        mig(good, factors, names=["x", "x"])
    with pytest.raises(HatchelError, match="continuous: 3 entries for 2 factors"):
        mig(good, factors, continuous=[True, False, True])
    with pytest.raises(HatchelError, match=r"unknown factor 'shpe'. Did you mean 'shape'"):
        mig(good, factors, names=["shape", "x"], subset=["shpe"])


def test_arrays_tensors_lists_and_strings_give_the_same_score():
    expected = mig(good, factors).value
    assert mig(torch.tensor(good, requires_grad=True), torch.tensor(factors)).value == expected
    assert mig(good.tolist(), factors.tolist()).value == expected
    assert mig(good, np.array(["low", "mid", "top"])[factors]).value == expected
    assert mig(good, factors.astype(np.uint8)).value == expected
    assert mig(good, factors * 0.5).value == expected  # fractions that repeat are still classes


def test_a_table_may_mix_words_and_numbers_and_names_its_columns():
    size = np.random.default_rng(2).normal(size=60)
    frame = pandas.DataFrame({"shape": np.array(["low", "mid", "top"])[factors[:, 0]], "size": size})
    score = mig(good, frame)
    assert list(score.parts) == ["shape", "size"]
    assert score.parts["shape"] == mig(good, factors[:, 0]).parts["factor_0"]
    assert score.parts["size"] == mig(good, size, continuous=True).parts["factor_0"]
    with pytest.raises(HatchelError, match="shape holds words, so it cannot be continuous"):
        mig(good, frame, continuous=True)
    with pytest.raises(HatchelError, match="R² needs factors that are numbers"):
        disintegration(good, frame, by="r2")
