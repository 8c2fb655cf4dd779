import h5py
import numpy as np
import pandas
import pytest

from hatchel.core.errors import HatchelError
from hatchel.metrics.files import read_columns, stored_roles

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
