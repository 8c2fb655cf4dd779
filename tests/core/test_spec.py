"""Spec: codec, digest, paths in errors, families and plug-ins."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

import pytest

from hatchel.core.errors import HatchelError
from hatchel.core.plugins import load_file
from hatchel.core.spec import FAMILIES, Count, NonNegative, Positive, Spec, from_dict, local, to_dict, updated
from hatchel.methods.resolve import resolve
from hatchel.objective.term import Term
from hatchel.training.spec import RunSpec


class Tool(Spec, family="tool"):
    """A family for these tests."""


class Saw(Tool):
    """Cuts."""

    teeth: Count = 10
    """How many."""
    colour: str = local(default="red")
    """Does not change what it cuts."""


class Box(Tool):
    """Holds other tools."""

    first: Tool = Saw()
    """One."""
    more: tuple[Tool, ...] = ()
    """Several."""
    named: Mapping[str, Tool] = field(default_factory=dict)
    """By name."""
    spare: Tool | None = None
    """Perhaps one."""
    weight: Positive = 1.0
    """In kilograms."""
    slack: NonNegative = 0
    """None by default."""


NESTED = Box(first=Saw(3), more=(Saw(4), Box()), named={"a": Saw(5)}, spare=Saw(), weight=2)


def test_round_trip_of_nested_members() -> None:
    text = json.dumps(to_dict(NESTED))
    assert from_dict(Tool, json.loads(text)) == NESTED
    assert to_dict(NESTED)["more"][1]["kind"] == "box"


def test_digest_knows_what_matters() -> None:
    assert Saw(3).digest() == Saw(3, colour="blue").digest() != Saw(4).digest()
    assert Box(weight=2).digest() == Box(weight=2.0).digest()
    # By hand: a digest names a run on every machine and in every version.
    assert Saw(3).digest() == hashlib.sha256(b'{"kind":"saw","teeth":3}').hexdigest()[:12]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"kind": "sow"}, r"^unknown tool 'sow'\. Did you mean 'saw'\? Known: box, saw$"),
        ({"kind": "saw", "tooth": 3}, r"^unknown field of Saw 'tooth'\. Did you mean 'teeth'\?"),
        ({"kind": "box", "first": {"kind": "saw", "teeth": "many"}}, r"^first\.teeth: .*valid integer.*'many'$"),
        (
            {"kind": "box", "more": [{"kind": "saw"}, {"kind": "saw", "teeth": 0}]},
            r"^more\[1\]\.teeth: .*greater than 0",
        ),
        ({"kind": "box", "named": {"a": {"kind": "axe"}}}, r"^named\.a: unknown tool 'axe'"),
        ({"kind": "box", "spare": 3}, r"^spare: expected a tool, got 3$"),
        ({"kind": "box", "weight": -1}, r"^weight: .*greater than 0, got -1$"),
    ],
)
def test_errors_carry_the_path(data: object, message: str) -> None:
    with pytest.raises(HatchelError, match=message):
        from_dict(Tool, data)


def test_dotted_changes() -> None:
    changed = updated(NESTED, {"first.teeth": 7, "named.a": "box", "spare": None, "named.b": {"kind": "saw"}})
    assert changed.first == Saw(7)
    assert changed.named == {"a": Box(), "b": Saw()}
    assert changed.spare is None
    assert updated(NESTED, {"first": "saw", "first.teeth": 9}).first == Saw(9)  # a kind, then its fields
    assert updated(NESTED, {"first.kind": "box"}).first == Box()  # a new kind starts from its own defaults
    with pytest.raises(HatchelError, match="has no fields of its own"):
        updated(NESTED, {"first.teeth.size": 1})
    with pytest.raises(HatchelError, match=r"unknown field of Box 'frist'\. Did you mean 'first'"):
        updated(NESTED, {"frist.teeth": 1})


def test_python_construction_is_checked_too() -> None:
    with pytest.raises(HatchelError, match="teeth: input should be greater than 0"):
        Saw(-1)
    with pytest.raises(HatchelError, match="first: expected a tool"):
        Box(first=3)  # pyright: ignore[reportArgumentType]


def test_two_members_of_one_name_are_refused() -> None:
    with pytest.raises(HatchelError, match=r"two tools are called 'saw'.*Rename one"):
        type("Other", (Tool,), {"__doc__": "Twice.", "__module__": "elsewhere"}, kind="saw")
    assert from_dict(Tool, "saw") == Saw()


def test_every_family_member_has_documented_fields() -> None:
    families = {
        "term",
        "estimator",
        "weight",
        "encoder",
        "decoder",
        "latent",
        "likelihood",
        "dataset",
        "metric",
        "method",
    }
    resolve("vae", "xy_squares")
    from hatchel.metrics.metric import Metric

    assert Metric.members()
    assert families <= set(FAMILIES)
    for family in families:
        for kind, member in FAMILIES[family].members().items():
            assert member.__doc__, kind
            fields = {f.name for f in dataclasses.fields(member)}
            assert fields == set(member.help()), f"{family} {kind}: a field without a docstring"


PLUGIN = '''
from hatchel import Term

class CodeNorm(Term):
    """E |z|^2."""
    def symbol(self):
        return "E|z|^2"
    def value(self, t, estimates):
        return t.z.square().sum(1)
'''


def test_a_plugin_file_is_a_term(tmp_path: Path) -> None:
    path = tmp_path / "my_term.py"
    path.write_text(PLUGIN)
    load_file(path)
    assert "code_norm" in Term.members()
    spec = updated(resolve("vae", "xy_squares"), {"objective.norm": {"term": "code_norm", "weight": 0.1}})
    assert spec.formula().endswith("0.1*E|z|^2")
    assert from_dict(RunSpec, to_dict(spec)) == spec
    Term._members.pop("code_norm")


def test_bad_plugins_are_named(tmp_path: Path) -> None:
    with pytest.raises(HatchelError, match="there is no such file"):
        load_file(tmp_path / "none.py")
    (tmp_path / "old.py").write_text("from hatchel.terms.term import Term")
    with pytest.raises(HatchelError, match=r"No module named 'hatchel.terms'; since 0.2 write: from"):
        load_file(tmp_path / "old.py")
    (tmp_path / "bad.py").write_text("1/0")
    with pytest.raises(HatchelError, match=r"bad\.py: ZeroDivisionError"):
        load_file(tmp_path / "bad.py")


def test_importing_hatchel_imports_nothing_heavy() -> None:
    code = (
        "import sys, hatchel, hatchel.cli.main; "
        "print([m for m in ('torch', 'numpy', 'sklearn', 'pydantic', 'matplotlib', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
