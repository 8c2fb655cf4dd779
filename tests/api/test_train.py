"""train, load and evaluate: one call each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import hatchel
from hatchel import HatchelError
from hatchel.methods.vae import BetaVAE

SMALL = {"batch_size": 16, "steps": 3, "progress": False, "latent.dim": 3}
FEW = {"batch_size": 16, "steps": 4, "log_every": 2, "progress": False}


def test_a_method_by_name_with_its_parameters_and_fields_of_the_run(tmp_path: Path) -> None:
    run = hatchel.train("beta_vae", data="xy_squares", beta=2, out=tmp_path / "a", **SMALL)
    expected = hatchel.resolve("beta_vae", "xy_squares", {"beta": 2, "latent.dim": 3, "steps": 3, "batch_size": 16})
    assert isinstance(run, hatchel.Run)
    assert run.spec == expected.fit_to(run.data)
    again = hatchel.train(expected, out=tmp_path / "b", progress=False)
    same = hatchel.train(BetaVAE(2), data="xy_squares", out=tmp_path / "c", **SMALL)
    images = run.data.images(np.arange(5))
    for other in (again, same, hatchel.load(tmp_path / "a"), hatchel.Run.load(tmp_path / "b")):
        assert isinstance(other, hatchel.Run)
        np.testing.assert_array_equal(other.encode(images), run.encode(images))


def test_fields_of_the_data(tmp_path: Path) -> None:
    run = hatchel.train("vae", data="xy_squares", out=tmp_path, **SMALL, **{"data.size": 16, "encoder": "mlp"})
    assert (run.spec.data.size, run.shape) == (16, (1, 16, 16))


def test_schedules_follow_the_steps_of_the_call(tmp_path: Path) -> None:
    run = hatchel.train("annealed_vae", data="xy_squares", out=tmp_path, **SMALL)
    assert run.spec.objective["kl"].weight.steps == 1


def test_an_array_is_data(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(40, 4))
    run = hatchel.train("vae", data=rows, out=tmp_path, **SMALL)
    assert run.encode(rows).shape == (40, 3)


def test_evaluate_takes_a_run_its_folder_or_arrays(tmp_path: Path) -> None:
    run = hatchel.train("vae", data="xy_squares", out=tmp_path, **SMALL)
    found = [hatchel.evaluate(what, ["mig"], items=64, bootstrap=0) for what in (run, tmp_path)]
    found.append(run.evaluate(["mig"], items=64, bootstrap=0))
    assert len({float(f["mean"]["mig"]) for f in found}) == 1
    codes = np.repeat(np.arange(4.0), 25)[:, None]
    assert float(hatchel.evaluate(codes, codes.astype(int), "mig")["mig"]) == pytest.approx(1)


def test_report(tmp_path: Path) -> None:
    run = hatchel.train("vae", data="xy_squares", out=tmp_path, **SMALL)
    assert run.report(tmp_path / "page.html").read_text().startswith("<!")


def test_what_to_train_on_is_asked_for_with_an_example_that_works() -> None:
    with pytest.raises(HatchelError, match=r'say what to train on: hatchel\.train\("beta_vae", data="dsprites"\)'):
        hatchel.train("beta_vae")


def test_channels_first_is_the_same_as_channels_last(tmp_path: Path) -> None:
    last = np.random.default_rng(0).integers(0, 256, (40, 18, 20, 3), dtype=np.uint8)
    first = torch.from_numpy(last).permute(0, 3, 1, 2)
    runs = [
        hatchel.train("beta_vae", data=data, beta=2, out=tmp_path / str(i), latent__dim=3, **FEW)
        for i, data in enumerate((last, first))
    ]
    assert runs[0].spec == runs[1].spec
    assert runs[0].spec.objective["kl"].weight.value == 2
    assert runs[0].spec.encoder.kind == "conv"
    np.testing.assert_array_equal(runs[0].encode(last), runs[1].encode(first))


def test_a_run_on_an_array_is_loaded_with_the_array(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x, y = np.random.default_rng(0).random((60, 4)), np.arange(60) % 3
    made = hatchel.train("vae", data=(x, y), out=tmp_path, **FEW)
    assert "0 of 10 dimensions active" in capsys.readouterr().err
    with pytest.raises(HatchelError, match=r"pass them again: hatchel\.load\(folder, data=x\)"):
        hatchel.evaluate(tmp_path, ["mig"])
    loaded = hatchel.load(tmp_path, data=(x, y))
    assert capsys.readouterr().err == ""
    assert float(loaded.evaluate(["mig"], bootstrap=0)["mig"]) == float(made.evaluate(["mig"], bootstrap=0)["mig"])
    unlabelled = hatchel.train("vae", data=x, out=tmp_path / "x", latent={"dim": 2}, **FEW)
    assert unlabelled.spec.latent.dim == 2
    capsys.readouterr()
    assert hatchel.load(tmp_path / "x", data=(x, y)).data.space is not None  # the same rows, and what is known of them
    assert capsys.readouterr().err == ""
    # The same rows in the same order are scaled as in training, whatever else is beside them.
    more = hatchel.Run.load(tmp_path, data=np.concatenate([x, x * 100]))
    assert "array is not the data it was trained on" in capsys.readouterr().err
    np.testing.assert_allclose(more.data.items(range(60)), made.data.items(range(60)), atol=1e-4)
    with pytest.raises(HatchelError, match=r"trained on items of shape \(4,\), those of array have \(1, 18, 20\)"):
        hatchel.load(tmp_path, data=np.zeros((5, 18, 20)))


def test_a_run_shows_itself(tmp_path: Path) -> None:
    run = hatchel.train("vae", data="xy_squares", out=tmp_path, **FEW)
    assert "run.evaluate()" in run._repr_html_()
    found = run.evaluate("mig,gaussian_tc", items=64, bootstrap=0)
    card = run._repr_html_()
    assert repr(run) == f"<Run vae: 4 steps, 10 latents, {tmp_path}>"
    assert f"mig <b>{float(found['mig']):.3f}</b>" in card
    assert "data:image/png;base64," in card

    with pytest.raises(KeyError, match="representations mean, sample and the scores mig, gaussian_tc"):
        found["nothing"]
    table = found.to_pandas()
    assert table.loc[("mean", "mig"), "value"] == float(found["mig"])
    assert list(run.history.index) == [2, 4]
    assert run.history.loss.iloc[-1] == pytest.approx(
        run.history["term/rec"].iloc[-1] + run.history["term/kl"].iloc[-1]
    )
    moved = run.traverse(3)
    assert moved.values.shape == (3, 11, 64, 64, 1)
    assert repr(moved).startswith("<Picture of (3, 11, 64, 64, 1): ")
    assert moved._repr_png_().startswith(b"\x89PNG")
    assert moved.save(tmp_path / "t.svg").read_text().startswith("<?xml")
    codes, images = run.sample(5)
    np.testing.assert_array_equal(images, run.decode(codes))
    assert run.sample(5)._repr_html_().count("<img") == 1
    both = run.reconstruct().values
    np.testing.assert_array_equal(both[1], np.rint(run.reconstruct(both[0]) * 255))


def test_what_is_trained_is_announced_for_tables_and_images(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = {**FEW, "progress": True, "latent__dim": 3, "steps": 1, "data__channels": "last"}
    images = np.random.default_rng(0).integers(0, 256, (20, 3, 4, 3), dtype=np.uint8)
    run = hatchel.train("vae", data=images, out=tmp_path / "images", encoder="mlp", decoder="mlp_decoder", **few)
    numbers = sum(p.numel() for p in run.model.parameters())
    said = f"vae on array: 20 images of 3x4, 3 channels; mlp and mlp_decoder, {numbers:,} parameters, 3 latents"
    assert said in capsys.readouterr().err.splitlines()
    # What had to be asked is known from the run's shape when it is loaded.
    assert hatchel.load(tmp_path / "images", data=images).data.shape == (3, 3, 4)
    del few["data__channels"]
    for columns in (1, 2):
        table = pd.DataFrame(np.random.default_rng(0).normal(size=(20, columns)))
        hatchel.train("vae", data=table, out=tmp_path / str(columns), **few)
        said = f"vae on table: 20 rows of {columns} column{'s' * (columns > 1)}; mlp and mlp_decoder, "
        assert any(line.startswith(said) for line in capsys.readouterr().err.splitlines())


def test_a_table_shows_its_columns(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"size": rng.normal(50, 9, 80), "city": rng.choice(["A", "B", "C"], 80), "new": rng.random(80) > 0.5}
    )
    run = hatchel.train("vae", data=table, out=tmp_path, **FEW)
    back = run.reconstruct(table)
    assert list(back.columns) == ["size", "city", "new"]
    assert set(back["city"]) <= {"A", "B", "C"}
    rows = run.decode(run.encode(table))
    np.testing.assert_allclose(back["size"], rows[:, 0], rtol=1e-6)
    np.testing.assert_array_equal(back["city"], np.array(["A", "B", "C"])[rows[:, 1:4].argmax(1)])
    moved, shown = run.traverse(2), run.reconstruct()
    assert moved.values.shape == (2, 11, 5)
    np.testing.assert_allclose(np.sort(shown.values[0][:, 0]), np.sort(table["size"]), rtol=1e-5)
    explained = 1 - ((shown.values[0] - shown.values[1])[:, 0] ** 2).sum() / (80 * table["size"].var(ddof=0))
    assert f"size   R² {explained:.2f}" in {axes.get_title(loc="left") for axes in shown.figure.axes}
    assert list(run.sample(3).to_pandas().columns) == ["size", "city", "new"]
    page = run.report().read_text()
    assert "3 columns: 1 of numbers, 1 of 0 or 1, 1 of categories" in page
    assert "Each column through the mean code and back" in page


def test_a_collapsed_model_is_announced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small: dict[str, Any] = {"data__size": 16, "data__places": 4, "batch_size": 16, "steps": 1, "latent__dim": 3}
    run = hatchel.train("vae", data="xy_squares", out=tmp_path, progress=False, optimizer__lr=1e-9, **small)
    said = f"hatchel: {tmp_path}: 0 of 3 dimensions active: train longer or lower beta"
    assert capsys.readouterr().err.splitlines() == [said]
    run.evaluate("mig", bootstrap=0)
    assert capsys.readouterr().err.splitlines()[-1] == said
    hatchel.evaluate(tmp_path, "mig", bootstrap=0)
    assert capsys.readouterr().err.splitlines()[-1] == said


def test_epochs_are_passes_over_the_items_to_train_on(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(40, 3))
    few = {"batch_size": 16, "progress": False, "latent__dim": 2}
    assert hatchel.train("vae", data=rows, epochs=3, out=tmp_path / "a", **few).steps == 6  # two batches in 40 items
    assert hatchel.train("vae", data=rows, epochs=3, test_share=0.5, out=tmp_path / "b", **few).steps == 3
    with pytest.raises(HatchelError, match=r"^epochs: steps=\.\.\. says the same; leave one of them out$"):
        hatchel.train("vae", data=rows, epochs=3, steps=3)
    with pytest.raises(HatchelError, match=r"^epochs: must be above 0, got 0$"):
        hatchel.train("vae", data=rows, epochs=0)
    with pytest.raises(
        HatchelError, match=r"^batch_size: 64 is more than the 40 items to train on; set batch_size=40$"
    ):
        hatchel.train("vae", data=rows, steps=1, out=tmp_path / "c")
    assert not (tmp_path / "c").exists()


class Counting:
    """One callback by itself, without a list around it."""

    steps: int = 0

    def on_step(self, *_: object) -> None:
        self.steps += 1


def test_what_a_run_is_given_is_checked(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (20, 8, 8, 1), dtype=np.uint8)
    told = Counting()
    nets = {"encoder": "mlp", "decoder": "mlp_decoder"}
    run = hatchel.train("vae", data=images, out=tmp_path, callbacks=told, latent__dim=3, **nets, **FEW)
    assert told.steps == 2  # of 4 steps, every second is logged
    for same in (images.astype(np.int64), images / 255, torch.from_numpy(images)):
        np.testing.assert_allclose(run.encode(same), run.encode(images), atol=1e-5)
    with pytest.raises(
        HatchelError, match=r"^images: floats are in \[0, 1\], these go up to 25\d; give x / 255, or bytes$"
    ):
        run.encode(images * 1.0)
    with pytest.raises(HatchelError, match=r"^n: must be at least 1, got 0$"):
        run.sample(0)
    with pytest.raises(HatchelError, match=r"^rows: must be at least 1, got 0$"):
        run.traverse(0)
    found = run.evaluate("active_units", bootstrap=0)
    assert repr(found) == found.table()
