from __future__ import annotations

import numpy as np

from hatchel.report.findings import Findings
from hatchel.report.sites import class_information, site_information, sites


def test_sites_of_plain_and_of_named_groups(found: Findings, mixed: Findings) -> None:
    assert [(s.name, s.columns) for s in sites(found.run)] == [(f"z{d}", (d,)) for d in range(4)]
    assert [(s.name, s.columns, s.group) for s in sites(mixed.run)] == [
        ("z0-2 class", (0, 1, 2), "class"),
        ("z3 style", (3,), "style"),
        ("z4 style", (4,), "style"),
    ]


def test_the_information_of_a_class_is_that_of_a_noisy_channel() -> None:
    flip = 0.1  # two equally likely inputs through a binary symmetric channel: log 2 - H(flip)
    p = np.array([[1 - flip, flip], [flip, 1 - flip]] * 4)
    expected = np.log(2) + flip * np.log(flip) + (1 - flip) * np.log(1 - flip)
    assert np.isclose(class_information(p), expected)


def test_information_goes_to_its_sites(mixed: Findings) -> None:
    variables = mixed.dimensions.sites
    own = site_information(variables, mixed.encoded.mean, [7.0, 8.0])
    assert own[1:].tolist() == [7.0, 8.0]
    assert own[0] == class_information(mixed.encoded.mean[:, :3])
    assert mixed.terms is not None
    per_coordinate = list(mixed.terms.parts["mutual_information_per_dimension"].values())
    assert mixed.dimensions.information[1:].tolist() == per_coordinate
