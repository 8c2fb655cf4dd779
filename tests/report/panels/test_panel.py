from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from hatchel.core.errors import HatchelError
from hatchel.report.findings import Findings
from hatchel.report.panels import panel as module
from hatchel.report.panels.panel import Panel, all_panels, draw_panels

DOCS = (Path(__file__).parents[3] / "docs" / "report.md").read_text(encoding="utf-8")


def test_panels_come_in_their_order_and_only_where_they_have_something(found: Findings) -> None:
    anchors = [panel.anchor for panel in draw_panels(found)]
    members = all_panels()
    assert anchors == [name.replace("_", "-") for name, panel in members.items() if panel.draw(found) is not None]
    places = [panel.place for panel in members.values()]
    assert places == sorted(set(places))


def test_the_own_panel_of_the_docs_is_drawn(found: Findings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PANELS", dict(all_panels()))
    (code,) = re.findall(r"```python\n(.*?)```", DOCS, re.DOTALL)
    exec(compile(code, "docs/report.md", "exec"), vars(ModuleType("norm")))
    last = draw_panels(found)[-1]
    assert (last.anchor, last.title) == ("code-norm", "Length of the codes")
    bars = last.drawing.figures["code_norm"].axes[0].patches
    assert sum(bar.get_height() for bar in bars) == len(found.encoded.mean)
    ends = bars[0].get_x(), bars[-1].get_x() + bars[-1].get_width()
    lengths = np.linalg.norm(found.encoded.mean, axis=1)
    assert np.allclose(ends, (lengths.min(), lengths.max()), rtol=1e-5)


def test_a_panel_that_is_still_a_class_is_told_the_new_form() -> None:
    with pytest.raises(HatchelError, match="Mine: a panel is a function now"):
        type("Mine", (Panel,), {})


def test_every_panel_is_in_the_docs() -> None:
    for name in all_panels():
        assert f"`#{name.replace('_', '-')}`" in DOCS
