"""A run's config.json: what is missing or of the wrong kind is said, not raised as a bug."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hatchel.core.errors import HatchelError
from hatchel.training.checkpoint import Description


@pytest.mark.parametrize("change", [{"shape": None}, {"format": "one"}, {"n_data": "many"}])
def test_a_damaged_description_is_named(tmp_path: Path, change: dict[str, object]) -> None:
    page = {"format": 1, "spec": {}, "shape": [1, 8, 8], "n_data": 3, "data": "x"}
    (tmp_path / "config.json").write_text(json.dumps({k: v for k, v in {**page, **change}.items() if v is not None}))
    with pytest.raises(HatchelError, match=r"config.json: was not written by Hatchel, or is damaged"):
        Description.read(tmp_path)
