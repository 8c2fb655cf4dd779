"""Every remedy that an error names is typed here, as it is printed, and works."""

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from hatchel.cli.main import app
from hatchel.core.errors import HatchelError
from hatchel.study.store import Store
from tests.torture import STUDY

ASSIGNMENT = r"[\w.]+=(?:\[[^\]]*\]|[^\s,;.\[]+)"
REMEDY = re.compile(rf"(?:[Ss]et|use|with) ({ASSIGNMENT}(?: {ASSIGNMENT})*)")
COMMAND = re.compile(r"hatchel ((?:train|evaluate|list|study|data) [^`'\n]*?)(?:`|\)?$)")

SQUARES = "data=xy_squares data.size=16 batch_size=16 latent.dim=4"
LINES = {
    "empty cells": "train vae data=TMP/gaps.csv batch_size=4",
    "stray texts": "train vae data=TMP/strays.csv batch_size=4",
    "too many texts": "train vae data=TMP/names.csv batch_size=4",
    "several arrays": "train vae data=TMP/two.npz batch_size=4",
    "a broken picture": "train vae data=TMP/pictures batch_size=2 data.size=16",
    "rows": "train vae data=TMP/rows.npy batch_size=4 encoder=conv",
    "data show, empty cells": "data show TMP/gaps.csv --out TMP/rows.png",
    "discrete sites": f"train dip_vae_i {SQUARES} latent=mixed",
    "one level": f"train de_vae {SQUARES} latent=diagonal",
}
"""What provokes them; the remedy is read from the error."""

