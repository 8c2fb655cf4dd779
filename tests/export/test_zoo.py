"""The zoo: a packed model is the run it came from, opens as a run, and damage is named."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest

import hatchel
from hatchel.core.errors import HatchelError
from hatchel.core.files import Damaged, read_json
from hatchel.data.xy_squares import XYSquares
from hatchel.evaluation.codes import weights_digest
from hatchel.evaluation.evaluation import evaluate
from hatchel.explorer.session import Session
from hatchel.export import zoo
from hatchel.latents.diagonal import Diagonal
from hatchel.methods.resolve import resolve
from hatchel.training.checkpoint import checkpoints
from hatchel.training.run import TrainedRun, train
from tests.torture import called, flip

CARD = zoo.Card(
    "xy_squares/factor_vae", "FactorVAE gamma=5", 1, {"0": 0.1, "1": 0.2, "2": 0.4}, "the median", "the same",
    {"mig": {"value": 0.2, "low": 0.1, "high": 0.3}}, "on 64 items",
)  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> TrainedRun:
    spec = resolve("factor_vae", XYSquares(size=32), {"gamma": 5}).with_fields(
        steps=200, batch_size=32, latent=Diagonal(4), seed=1
    )
    return train(spec, out=tmp_path_factory.mktemp("zoo") / "run", progress=False)


@pytest.fixture(scope="module")
def packed(run: TrainedRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("packed")
    zoo.pack(run, CARD, place)
    return place


@pytest.fixture
def here(packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, and the packed model as the package's only one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(zoo, "ZOO", packed)
    return tmp_path


def test_what_is_packed_scores_as_the_run_does(run: TrainedRun, here: Path) -> None:
    copy = hatchel.Run.load("zoo:xy_squares/factor_vae")
    assert copy.folder == Path("runs/zoo/xy_squares/factor_vae")
    assert (copy.steps, copy.spec.digest()) == (run.steps, run.spec.digest())
    images = run.data.images(np.arange(64))
    np.testing.assert_allclose(copy.encode(images), run.encode(images), atol=5e-3)
    np.testing.assert_allclose(copy.reconstruct(images), run.reconstruct(images), atol=5e-3)
    names = ["mig", "sap", "modularity", "active_units", "gaussian_tc"]
    ours, theirs = (evaluate(r, names, bootstrap=0, store=False)["mean"] for r in (copy, run))
    # Of 64 items one across the edge of a bin moves MIG by up to log(64) / 64 / log(8) = 0.03, modularity the like.
    for name in names:
        close = 0.04 if name in ("mig", "modularity") else 0.01
        assert float(ours[name]) == pytest.approx(float(theirs[name]), abs=close), name


def test_its_codes_come_with_it(run: TrainedRun, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = hatchel.load("zoo:xy_squares/factor_vae")
    want = copy.encode(run.data.images(np.arange(64)))

    def rendered(*_: object) -> None:
        raise AssertionError("the explorer must not need the encoder to open")

    monkeypatch.setattr("hatchel.evaluation.codes._encode", rendered)
    session = Session([copy], items=64)
    np.testing.assert_allclose(session.runs[0].spaces[0].codes, want, atol=5e-3)
    assert len(session.about()["points"]) == 64


def test_the_package_is_never_written_to(packed: Path, here: Path) -> None:
    before = {path: path.read_bytes() for path in packed.rglob("*") if path.is_file()}
    copy = hatchel.load("zoo:xy_squares/factor_vae")
    copy.evaluate("mig", bootstrap=0)
    assert (copy.folder / "evaluation.json").is_file()
    assert hatchel.load("zoo:xy_squares/factor_vae").folder == copy.folder
    assert (copy.folder / "evaluation.json").is_file(), "a copy that is there is used"
    assert {path: path.read_bytes() for path in packed.rglob("*") if path.is_file()} == before


def test_half_the_bytes_and_no_critic(run: TrainedRun, packed: Path) -> None:
    numbers = sum(t.numel() for t in run.model.state_dict().values())
    size = (packed / "xy_squares/factor_vae.safetensors").stat().st_size
    codes = 64 * 4 * 3 * 2 + 64 * 4
    assert 2 * numbers + codes < size < 2 * numbers + codes + 4000, "the file's header lists its tensors"
    card = zoo.card("xy_squares/factor_vae", packed)
    assert card == dataclasses.replace(CARD, digest=card.digest, size=size)


@pytest.mark.parametrize(
    ("name", "near"), [("xy_squares/factorvae", True), ("factor_vae", True), ("nothing", False), ("../../etc", False)]
)
def test_unknown_names(here: Path, name: str, near: bool) -> None:
    with pytest.raises(HatchelError, match="hatchel zoo list") as error:
        hatchel.load(f"zoo:{name}")
    assert ("Did you mean zoo:xy_squares/factor_vae?" in str(error.value)) == near
    assert "\n" not in str(error.value)
    assert not (here / "runs").exists()


def test_damage_is_named_by_its_digest(packed: Path, tmp_path: Path) -> None:
    place = tmp_path / "packed"
    shutil.copytree(packed, place)
    file = place / "xy_squares/factor_vae.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(Damaged, match=r"digest is not the one in .*install Hatchel again"):
        zoo.unpacked("xy_squares/factor_vae", place, tmp_path / "copies")
    file.with_name(f"{file.name}.sha256").unlink()
    with pytest.raises(Damaged, match=r"its SHA-256 is .*its card says"):
        zoo.unpacked("xy_squares/factor_vae", place, tmp_path / "copies")
    config = file.with_suffix(".json")
    config.write_text(config.read_text().replace('"seed": 1', '"seed": 2', 1))
    with pytest.raises(Damaged, match="is damaged, or was changed by hand"):
        zoo.card("xy_squares/factor_vae", place)
    assert not (tmp_path / "copies").exists()


@pytest.mark.parametrize("name", ["model.safetensors", "state.json", "config.json"])
def test_a_damaged_copy_is_unpacked_again(here: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    copy = hatchel.load("zoo:xy_squares/factor_vae")
    want = weights_digest(copy)
    (place,) = checkpoints(copy.folder)
    path = copy.folder / name if name == "config.json" else place / name
    flip(path)
    code, said = called("verify", str(copy.folder))
    assert (code, said) == (1, "")
    assert weights_digest(hatchel.load("zoo:xy_squares/factor_vae")) == want
    assert capsys.readouterr().err == f"hatchel: {copy.folder}: is damaged; it is unpacked again\n"
    assert called("verify", "zoo:xy_squares/factor_vae") == (0, "")


def test_another_folder_in_its_place_is_left_alone(here: Path) -> None:
    mine = here / "runs/zoo/xy_squares/factor_vae"
    mine.mkdir(parents=True)
    (mine / "precious.txt").write_text("mine")
    with pytest.raises(HatchelError, match="move it away: mv runs/zoo/xy_squares/factor_vae "):
        hatchel.load("zoo:xy_squares/factor_vae")
    assert [p.name for p in mine.iterdir()] == ["precious.txt"]


def test_no_more_than_the_zoo_may_weigh(run: TrainedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zoo, "LARGEST", 1000)
    with pytest.raises(HatchelError, match="more than the zoo's"):
        zoo.pack(run, CARD, tmp_path / "zoo")
    assert not (tmp_path / "zoo").exists()


def test_the_packages_own_models() -> None:
    """What is installed: within its bytes, each with a card that says what was tried and the median of it."""
    assert sum(path.stat().st_size for path in zoo.ZOO.glob("*/*.safetensors")) <= zoo.LARGEST
    for name in zoo.names():
        card = zoo.card(name)
        migs = sorted(card.seeds.values())
        assert len(migs) >= 3
        assert card.seeds[str(card.seed)] == migs[(len(migs) - 1) // 2], "the median, not the luckiest"
        body = read_json(zoo.ZOO / f"{name}.json")
        assert body["config"]["spec"]["seed"] == card.seed
        assert "/" not in str(body["config"]["spec"]["data"].get("path", "")), "no paths of whoever built it"
        page = (Path(__file__).parents[2] / "docs/zoo.md").read_text(encoding="utf-8")
        row = next(line for line in page.splitlines() if line.startswith(f"| `zoo:{name}` |"))
        assert card.interval("mig") in row, "python benchmarks/zoo.py --page"
