"""The papers' own figures, as their tables print them."""

from __future__ import annotations

import math

import pytest

from hatchel.studies import total_correlation
from hatchel.studies.common import at
from hatchel.studies.pool import SHAPES, SPRITES
from hatchel.study.study import Study
from tests.studies.smoke import SMOKED


def published(study: str) -> dict[str, dict[tuple, float]]:
    return {c.name: dict(c.published.items()) for c in Study.load(study).columns}


@pytest.mark.parametrize(
    ("study", "line", "wanted"),
    [
        ("recurd", (SPRITES, "beta-VAE", 4, "D = 8"), (0.0066, 0.0284, 0.2617, 0.1191, 0.1148, 0.2181)),
        ("recurd", (SPRITES, "beta-VAE", 16, "D = 8"), (0.0094, 0.0242, 0.2241, 0.1820, 0.1575, 0.2087)),
        ("recurd", (SPRITES, "beta-VAE", 60, "D = 8"), (0.0127, 0.0445, 0.1432, 0.1291, 0.1261, 0.1769)),
        ("recurd", (SPRITES, "AnnealedVAE", "", "D = 8"), (0.0171, 0.0311, 0.1177, 0.1449, 0.1793, 0.1663)),
        ("recurd", (SPRITES, "FactorVAE", 6.4, "D = 8"), (0.0228, 0.0436, 0.2594, 0.1955, 0.1375, 0.1699)),
        ("recurd", (SPRITES, "beta-TCVAE", 4, "D = 8"), (0.0162, 0.0352, 0.1585, 0.1774, 0.1988, 0.1660)),
        ("recurd", (SPRITES, "DIP-VAE-I", 100, "D = 8"), (0.0213, 0.0261, 0.0731, 0.1038, 0.0968, 0.1496)),
        ("recurd", (SPRITES, "RecurD-1", 0.1), (0.0047, 0.0502, 0.2707, 0.3841, 0.3835, 0.2222)),
        ("recurd", (SPRITES, "InfoGAN"), (None, None, 0.1598)),
        ("recurd", (SPRITES, "ControlVAE"), (None, None, 0.2455)),
        ("recurd", (SPRITES, "NVAE"), (None, None, 0.0043)),
        ("recurd", (SHAPES, "beta-VAE", 4, "D = 8"), (0.0216, 0.1463, 0.2519, 0.4682, 0.4463, 0.1982)),
        ("recurd", (SHAPES, "beta-VAE", 16, "D = 8"), (0.0544, 0.1488, 0.2629, 0.4528, 0.4691, 0.1828)),
        ("recurd", (SHAPES, "beta-VAE", 60, "D = 8"), (0.0624, 0.1041, 0.2402, 0.4317, 0.4215, 0.1641)),
        ("recurd", (SHAPES, "AnnealedVAE", "", "D = 8"), (0.0811, 0.0730, 0.2217, 0.4279, 0.4419, 0.1682)),
        ("recurd", (SHAPES, "FactorVAE", 6.4, "D = 8"), (0.0800, 0.1331, 0.2630, 0.4491, 0.4419, 0.1707)),
        ("recurd", (SHAPES, "beta-TCVAE", 4, "D = 8"), (0.0312, 0.0364, 0.2070, 0.4487, 0.4516, 0.1774)),
        ("recurd", (SHAPES, "DIP-VAE-I", 100, "D = 8"), (0.0213, 0.2013, 0.3108, 0.4853, 0.4621, 0.1961)),
        ("recurd", (SHAPES, "RecurD-1", 0.1), (0.0083, 0.1979, 0.3105, 0.5804, 0.5668, 0.2014)),
        ("recurd", (SHAPES, "InfoGAN"), (None, None, 0.1874)),
        ("recurd", (SHAPES, "ControlVAE"), (None, None, 0.2630)),
        ("recurd", (SHAPES, "NVAE"), (None, None, 0.0081)),
        ("devae", (SPRITES, "DeVAE"), (0.35, 0.35, 0.35)),
        ("devae", (SPRITES, "DeVAE", "", "parallel"), (0.24, 0.32, 0.35)),
        ("devae", (SPRITES, "DeVAE", "", "linear"), (0.24, 0.29, 0.30)),
        ("devae", (SPRITES, "DeVAE", "", "single"), (0.19, None, None)),
        ("hfvae-scores", (SPRITES, "VAE", 1), (0.71, 0.40)),
        ("hfvae-scores", (SPRITES, "beta-VAE", 4), (0.72, 0.71)),
        ("hfvae-scores", (SPRITES, "beta-SVAE", 4, "3 classes"), (0.47, 0.19)),
        ("hfvae-scores", (SPRITES, "beta-TCVAE", 4), (0.71, 0.31)),
        ("hfvae-scores", (SPRITES, "HFVAE", 4, "3 classes"), (0.78, 0.74)),
    ],
)
def test_a_line_of_a_table(study, line, wanted):
    key = tuple(at(*line).values())
    assert tuple(column.get(key) for column in published(study).values())[: len(wanted)] == wanted


@pytest.mark.parametrize("name", [name for group in SMOKED.values() for name in group])
def test_every_published_figure_has_its_line(name):
    """At the paper's scale each one stands beside a value of ours: no label is misspelt."""
    study = Study.load(name)
    columns = study.columns
    lines = {tuple(e.labels.values()) for e in study.tasks("paper", 1)}
    assert all(key in lines for column in columns for key in column.published)


def test_the_discriminators_table():
    wanted = {
        (10, 0.3): (0.23, 0.24), (10, 0.6): (1.08, 1.12), (10, 0.9): (4.14, 4.15), (100, 0.3): (2.17, 2.36),
        (100, 0.6): (10.27, 11.16), (100, 0.9): (23.39, 41.52), (1000, 0.3): (8.62, 23.58),
        (1000, 0.6): (17.40, 111.57), (1000, 0.9): (22.47, 415.18),
    }  # fmt: skip
    assert {k: (v, total_correlation.TRUTH[k]) for k, v in total_correlation.PUBLISHED.items()} == wanted
    for (dim, rho), truth in total_correlation.TRUTH.items():
        assert truth == pytest.approx(-dim / 4 * math.log(1 - rho**2), abs=0.006)


def test_parameters():
    from hatchel.studies.recurd_cost import HEADS, METHODS, PAPER_SECONDS, TABLE_10, TRAINED

    wanted = {"beta-VAE": 0.769, "FactorVAE": 4.779, "RecurD-1 specific MINE": 3.672, "RecurD-2 specific MINE": 3.694}
    assert {method: v[1] for (data, method), v in TABLE_10.items() if data == "3DShapes"} == wanted
    # Each of the paper's figures stands beside a line of ours.
    assert TABLE_10.keys() <= {(data, method) for data in HEADS for method in METHODS}
    assert PAPER_SECONDS.keys() <= TRAINED.keys()


def test_what_is_counted_is_not_trained():
    """An estimate of the time would count it."""
    entries = Study.load("recurd-cost").tasks("laptop", 1)
    assert {e.labels["what"]: bool(e.task.trainings()) for e in entries} == {"counted": False, "trained": True}
