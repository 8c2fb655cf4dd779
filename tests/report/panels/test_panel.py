from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from hatchel.report.findings import Findings
from hatchel.report.panels.panel import Panel, shown

DOCS = (Path(__file__).parents[3] / "docs" / "report.md").read_text(encoding="utf-8")


def test_panels_come_in_their_order_and_only_where_they_have_something(found: Findings) -> None:
    anchors = [panel.anchor for panel in shown(found)]
    members = sorted(Panel.members().values(), key=lambda m: m.place)
    assert anchors == [m.kind.replace("_", "-") for m in members if m().draw(found) is not None]
    assert len({m.place for m in members}) == len(members)


def test_the_own_panel_of_the_docs_is_drawn(found: Findings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Panel, "_members", dict(Panel._members))
    (code,) = re.findall(r"```python\n(.*?)```", DOCS, re.DOTALL)
    module = ModuleType("norm")
    monkeypatch.setitem(__import__("sys").modules, "norm", module)
    exec(compile(code, "docs/report.md", "exec"), vars(module))
    last = shown(found)[-1]
    assert (last.anchor, last.title) == ("code-norm", "Length of the codes")
    bars = last.drawing.figures["code_norm"].axes[0].patches
    assert sum(bar.get_height() for bar in bars) == len(found.encoded.mean)
    ends = bars[0].get_x(), bars[-1].get_x() + bars[-1].get_width()
    lengths = np.linalg.norm(found.encoded.mean, axis=1)
    assert np.allclose(ends, (lengths.min(), lengths.max()), rtol=1e-5)


def test_every_panel_is_in_the_docs() -> None:
    for kind in Panel.members():
        assert f"`#{kind.replace('_', '-')}`" in DOCS
