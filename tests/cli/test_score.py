import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from hatchel.cli.score import score
from hatchel.core.errors import HatchelError
from hatchel.metrics import evaluate

app = typer.Typer()
app.command()(score)


def run(*arguments):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    factors = rng.integers(3, size=(600, 2))
    codes = factors + rng.normal(scale=0.2, size=(600, 2))
    np.save(tmp_path / "codes.npy", codes)
    np.save(tmp_path / "factors.npy", factors)
    np.savez(tmp_path / "both.npz", codes=codes, factors=factors, std=np.full((600, 2), 0.2), names=["shape", "x"])
    return tmp_path, codes, factors


def test_json_is_what_evaluate_returns(files):
    folder, codes, factors = files
    result = run(
        folder / "codes.npy", folder / "factors.npy", "--metrics", "mig,irs", "--json", "--bootstrap", 5, "--seed", 2
    )
    expected = evaluate(codes, factors, "mig,irs", seed=2, bootstrap=5)
    assert json.loads(result.stdout) == json.loads(expected.to_json())


def test_the_table_has_values_intervals_and_what_is_missing(files):
    folder, codes, factors = files
    result = run(folder / "codes.npy", folder / "factors.npy", "--metrics", "mig,rmig,gaussian_tc", "--bootstrap", 4)
    value = evaluate(codes, factors, "mig")["mig"].value
    assert f"{value:.4f}" in result.stdout
    assert "95 % interval" in result.stdout
    assert "not measured: rmig: needs the standard deviations" in result.stdout


def test_one_archive_holds_codes_factors_names_and_deviations(files):
    folder, *_ = files
    data = json.loads(run(folder / "both.npz", "--metrics", "mig,rmig", "--json").stdout)
    assert data["scores"]["mig"]["factors"] == ["shape", "x"]
    assert "rmig" in data["scores"]


def test_tables_of_words(tmp_path):
    rng = np.random.default_rng(0)
    v = rng.integers(3, size=300)
    codes = "a,b\n" + "\n".join(f"{x},{y}" for x, y in zip(v + 0.0, rng.normal(size=300), strict=True))
    (tmp_path / "codes.csv").write_text(codes)
    (tmp_path / "factors.csv").write_text("shape\n" + "\n".join(np.array(["heart", "square", "ellipse"])[v]))
    data = json.loads(run(tmp_path / "codes.csv", tmp_path / "factors.csv", "--metrics", "mig", "--json").stdout)
    assert data["scores"]["mig"]["parts"]["shape"] > 0.9


def test_plot_writes_a_picture_and_needs_factors(files):
    folder, *_ = files
    run(folder / "both.npz", "--metrics", "mig,med", "--plot", folder / "maps.png")
    assert (folder / "maps.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(HatchelError, match="give a file of factors"):
        run(folder / "codes.npy", "--metrics", "gaussian_tc", "--plot", folder / "maps.png")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing.npy",), "there is no such file"),
        (("codes.npy", "factors.npy", "--metrics", "mgi"), "unknown metric 'mgi'. Did you mean 'mig'"),
        (("both.npz", "--continuous", "shap"), "unknown factor 'shap'. Did you mean 'shape'"),
        (("codes.npy", "factors.npy", "--names", "a"), "names: 1 names for 2 factors"),
    ],
)
def test_mistakes_are_one_line(files, arguments, message):
    folder, *_ = files
    placed = [folder / a if a.endswith((".npy", ".npz")) else a for a in arguments]
    with pytest.raises(HatchelError) as error:
        run(*placed)
    assert message in str(error.value)


def test_continuous_factors_by_name_all_or_none(files):
    folder, codes, factors = files
    one = json.loads(run(folder / "both.npz", "--metrics", "mig", "--continuous", "x", "--json").stdout)
    expected = evaluate(codes, factors, "mig", continuous=[False, True], names=["shape", "x"])
    assert one["scores"]["mig"]["value"] == expected["mig"].value
    for choice, mask in (("all", True), ("none", False)):
        data = json.loads(run(folder / "both.npz", "--metrics", "mig", "--continuous", choice, "--json").stdout)
        assert data["scores"]["mig"]["value"] == evaluate(codes, factors, "mig", continuous=mask)["mig"].value
