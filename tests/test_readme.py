"""What the README promises is there: its code runs, its own term trains; the table of methods has every one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from hatchel.cli.main import app
from hatchel.methods.method import Method
from hatchel.metrics.metric import Metric
from hatchel.objective.term import Term
from hatchel.training.run import TrainedRun

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_the_order_of_the_readme() -> None:
    marks = ["Hatchel learns", "docs/quickstart.png", "make quickstart", "Why not the others?", "import hatchel"]
    marks += ["hatchel train", "docs/methods.md", "Your own term"]
    places = [README.index(mark) for mark in marks]
    assert places == sorted(places)


def test_every_method_is_in_the_table() -> None:
    table = (ROOT / "docs/methods.md").read_text(encoding="utf-8")
    assert table.count("\n| ") == len(Method.members()) + 2  # head and rule
    assert f"| {len(Method.members())} methods, {len(Metric.members())} metrics," in README
    for kind, member in Method.members().items():
        row = next(line for line in table.splitlines() if f"| `{kind}` |" in line).replace("\\|", "|")
        assert member.paper in row
        assert member.verified in row


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_printed_commands_and_options_exist(page: Path) -> None:
    lines = re.findall(r"^    (hatchel .*)$|`(hatchel [^`]+)`", page.read_text(encoding="utf-8"), re.MULTILINE)
    for command in [part for found in lines for part in re.split(r" && | #|  +", "".join(found))]:
        words = command.split()
        if words[:1] != ["hatchel"]:
            continue
        node = get_command(app)
        for word in words[1:]:
            if hasattr(node, "commands") and re.fullmatch("[a-z]+", word):
                assert word in node.commands, command
                node = node.commands[word]
            elif re.match("--?[a-z]", word):
                assert word in [option for p in node.params for option in p.opts] + ["--help", "-h"], command


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r"\]\((?!http|#)([^)#]+)", text):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_ten_lines_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As printed, on a smaller set and for fewer steps."""
    monkeypatch.chdir(tmp_path)
    code = BLOCKS[0].replace('data="dsprites", steps=1000', 'data="xy_squares", steps=2, batch_size=16')
    code = code.replace("[0, 1000, 2000]", "[0, 1, 2]").replace('"mig,sap,dci", bootstrap=20', '"mig", bootstrap=20')
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert printed.count("mig") >= 3


def test_the_own_term_trains_by_the_printed_command(tmp_path: Path) -> None:
    path = tmp_path / "sparse.py"
    path.write_text(BLOCKS[1])
    words = next(line for line in README.splitlines() if "--plugin sparse.py objective" in line).split()[1:]
    words[words.index("sparse.py")] = str(path)
    extra = ["data=xy_squares", "steps=2", "batch_size=8", "--out", str(tmp_path / "run")]
    result = CliRunner().invoke(app, [*words, *extra], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert TrainedRun.load(tmp_path / "run").spec.objective["sparse"].weight.value == 0.5
    assert len(BLOCKS[1].strip().splitlines()) <= 18
    Term._members.pop("sparsity")
