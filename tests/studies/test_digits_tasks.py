"""Digits on a model made by hand: three classes, three real coordinates, and a decoder that is told what to do."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from hatchel.latents.layout import Layout
from hatchel.methods.resolve import resolve
from hatchel.studies.digits_tasks import STOPS, Digits, sampled, used
from hatchel.study.task import Result, Workspace
from hatchel.study.trained import Trained

N, K = 600, 3
HEAD = "elbo_terms.mutual_information_per_dimension.z"
LABELS = np.arange(N) % K
# z0 from -1.1 to 0.9: of its seven stops four are below 0, three above.
STYLE = np.stack([np.random.default_rng(i).permutation(np.linspace(-1.1, 0.9, N)) for i in range(3)], axis=1)


def pictures(classes) -> np.ndarray:
    """Class c is a bright row c: (n, 4, 4, 1) in [0, 1]."""
    found = np.zeros((len(classes), 4, 4, 1), dtype=np.float32)
    found[np.arange(len(classes)), np.asarray(classes)] = 1
    return found


class Dataset:
    def __len__(self) -> int:
        return N

    def factors(self, items) -> np.ndarray:
        return LABELS[items][:, None]

    def images(self, items) -> np.ndarray:
        found = (pictures(LABELS[items]) * 255).astype(np.uint8)
        found[:, 3] = (np.arange(N)[items] % 256)[:, None, None]  # which image it is
        found[:, 3, 0, 0] = np.arange(N)[items] // 256
        return found


class Model:
    steps = 0
    data = Dataset()
    spec = SimpleNamespace(latent=SimpleNamespace(layout=Layout.of({"style": (1, 1, 1), "zclass": (K,)})))

    def __init__(self, turns: bool, blind: bool = False) -> None:
        self.turns, self.blind = turns, blind

    def encode(self, images) -> np.ndarray:
        items = images[:, 3, 1, 0].astype(int) + 256 * images[:, 3, 0, 0].astype(int)
        sure = np.full((len(items), K), 0.1, dtype=np.float32)
        sure[np.arange(len(items)), LABELS[items]] = 0.8
        return np.concatenate([STYLE[items].astype(np.float32), sure], axis=1)

    def decode(self, codes) -> np.ndarray:
        classes = codes[:, 3:].argmax(axis=1) + (self.blind or (self.turns & (codes[:, 0] > 0)))
        return pictures(classes % K)


def found(monkeypatch, model: Model, information: dict[str, float]) -> Result:
    values = {f"{HEAD}{d}@coordinates": v for d, v in information.items()} | {"clustering": 0.5}
    monkeypatch.setattr(Trained, "compute", lambda self, workspace: Result(values, {"curves": {}}))
    monkeypatch.setattr(Trained, "trained", lambda self, workspace: model)
    cell = Digits(0, resolve("vae"), items=N, traversed=30)
    return cell.compute(Workspace(Path("nowhere"), Path("nowhere")))


def test_a_decoder_that_ignores_style_keeps_every_class(monkeypatch):
    record = found(monkeypatch, Model(turns=False), {"0": 1.0, "1": 0.3, "2": 0.01})
    assert record.values["kept"] == 1.0
    assert record.values["judge"] == 1.0
    assert record.values["confidence"] == pytest.approx(0.8)
    assert (record.values["unused"], record.values["between"]) == (1.0, 1.0)
    assert record.values["clustering"] == 0.5
    assert record.details["information"] == [1.0, 0.3, 0.01]
    # Used coordinates alone, the most informative first; a row of seven for each class.
    assert list(record.details["strips"]) == ["z0", "z1"]
    assert np.array(record.details["strips"]["z0"]).shape[:2] == (K, STOPS)


def test_pictures_of_style_go_from_minus_to_plus_three_with_the_others_at_0(monkeypatch):
    seen = []

    class Watched(Model):
        def decode(self, codes) -> np.ndarray:
            seen.append(codes.copy())
            return super().decode(codes)

    found(monkeypatch, Watched(turns=False), {"0": 1.0, "1": 0.3, "2": 0.01})
    zero, one = (codes for codes in seen if len(codes) == 30 * STOPS and np.abs(codes[:, :3]).max() == 3)
    for codes, moved in ((zero, 0), (one, 1)):
        assert codes[:STOPS, moved] == pytest.approx(np.linspace(-3, 3, STOPS))
        assert not np.delete(codes[:, :3], moved, axis=1).any()
        assert codes[:, 3:].max(axis=1) == pytest.approx(0.8)  # the class as it was read


def test_classes_are_decoded_with_drawn_styles_and_named(monkeypatch):
    plain = found(monkeypatch, Model(turns=False), dict.fromkeys("012", 1.0))
    assert (plain.values["named_alike"], plain.values["distinct"]) == (1.0, 3.0)
    assert plain.details["class names"] == [[0, 1.0], [1, 1.0], [2, 1.0]]
    # z0 > 0 turns the class: about half of the draws have the other name.
    turned = found(monkeypatch, Model(turns=True), dict.fromkeys("012", 1.0))
    assert 0.5 <= turned.values["named_alike"] < 0.65
    assert turned.values["distinct"] == len({n for n, share in turned.details["class names"] if share > 0.5})


def test_a_coordinate_that_turns_the_class_shows(monkeypatch):
    record = found(monkeypatch, Model(turns=True), {"0": 0.2, "1": 2.0, "2": 0.0})
    assert record.values["kept"] == pytest.approx((4 / 7 + 1) / 2)  # z0 keeps it at four stops of seven, z1 at all
    assert list(record.details["strips"]) == ["z1", "z0"]


def test_no_used_coordinate_keeps_the_class_and_no_right_image_says_nothing(monkeypatch):
    assert found(monkeypatch, Model(turns=True), dict.fromkeys("012", 0.0)).values["kept"] == 1.0
    record = found(monkeypatch, Model(turns=False, blind=True), dict.fromkeys("012", 1.0))
    assert "kept" not in record.values
    assert record.details["strips"] == {}


def test_used_reads_the_coordinates_first_and_in_order_of_their_numbers():
    plain = {f"{HEAD}{d}": float(d) for d in (10, 2, 0)}
    assert used(plain) == [0.0, 2.0, 10.0]
    others = {f"{HEAD}0@sample": 9.0, "elbo_terms": 5.0, "elbo_terms.mutual_information": 4.0}
    assert used({**plain, **others}) == [0.0, 2.0, 10.0]
    assert used({**plain, **others, f"{HEAD}1@coordinates": 7.0}) == [7.0]
    assert used(others) == []


def test_items_come_in_no_order_so_that_the_first_of_a_grid_are_of_all_classes():
    class Grid:
        def __len__(self) -> int:
            return 1000

        def factors(self, items) -> np.ndarray:
            return items[:, None]

        def images(self, items) -> np.ndarray:
            return items

    labels, images = sampled(SimpleNamespace(data=Grid()), 100, 0)
    assert labels.tolist() == images.tolist()
    assert len(set(labels.tolist())) == 100
    assert labels.tolist() != sorted(labels.tolist())
