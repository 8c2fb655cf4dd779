import h5py
import numpy as np
import pandas
import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.metrics import disintegration, mig
from hatchel.metrics.inputs import read_columns, stored_roles

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


values = np.arange(6.0).reshape(3, 2)


def test_every_format_gives_the_same_values(tmp_path):
    np.save(tmp_path / "a.npy", values)
    np.savez(tmp_path / "a.npz", codes=values, other=values + 1)
    np.savetxt(tmp_path / "a.csv", values, delimiter=",")
    np.savetxt(tmp_path / "a.tsv", values, delimiter="\t", header="x\ty", comments="")
    pandas.DataFrame(values, columns=["x", "y"]).to_parquet(tmp_path / "a.parquet")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["codes"], file["other"] = values, values + 1
    for name in ("a.npy", "a.npz", "a.h5", "a.csv", "a.tsv", "a.parquet"):
        assert np.array_equal(read_columns(tmp_path / name, "codes").values, values)
    assert read_columns(tmp_path / "a.tsv", "codes").names == ("x", "y")
    assert read_columns(tmp_path / "a.parquet", "codes").names == ("x", "y")
    assert stored_roles(tmp_path / "a.npz") == stored_roles(tmp_path / "a.h5") == ("codes", "other")
    assert stored_roles(tmp_path / "a.npy") == stored_roles(tmp_path / "a.csv") == ()


def test_factors_may_be_words_and_an_archive_may_name_them(tmp_path):
    (tmp_path / "f.csv").write_text("shape,side\nheart,left\nsquare,right\n")
    table = read_columns(tmp_path / "f.csv", "factors")
    assert table.names == ("shape", "side")
    assert table.values.tolist() == [["heart", "left"], ["square", "right"]]
    np.savez(tmp_path / "f.npz", factors=values, names=["a", "b"])
    assert read_columns(tmp_path / "f.npz", "factors").names == ("a", "b")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("c.csv", "", "the file is empty"),
        ("c.csv", "1,2\n3\n", "row 2 has 1 cells, the first has 2"),
        ("c.csv", "1,2\n3,x\n", "expected numbers, got 'x'"),
        ("c.npy", "not numpy", "cannot be read"),
        ("c.parquet", "not parquet", "not a readable parquet file"),
        ("c.txt", "1", "unknown file type '.txt'. Known: .npy, .npz"),
    ],
)
def test_unreadable_files_are_one_line(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(HatchelError, match="codes: ") as error:
        read_columns(tmp_path / name, "codes")
    assert message in str(error.value)


def test_missing_files_and_arrays_say_what_there_is(tmp_path):
    with pytest.raises(HatchelError, match="there is no such file"):
        read_columns(tmp_path / "none.npy", "codes")
    np.savez(tmp_path / "two.npz", z=values, v=values)
    with pytest.raises(HatchelError, match=r"holds no array 'codes'. Known: v, z"):
        read_columns(tmp_path / "two.npz", "codes")
