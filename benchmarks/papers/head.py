"""The top of docs/results.md (figure, claims by paper) and docs/leaderboard.md, from the published records alone."""

from __future__ import annotations

from pathlib import Path

from notes import PAPERS

from hatchel.core.files import write_bytes
from hatchel.report.style import png
from hatchel.studies.leaderboard import OTHERS, PUBLISHED, boards, core_hours, overview
from hatchel.study.frame import Frame, tasks
from hatchel.study.report import DPI, slug
from hatchel.study.study import Study, registry

WORDS = ("holds", "does not hold", "undecided", "not run")


def head(out: Path) -> str:
    """Figures into OUT/results, leaderboard.md into OUT, and the text that stands over the studies."""
    study = Study.load("leaderboard")
    frame = study.found("laptop")
    figures = overview(frame)
    (out / "results").mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        write_bytes(out / "results" / f"{slug(name)}.png", png(figure, DPI))
    (out / "leaderboard.md").write_text(leaderboard(study, frame, list(figures)), encoding="utf-8")
    shown = [f"![{name}](results/{slug(name)}.png)" for name in figures if "against" in name]
    return "\n".join([*shown, "", spent(frame), "The [leader board](leaderboard.md) has all scores.", "", claims()])


def spent(frame: Frame) -> str:
    """What the pool has cost so far."""
    done = tasks(frame)
    stages = ", ".join(f"{n} on {data}" for data, n in done.groupby("data", sort=False).size().items())
    return (
        f"The pool so far: {len(done)} runs ({stages}), {core_hours(frame):.1f} core-hours of computing; every dot is "
        "a seed. What has no row or dot was not run yet."
    )


def claims() -> str:
    """How many claims of each paper hold, then each claim with its verdict and numbers."""
    by: dict[str, list[tuple[str, str]]] = {}
    for verdict in registry():
        claim = verdict.claim
        text = f"| {claim.id} | {claim.where}{', ours' * claim.ours} | {claim.text} | **{verdict.word}** |"
        numbers = "" if verdict.word == "not run" else verdict.evidence
        by.setdefault(claim.paper, []).append((verdict.word, f"{text} {numbers} |"))
    total = sum(map(len, by.values()))
    lines = [f"## {len(by)} papers, {total} claims", "", "| paper | hold | do not | undecided | not run |"]
    lines += ["| --- | --- | --- | --- | --- |"]
    for paper, found in by.items():
        lines.append(f"| {paper} | " + " | ".join(str(sum(w == word for w, _ in found)) for word in WORDS) + " |")
    lines += [
        "",
        "A verdict takes five seeds; p values are Holm-corrected among a paper's claims. `hatchel study claims`",
    ]
    lines += ["prints the same, the claims that were not run too; “ours” marks what the paper does not itself say.", ""]
    for paper, found in by.items():
        run = [line for word, line in found if word != "not run"]
        lines += [f"### {paper}", "", PAPERS.get(paper, ""), ""] if PAPERS.get(paper) else [f"### {paper}", ""]
        lines += ["| claim | where | in our words | verdict | numbers |", "| --- | --- | --- | --- | --- |", *run, ""]
        missing = [line.split("|")[1].strip() for word, line in found if word == "not run"]
        lines += [f"Not run: {', '.join(missing)}.", ""] if missing else []
    return "\n".join(lines)


def leaderboard(study: Study, frame: Frame, figures: list[str]) -> str:
    """The page of all methods and scores."""
    parts = ["# Leader board", study.about, f"Settings: {study.words('laptop')}.", spent(frame)]
    parts.append("A line is again computed by `hatchel study run leaderboard --only method=NAME`.")
    for found in boards(frame):
        data = found.title.partition(":")[0]
        shown = [f"![{name}](results/{slug(name)}.png)" for name in figures if name.startswith(data)]
        parts += [f"## {found.title}", found.markdown(), "\n".join(shown)]
    rows = [f"| {name} | " + " | ".join("–" if v is None else f"{v:.2f}" for v in v3) + " |" for name, *v3 in PUBLISHED]
    parts += [f"## What others published\n\n{OTHERS}; not comparable number by number with the tables above."]
    parts.append("\n".join(["| method | FactorVAE score | DCI | MIG |", "| --- | --- | --- | --- |", *rows]))
    return "\n\n".join(parts) + "\n"
