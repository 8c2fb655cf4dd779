"""Wild command lines: each works, or ends with one line and exit code 2; a traceback is a bug."""

import contextlib
import io
import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hatchel.cli.main import main
from hatchel.methods.method import Method

CASES = int(os.environ.get("HATCHEL_FUZZ", "0")) // 4 or 120
fuzz = settings(
    max_examples=CASES, derandomize="HATCHEL_FUZZ" not in os.environ, deadline=None, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip

BOMB = "&a [x,x,x,x,x,x,x,x,x]"
for level in "bcdefghijk":
    BOMB = f"&{level} [{BOMB}, {', '.join(['*' + chr(ord(level) - 1)] * 8)}]"
VALUES = [
    "", "~", "null", "true", "0", "-1", "0.0", "-0.0", "1e-400", "1e400", "inf", "-inf", ".inf", "-.inf", "nan", ".nan",
    "NaN", "1e308", "9" * 30, "9" * 5000, "-" + "9" * 400, "0x10", "0o17", "1_000", "12:30:45", "2020-01-01",
    "2020-01-01 10:00:00", "[]", "{}", "[1, 2", "{", "}", "[[1]]", "{1: 2}", "{kind: vae}", "{kind: {}}", "{kind: []}",
    "[kind]", "{? [1]: 2}", "{a: 1, a: 2}", "<<: {a: 1}", "{<<: 3}", "&a [*a]", "&a {b: *a}", "*a", BOMB, "[" * 1200,
    "[" * 60 + "]" * 60, "{a: " * 500, "!!python/object:os.system ls", "!!binary x", "!!set {a}", "!!timestamp x",
    "!!int x", "!!float x", "!!omap [a: 1]", "- a", "a: b: c", "'", '"', "\0", "\ud800", "é😀", "x" * 10_000, "..",
    "/", "/dev/null", "=", "==", "%", "@", "`", "|", ">", "? x", "#", "--- a", "... ", "\t", "\n", "a\nb", "*", "&",
    "16", "5", "1.5", "64px", "mlp", "diagonal", "mixed", "adam", "[16, 32]", "[0]", "[-1]", "[1e9]", "[.inf]",
]  # fmt: skip
FIELDS = [
    "beta", "gamma", "steps", "batch_size", "seed", "latent", "latent.dim", "latent.kind", "latent.groups", "encoder",
    "encoder.kind", "encoder.channels", "encoder.widths", "decoder", "decoder.channels", "likelihood", "data",
    "data.size",
    "data.kind", "data.path", "objective", "objective.kl", "objective.kl.weight", "objective.kl.weight.value",
    "objective.rec.term", "objective.new", "objective.new.term", "optimizer", "optimizer.lr", "optimizer.beta1",
    "critic_optimizer", "critic_optimizer.lr", "test_share", "labels", "precision", "device", "threads", "compile",
    "name",
    "log_every", "keep_checkpoints", "reconstruction_scale", "by", "anchors", "kind", "method", "weight", "weight.kp",
    "", ".", "..", "a..b", ".latent", "latent.", "__class__", "latent.__class__.x", "é", "😀.x", "\0", "x" * 5000,
    "latent.dim.x.y", "steps.x", "-x", "--x", " ", "latent dim",
]  # fmt: skip

keys = st.one_of(st.sampled_from(FIELDS), st.sampled_from(FIELDS), st.text(max_size=8))
values = st.one_of(st.sampled_from(VALUES), st.sampled_from(VALUES), st.text(max_size=12), st.floats().map(str))
assignments = st.lists(st.one_of(st.tuples(keys, values).map("=".join), st.text(max_size=6)), min_size=1, max_size=3)


def hatchel(*arguments: str) -> tuple[int, str]:
    """The exit code and what was written to stderr."""
    told = io.StringIO()
    before, sys.argv = sys.argv, ["hatchel", *arguments]
    try:
        with contextlib.redirect_stderr(told), contextlib.redirect_stdout(io.StringIO()):
            main()
    except SystemExit as exit:
        return int(exit.code or 0), told.getvalue()
    finally:
        sys.argv = before
    return 0, told.getvalue()


def assert_one_line(code: int, told: str) -> None:
    assert code == 2, told
    assert told.startswith("hatchel: ")
    assert told.count("\n") == 1, told
    assert len(told) < 2000


@fuzz
@given(st.sampled_from(sorted(Method.members())), assignments)
def test_a_wild_key_and_value_end_in_one_line(method, lines):
    code, told = hatchel("show", method, "data=xy_squares", *lines)
    if code:
        assert_one_line(code, told)


@settings(fuzz, max_examples=CASES // 5)
@given(assignments)
def test_nothing_is_trained_into_a_file(tmp_path_factory, lines):
    taken = tmp_path_factory.getbasetemp() / "taken"
    taken.write_text("mine")
    assert_one_line(*hatchel("train", "vae", "data=xy_squares", *lines, f"--out={taken}", "-q"))
    assert_one_line(*hatchel("train", "vae", "data=xy_squares", f"--out={taken / 'run'}", "-q"))
    assert taken.read_text() == "mine"


FILES = {
    "a bomb": f"method: vae\nbeta: {BOMB}".encode(),
    "a cycle": b"&a\nmethod: vae\nlatent: *a",
    "latin-1": "method: vae\nname: é".encode("latin-1"),
    "utf-16": "method: vae".encode("utf-16"),
    "bytes": bytes(range(256)),
    "deep": b"[" * 3000,
    "deep mapping": b"{a: " * 2000,
    "many digits": b"method: vae\nsteps: " + b"9" * 10_000,
    "a list": b"[1]",
    "nothing": b"",
    "a tag": b"!!python/object/apply:os.system [ls]",
    "a number as key": b"1: 2",
    "a list as key": b"? [1]\n: 2",
    "two documents": b"a: 1\n---\nb: 2",
    "dates": b"method: vae\nsteps: 2020-01-01",
    "infinite": b"method: beta_vae\nbeta: .inf",
    "method is a list": b"method: [1]",
    "method is a mapping": b"method: {a: 1}",
    "objective": b"objective: {a: {b: {c: 1}}}\ndata: 3",
}


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_wild_file_ends_in_one_line(name, tmp_path):
    path = tmp_path / "run.yaml"
    path.write_bytes(FILES[name])
    assert_one_line(*hatchel("show", str(path)))
    assert_one_line(*hatchel("study", "run", str(path), "--dry-run", "--store", str(tmp_path / "store")))


def test_a_file_or_folder_that_is_not_one(tmp_path: Path):
    (tmp_path / "x.yaml").mkdir()
    (tmp_path / "file").write_text("")
    assert_one_line(*hatchel("show", str(tmp_path / "x.yaml")))
    assert_one_line(*hatchel("evaluate", str(tmp_path / "file")))
    assert_one_line(*hatchel("report", str(tmp_path / "none")))
    assert_one_line(*hatchel("quickstart", "--out", str(tmp_path / "file")))
