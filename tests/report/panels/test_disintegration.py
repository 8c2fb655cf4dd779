from __future__ import annotations

from hatchel.metrics import disintegration
from hatchel.report.findings import Findings
from hatchel.report.panels.disintegration import Disintegration


def test_bars_are_the_effective_numbers(found: Findings) -> None:
    drawing = Disintegration().draw(found)
    assert drawing is not None
    (axes,) = drawing.figures["disintegration"].axes
    score = disintegration(found.encoded.mean, found.probe.values, names=("x", "y"))
    assert [bar.get_width() for bar in axes.patches] == [score.parts[n]["effective_number"] for n in ("x", "y")]
    for text, name in zip(axes.texts, ("x", "y"), strict=True):
        part = score.parts[name]
        assert text.get_text().startswith(", ".join(part["carriers"][:4]))
        assert f"gap {part['gap']:.2f}" in text.get_text()
    assert f"the mean is {score.value:.2f}" in drawing.caption
