"""The site builds without warnings and has every page, a page for every method, and a FAQ that computes right."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hatchel.cli.main import app
from hatchel.core.errors import HatchelError
from hatchel.methods.method import Method
from hatchel.objective.equivalent import equivalent_weight

pytest.importorskip("sphinx")
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it, but for running the tutorials, which tests/test_tutorials.py does."""
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "-n", "-q", "-b", "html", "-D", "nb_execution_mode=off"]
    environment = os.environ | {"PYTHONPATH": str(DOCS.parent), "OMP_NUM_THREADS": "1"}
    words = [*command, "-d", str(out / "trees"), str(DOCS), str(out / "html")]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return out / "html"


def test_every_method_has_a_page_with_its_formula_parameters_results_and_code(site: Path) -> None:
    for kind, member in Method.members().items():
        page = (site / "methods" / f"{kind}.html").read_text(encoding="utf-8")
        text = re.sub(r"\s+", " ", re.sub("<[^>]+>", "", page))
        assert "minimise" in text
        for field in member.help():
            assert f"{field}" in text, (kind, field)
        assert "Not run yet" in text or "95 % t-interval" in text
        assert f"class {member.__name__}(Method" in text, kind


def test_the_pool_s_numbers_are_those_of_its_frame(site: Path) -> None:
    """FactorVAE at gamma 10 with the plain encoder on Shapes3D: the mean over the seeds that there are."""
    from hatchel.study.frame import select, values
    from hatchel.study.study import Study

    rows = select(Study.load("pool").frame("laptop"), data="Shapes3D", method="FactorVAE", strength=10, encoder="conv")
    migs = values(select(rows, variant=""), "mig")
    assert migs
    page = (site / "methods" / "factor_vae.html").read_text(encoding="utf-8")
    row = next(
        r for r in re.findall(r"<tr.*?</tr>", page, re.DOTALL) if ">conv<" in r.replace("<p>", ">").replace("</p>", "<")
    )
    assert f"{sum(migs) / len(migs):.2f}" in row


def test_every_page_of_docs_is_built_and_in_a_toctree(site: Path) -> None:
    """A page in no toctree is a warning, and so an error; a page that is left out has no HTML."""
    for page in [*DOCS.glob("*.md"), *DOCS.glob("tutorials/*.ipynb")]:
        assert (site / page.relative_to(DOCS).with_suffix(".html")).is_file(), page.name


def test_links_inside_the_site_lead_to_files_and_anchors(site: Path) -> None:
    pages = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    anchors = {page: set(re.findall(r'id="([^"]+)"', text)) for page, text in pages.items()}
    for page, text in pages.items():
        if page.name in ("genindex.html", "search.html"):
            continue
        for target in re.findall(r'<a [^>]*href="(?!https?:|mailto:)([^"]+)"', text):
            path, _, anchor = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            assert file.is_file(), f"{page.name}: {target}"
            if anchor and file in anchors:
                assert anchor in anchors[file], f"{page.name}: {target}"


def test_what_the_faq_computes() -> None:
    text = re.sub(r"^ *```\w*$", "", (DOCS / "faq.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(text, {}, "faq.md", str(DOCS / "faq.md"), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    failed, tried = runner.run(test)
    assert (failed, tried > 20) == (0, True)


def test_commands_of_the_faq_print_what_stands_beside_them() -> None:
    found = re.findall(
        r"^    hatchel (weight .*?) +# (\S+)$", (DOCS / "faq.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(found) == 3
    for command, printed in found:
        assert CliRunner().invoke(app, command.split()).output.strip() == printed


def test_a_weight_there_and_back_and_by_the_loss_itself() -> None:
    """rec + b KL at one size is a multiple of rec / 4 + b' KL, what the same image at half its side gives."""
    assert equivalent_weight(equivalent_weight(3, (64, 64, 3), (28, 28)), (28, 28), (64, 64, 3)) == pytest.approx(3)
    rec, kl = 800.0, 20.0
    assert (rec + 4 * kl) / 4 == rec / 4 + equivalent_weight(4, (64, 64), (32, 32)) * kl
    squares = 50.0  # sum of squared errors, as two Gaussian likelihoods read it
    beta = equivalent_weight(4, (8, 8), (8, 8), sigma=1, to_sigma=0.5)
    assert (squares / 2 + 4 * kl) * 4 == pytest.approx(squares / (2 * 0.5**2) + beta * kl)


@pytest.mark.parametrize("wrong", [{"of": (0, 3)}, {"to": ()}, {"weight": -1}, {"weight": float("nan")}, {"sigma": 0}])
def test_wrong_weights_are_refused(wrong: dict[str, object]) -> None:
    given: dict[str, object] = {"weight": 4, "of": (64, 64), "to": (32, 32), **wrong}
    with pytest.raises(HatchelError, match=f"^{next(iter(wrong))}: "):
        equivalent_weight(**given)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("size", ["64", "0x3", "x", "64x64x64x64", "1e9x1"])
def test_sizes_on_the_command_line(size: str) -> None:
    result = CliRunner().invoke(app, ["weight", "4", "--to", size])
    if size == "64":
        assert float(result.output) == pytest.approx(4 / 64)  # 64 values, as of a row
    else:
        assert isinstance(result.exception, HatchelError)
        assert "try --to 64x64x3" in str(result.exception)