VAE = f"train vae {SQUARES}"
ARRAY = "train vae data=TMP/images.npy batch_size=4"
TYPED = {
    # A line, what its error says, and the line that follows from it; after a `+`, only what is added.
    "a batch of one": (f"train beta_tcvae {SQUARES} batch_size=1", "set batch_size=64", "+ batch_size=64"),
    "a batch beyond the data": (
        f"{VAE} batch_size=999",
        "the 64 items to train on; set batch_size=64",
        "+ batch_size=64",
    ),
    "few items for a covariance": (
        f"train beta_tcvae {SQUARES} by=gaussian batch_size=4",
        "set batch_size=8 or more",
        "+ batch_size=8",
    ),
    "a class is not normal": (
        f"train beta_tcvae {SQUARES} by=gaussian latent=mixed",
        "set latent=diagonal",
        "+ latent=diagonal",
    ),
    "nor is it with another way": (f"train beta_tcvae {SQUARES} by=gaussian latent=mixed", "or use by=mss", "+ by=mss"),
    "unclear channels": (
        "train vae data=TMP/both.npy batch_size=4",
        "Set data.channels=first",
        "+ data.channels=first",
    ),
    "rows for a decoder": (
        "train vae data=TMP/rows.npy batch_size=4 decoder=broadcast",
        "Set decoder=mlp_decoder",
        "+ decoder=mlp_decoder",
    ),
    "small images": ("train vae data=TMP/small.npy batch_size=4 encoder=split", "Set encoder=mlp", "+ encoder=mlp"),
    "an optimiser": (
        f"{VAE} optimizer=adamw",
        "AdamW is optimizer.weight_decay=0.01",
        f"{VAE} optimizer.weight_decay=0.01",
    ),
    "a critic's optimiser": (
        f"train factor_vae {SQUARES} critic_optimizer=adamw",
        "AdamW is critic_optimizer.weight_decay=0.01",
        f"train factor_vae {SQUARES} critic_optimizer.weight_decay=0.01",
    ),
    "a stop of nothing": (
        f"{VAE} stop=plateau stop.of=foo",
        "stop.of: 'foo' is no part of the loss; use one of loss",
        "+ stop.of=loss",
    ),
    "a stop of factors": (f"{ARRAY} stop=metric", "use stop=plateau", "+ stop=plateau"),
    "a device": (f"{VAE} device=gpu", "use cpu, cuda, mps or auto", "+ device=auto"),
    "an even kernel": (
        f"{VAE} decoder=broadcast decoder.kernel=4",
        "decoder.kernel: must be odd, got 4; set 5",
        "+ decoder.kernel=5",
    ),
    "no columns": (f"{VAE} likelihood=columns", "Train on a table", "train vae data=TMP/good.csv batch_size=4"),
    "one layer": (
        "train vae data=xy_squares data.size=16 batch_size=16 latent=ladder latent.layers=[3]",
        "latent.layers: a ladder has at least two, e.g. [10,5]",
        "+ latent.layers=[10,5]",
    ),
    "no channels": (
        f"{VAE} encoder=conv encoder.channels=[]",
        "encoder.channels: name at least one, e.g. [32,32,64,64]",
        "+ encoder.channels=[32,32,64,64]",
    ),
    "no features": (f"train recurd {SQUARES} encoder=mlp", "set encoder=recursive", "+ encoder=recursive"),
    "no generator": (
        f"train info_gan {SQUARES} latent=diagonal",
        "set latent=code_noise",
        f"train info_gan {SQUARES} latent=code_noise",
    ),
    "one group": (
        f"train hf_vae {SQUARES} latent=diagonal",
        "or a term over=sites",
        "+ objective.between.term.over=sites",
    ),
    "places for sites": (f"{VAE} encoder=sharing latent.dim=400", "Set latent.dim=64 or less", "+ latent.dim=64"),
    "no fields inside": (f"{VAE} latent.dim.x=3", "set latent.dim=... instead", f"{VAE} latent.dim=3"),
    "no value": (f"{VAE} oops", "such as steps=1000 or latent.dim=16", f"{VAE} latent.dim=16"),
    "a near field": (f"{VAE} tread=1", "Did you mean 'threads'", f"{VAE} threads=1"),
    "a near method": (f"train beta_va {SQUARES}", "Did you mean 'beta_vae'", f"train beta_vae {SQUARES}"),
    "epochs and steps": (f"{VAE} steps=2 --epochs 1", "leave one of them out", f"{VAE} --epochs 1"),
    "epochs of a run": (
        "train TMP/run --resume --epochs 1",
        "trained further by steps=..., such as steps=40000",
        "train TMP/run --resume steps=3",
    ),
    "labels": (f"{VAE} objective.d.term=disintegration", "set labels from 2 to 64", "+ labels=16"),
    "labels without factors": (
        f"{ARRAY} objective.d.term=disintegration labels=4",
        "leave the term out",
        f"{ARRAY} labels=4",
    ),
    "a plug-in": (f"{VAE} --plugin TMP/plug", "its name must end in .py", f"{VAE} --plugin TMP/plug.py"),
    "places": (f"{VAE} data.places=7", "size=16 is not a multiple of places=7", "+ data.places=8"),
    "nothing left": (f"{VAE} test_share=1", "must be below 1", "+ test_share=0.5"),
    "a choice": (f"{VAE} precision=float8", "'bfloat16'", "+ precision=bfloat16"),
    "an unfinished run": (f"{VAE} steps=4 --out TMP/run", "add --resume", "+ --resume"),
    "the same, over": (f"{VAE} steps=4 --out TMP/run", "or --force", "+ --force"),
    "another run": (f"{VAE} seed=1 steps=2 --out TMP/run", "choose another --out", "+ --out TMP/new"),
    "another run, over": (f"{VAE} seed=1 steps=2 --out TMP/run", "or --force", "+ --force"),
    "other data": (f"{ARRAY} --out TMP/run", "or --force", "+ --force"),
    "a file in the way": (f"{VAE} --out TMP/good.csv", "name a folder that is new", "+ --out TMP/new"),
    "not a run": ("evaluate TMP/pictures", "runs are made by `hatchel train`", f"{VAE} --out TMP/new"),
    "its own folder": (
        "export TMP/run --safetensors TMP/run",
        "name another folder",
        "export TMP/run --safetensors TMP/new",
    ),
    "an export in the way": ("export TMP/run --safetensors TMP/pictures", "with --force", "+ --force"),
    "no export": ("export TMP/run", "name at least one of --onnx, --safetensors", "+ --safetensors TMP/new"),
    "a size": ("weight 4 --of 64x64x1 --to 3y3", "try --to 64x64x3", "+ --to 64x64x3"),
    "an old word": ("list presets", "hatchel list methods", "list methods"),
    "a query": (
        "study query --store TMP/store",
        '"SELECT metric, avg(value) FROM results GROUP BY metric"',
        "+ 'SELECT metric, avg(value) FROM results GROUP BY metric'",
    ),
    "a column": (
        "study query 'SELECT x FROM results' --store TMP/store",
        "hatchel study query --columns",
        "study query --columns --store TMP/store",
    ),
    "no store": ("study query 'SELECT 1' --store TMP/pictures", "name it with --store", "+ --store TMP/store"),
    "an ending": (
        "study export TMP/x.txt --store TMP/store",
        "end in .csv",
        "study export TMP/x.csv --store TMP/store",
    ),
    "no records": (
        "study report TMP/small.yaml --store TMP/store",
        "first: hatchel study run TMP/small.yaml",
        "study run TMP/small.yaml --store TMP/store --engine here --seeds 1 -q",
    ),
    "an address": (
        "study run TMP/small.yaml --store TMP/store --engine here://x",
        "use --engine here",
        "+ --engine here --seeds 1 -q",
    ),
    "a plot without factors": (
        "score TMP/rows.npy --plot TMP/p.png",
        "give a file of factors",
        "score TMP/rows.npy TMP/factors.npy --plot TMP/p.png",
    ),
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two steps."""
    folder = tmp_path_factory.mktemp("trained") / "run"
    assert not told([*VAE.split(), "steps=2", "-q", "--out", str(folder)])
    return folder


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    numbers = [f"{v:.3f},{w:.3f}" for v, w in rng.normal(size=(40, 2))]
    (tmp_path / "gaps.csv").write_text("\n".join(["a,b", *numbers, "1.5,"]))
    (tmp_path / "strays.csv").write_text("\n".join(["a,b", *numbers, "1.5,none"]))
    (tmp_path / "names.csv").write_text("\n".join(["a,b", *(f"{n},name {n}" for n in range(3000))]))
    images = rng.integers(255, size=(12, 16, 16), dtype=np.uint8)
    np.savez(tmp_path / "two.npz", first=images, second=images)
    np.save(tmp_path / "odd.npy", rng.integers(255, size=(12, 28, 28), dtype=np.uint8))
    np.save(tmp_path / "rows.npy", rng.normal(size=(12, 5)))
    np.save(tmp_path / "factors.npy", rng.integers(2, size=(12, 2)))
    np.save(tmp_path / "images.npy", images)
    np.save(tmp_path / "small.npy", images[:, :8, :8])
    np.save(tmp_path / "both.npy", rng.integers(255, size=(12, 3, 16, 3), dtype=np.uint8))
    (tmp_path / "good.csv").write_text("\n".join(["a,b", *numbers]))
    for name in ("plug", "plug.py"):
        (tmp_path / name).write_text("")
    (tmp_path / "small.yaml").write_text(STUDY)
    (tmp_path / "pictures").mkdir()
    for n in range(4):
        Image.fromarray(images[n]).save(tmp_path / "pictures" / f"{n}.png")
    (tmp_path / "pictures" / "broken.png").write_bytes(b"\x89PNG")
    return tmp_path


def told(words: list[str]) -> str:
    """The error of a command line; nothing where it works."""
    try:
        found = CliRunner().invoke(app, words, catch_exceptions=False)
    except HatchelError as error:
        return str(error)
    assert found.exit_code == 0, found.output
    return ""


@pytest.mark.filterwarnings("ignore:left out 1 unreadable")
@pytest.mark.parametrize("name", sorted(LINES))
def test_what_an_error_says_to_set_works_as_typed(name: str, files: Path) -> None:
    words = LINES[name].replace("TMP", str(files)).split()
    if words[0] == "train":
        words += ["steps=1", "-q", "--out", str(files / "run")]
    line = told(words)
    found = REMEDY.search(line)
    assert found, line or "it works"
    again = told([*words, *found[1].split()])
    assert not again, f"{line}\n{found[1]}\n{again}"


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", sorted(TYPED))
def test_the_line_that_follows_from_an_error_works(name: str, files: Path, trained: Path) -> None:
    line, says, then = (text.replace("TMP", str(files)) for text in TYPED[name])
    if f"{files}/run" in line:
        shutil.copytree(trained, files / "run")
    if f"{files}/store" in line + then:
        Store(files / "store").create()
    then = line + then[1:] if then.startswith("+") else then

    def words(text: str) -> list[str]:
        found = shlex.split(text)
        if found[0] != "train":
            return found
        steps = [] if "steps=" in text or "--epochs" in text else ["steps=1"]
        return [*found, *steps, "-q", *([] if "--out" in text or "--resume" in text else ["--out", str(files / "out")])]

    error = told(words(line))
    assert says in error, error or "it works"
    again = told(words(then))
    assert not again, f"{error}\n{then}\n{again}"


def test_commands_that_errors_name_work_as_typed(files: Path) -> None:
    out = str(files / "run")
    start = ["train", "vae", *SQUARES.split(), "-q", "--out", out]
    assert not told([*start, "steps=2"])
    for words in (
        [*start, "steps=2", "seed=1"],  # another configuration: to train that run further ...
        ["show", "TMP"],
        ["list", "presets"],
    ):
        line = told(words)
        found = COMMAND.search(line)
        if found is None:
            assert "Known: " in line
            continue
        assert not told(found[1].replace("steps=...", "steps=3").split()), line
