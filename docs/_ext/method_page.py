"""The page of one method: equation, diagram, parameters, departures from the paper, what is verified, results, code."""

from __future__ import annotations

import functools
import html
import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

from fields import _cell, escaped, fields_table, prose

COLUMNS = {
    "mig": "MIG", "dci": "DCI-D", "factor_vae_score": "FactorVAE score", "sap": "SAP", "active_units": "active",
    "reconstruction": "rec. (nats)",
}  # fmt: skip


def method_page(kind: str, name: str, docs: Path) -> str:
    """Markdown."""
    from hatchel.methods.method import Method
    from hatchel.methods.resolve import resolve

    member = Method.members()[kind]
    formula = resolve(kind, "shapes3d").formula()
    first, _, rest = inspect.cleandoc(member.__doc__ or "").partition("\n\n")
    module = Path(inspect.getfile(member)).relative_to(docs.parent).as_posix()
    start, length = inspect.getsourcelines(member)[1], len(inspect.getsourcelines(member)[0])
    verified = escaped(member.verified[:1].upper() + member.verified[1:])
    parts = [
        f"# {name}",
        f"`{kind}`, {escaped(member.paper)} ([papers](../papers.md)).",
        f'<div class="formula">minimise&nbsp; {typeset(formula)}</div>',
        f"With its defaults, as `hatchel show {kind}` prints it. In the letters of the code: {_cell(first)}",
        diagram(kind),
        f"    hatchel train {kind} data=shapes3d steps=20000\n    hatchel show {kind}",
        f"## Parameters\n\n{fields_table(member)}",
        f"## Departures from the paper\n\n{departures(member, rest)}",
        f"## What was verified\n\n{verified}. Each is a test in `tests/` or a study. What the paper "
        "claims beyond that is decided, or left undecided, in [results](../results.md).",
        f"## Results\n\n{results(kind)}",
        pictures(kind, name, docs),
        f"## Code\n\n`{module}`, lines {start} to {start + length - 1}:\n\n"
        f"```{{literalinclude}} ../../{module}\n:lines: {start}-{start + length - 1}\n```",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "lambda": "λ", "eta": "η", "sigma": "σ", "mu": "μ", "theta": "θ",
}  # fmt: skip


def typeset(formula: str) -> str:
    """A formula of the command line as one prints it: Greek letters, sums, indices below and above. HTML.

    >>> typeset("2*sum_(i<j) I(m_i^l;m_j^l) + beta_i*KL(q(z|x)||p(z))")
    '2·∑<sub>i&lt;j</sub> I(m<sub>i</sub><sup>l</sup>;m<sub>j</sub><sup>l</sup>) + β<sub>i</sub>·KL(q(z|x)‖p(z))'
    """
    # An estimator's name has no index.
    text = re.sub(r"\[([a-z_]+)\]", lambda m: f"[{m[1].replace('_', ' ')}]", plain(formula))
    # An index is a word, or whatever stands in brackets, which may hold others.
    index = r"(?:\(((?:[^()]|\([^()]*\))*)\)|\{([^{}]*)\}|([A-Za-z0-9]+))"
    parts = html.escape(text, quote=False)
    for mark, tag in (("_", "sub"), (r"\^", "sup")):
        pattern = rf"(?<=[^\W_]|[∑>\])]){mark}{index}"
        parts = re.sub(pattern, lambda m, t=tag: f"<{t}>{m[1] or m[2] or m[3]}</{t}>", parts)
    return parts


def plain(formula: str) -> str:
    """The same without indices, for a diagram."""
    text = re.sub(r"(?<![A-Za-z])(" + "|".join(GREEK) + r")(?![A-Za-z])", lambda m: GREEK[m[1]], formula)
    text = re.sub(r"\bsum(?=[_ ])", "∑", text)
    for typed, printed in {"||": "‖", "*": "·", "!=": "≠", ">=": "≥", "->": "→"}.items():
        text = text.replace(typed, printed)
    return text


def departures(member: type[Any], rest: str) -> str:
    """What the class says of itself beyond its objective, the fields that name a choice of ours, and what it sets."""
    blocks = [prose(rest)] if rest else []
    marked = re.compile(r"\b[Oo]urs?\b|paper does not|not print|authors'|misprint|ablation")
    named = {name: text for name, text in member.help().items() if marked.search(text)}
    if named:
        blocks.append("Options where the paper leaves a choice open, or where another one is offered:")
        blocks.append("\n".join(f"- `{name}`: {_cell(text)}" for name, text in named.items()))
    sources = {label: inspect.getdoc(getattr(member, label)) or "" for label in ("terms", "parts")}
    own = {label: text for label, text in sources.items() if label in vars(member) and vars(member)[label].__doc__}
    said = [f"{'Objective' if label == 'terms' else 'Settings'}: {_cell(text)}" for label, text in own.items()]
    if not blocks:
        blocks.append("The class names none. Network, steps and data are the field's usual ones unless it sets others.")
    return "\n\n".join(blocks + said)


STUDIES = {"comb": ("comb-confirm", "comb-ablation", "comb-search")}
"""Of methods that have studies of their own in place of settings in the pool."""


def studied(kind: str) -> str:
    """The tables of a method's own studies, as far as they were run."""
    from hatchel.core.errors import HatchelError
    from hatchel.study.study import Study

    parts = []
    for name in STUDIES[kind]:
        study = Study.load(name)
        try:
            tables = study.tables(study.frame("laptop"))
        except HatchelError:  # no record yet
            continue
        parts += [f"`hatchel study run {name}`: {study.about}"]
        parts += [f"{escaped(t.title)}:\n\n{t.markdown()}" for t in tables if t.rows]
    said = "From the published records: mean over seeds with a 95 % t-interval, of the means of held-out items."
    return "\n\n".join([said, *parts]) if parts else "Not run yet."


@functools.cache
def _pool() -> tuple[dict[str, str], Any]:
    """The kind of the method of every task of the pool by the task's digest, and the pool's records."""
    from hatchel.core.errors import HatchelError
    from hatchel.study.study import Study

    pool = Study.load("pool")
    try:
        frame = pool.frame("laptop")
    except HatchelError:  # no record yet
        return {}, None
    grid = pool.grid("laptop")
    kinds: dict[str, str] = {}
    for part in (grid, *grid.then):
        for case in part.cases:
            kinds[tuple(sorted((k, str(v)) for k, v in case.labels.items()))] = case.task.run.name
    return kinds, frame


def results(kind: str) -> str:
    """Mean and 95 % t-interval over seeds of every setting of this method in the pool."""
    from hatchel.study.frame import groups, values
    from hatchel.study.statistics import Mean

    kinds, frame = _pool()
    labels = ("data", "method", "strength", "encoder", "variant")
    rows = []
    for key, found in groups(frame, *labels).items() if frame is not None else ():
        if kinds.get(tuple(sorted(zip(labels, map(str, key), strict=True)))) != kind:
            continue
        cells = []
        for metric in COLUMNS:
            measured = values(found, metric)
            mean = Mean.of(measured).estimate() if measured else None
            digits = 1 if metric in ("active_units", "reconstruction") else 2
            interval = f"<br>[{mean.low:.{digits}f},&nbsp;{mean.high:.{digits}f}]" if mean and len(measured) > 2 else ""
            cells.append(f"{mean.value:.{digits}f}{interval}" if mean else "")
        data, _, strength, encoder, variant = key
        rows.append([data, strength, encoder, escaped(str(variant)), *cells, found["seed"].nunique()])
    if not rows and kind in STUDIES:
        return studied(kind)
    if not rows:
        return "Not run yet in the [pool](../studies.md), the project's own comparison of all methods."
    head = ["data", "strength", "encoder", "variant", *COLUMNS.values(), "seeds"]
    kept = [i for i in range(len(head)) if any(str(row[i]) for row in rows)]
    head, rows = [head[i] for i in kept], [[row[i] for i in kept] for row in rows]
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in (head, ["---"] * len(head), *rows)]
    note = (
        "From the records of `hatchel study run pool --scale laptop`: mean over seeds with a 95 % t-interval (from "
        "three seeds on), of the posterior means of held-out items. Images of 32 px, "
    )
    steps = "5,000 steps of 64 on Shapes3D, 10,000 on dSprites; a smaller budget than the papers', see "
    return "\n".join(lines) + "\n\n" + textwrap.fill(note + steps + "[studies](../studies.md).", 120)


def pictures(kind: str, name: str, docs: Path) -> str:
    """Traversals of this method's models in the zoo, and those that a study published; none where there are none."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower())
    shown: list[str] = []
    for path in sorted(docs.glob(f"zoo/*-{kind}.png")):
        model = path.stem.replace("-", "/", 1)
        shown.append(
            f"```{{image}} ../zoo/{path.name}\n:alt: traversals of {model}\n```\n\n*The run of median MIG on "
            f"{model.split('/')[0]}: each row moves one dimension. Open it: `hatchel explore zoo:{model}` "
            "([zoo](../zoo.md)).*"
        )
    shown += [
        f"```{{image}} ../{path.relative_to(docs).as_posix()}\n:alt: {path.stem}\n:class: pixels\n```\n\n"
        f"*{path.stem.replace('-', ' ')}, from the study `{path.parent.name}` ([results](../results.md)).*"
        for path in sorted(docs.glob(f"results/*/{slug}-*traversed.png"))[:2]
    ]
    return "\n\n".join(["### Traversals", *shown]) if shown else ""


def diagram(kind: str) -> str:
    """The parts of the model in the order data flow, and each term of the objective under what it reads."""
    from hatchel.methods.resolve import resolve

    spec = resolve(kind, "shapes3d").fit_to_shape((3, 64, 64))
    assert spec.encoder is not None
    assert spec.decoder is not None
    assert spec.likelihood is not None
    layout = spec.latent.layout
    sites = f"{len(layout.sites)} sites" + (f", {layout.levels} levels" if layout.levels > 1 else "")
    boxes = [
        ("x", "data"), (spec.encoder.kind, "encoder"), (spec.latent.kind, f"latent: {sites}"),
        (spec.decoder.kind, "decoder"), (spec.likelihood.kind, "p(x|z)"),
    ]  # fmt: skip
    width, gap = 128, 26
    drawn = []
    for i, (title, below) in enumerate(boxes):
        left = i * (width + gap)
        drawn.append(f'<rect class="box" x="{left + 1}" y="1" width="{width}" height="48" rx="6"/>')
        drawn.append(_text(left + 1 + width / 2, 21, title, 13, "600") + _text(left + 1 + width / 2, 38, below, 10.5))
        if i:
            drawn.append(
                f'<path d="M{left - gap + 4} 25 H{left - 6} m-6 -4 l6 4 l-6 4" stroke="currentColor" fill="none"/>'
            )
    total = len(boxes) * (width + gap) - gap + 2
    for i, (name, entry) in enumerate(spec.objective.items()):
        top = 66 + i * 30
        words = entry.weight.formula(entry.term.symbol())
        by = entry.term.estimator
        reads = f"{name}: {words}" + (f"   by {by.kind}" if by is not None and by.kind not in words else "")
        drawn.append(f'<rect class="term" x="1" y="{top}" width="{total - 2}" height="24" rx="12"/>')
        drawn.append(_text(14, top + 16, plain(reads), 11.5, anchor="start"))
    height = 66 + 30 * len(spec.objective)
    label = f"Parts and terms of {kind}"
    body = "".join(drawn)
    svg = f'<svg viewBox="0 0 {total} {height}" role="img" aria-label="{label}" font-family="sans-serif">{body}</svg>'
    return f'<div class="diagram">{svg}</div>\n\n*Its parts at 64 px and the terms of its objective, from the class.*'


def _text(x: float, y: float, words: str, size: float, weight: str = "400", anchor: str = "middle") -> str:
    style = f'font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" fill="currentColor"'
    return f'<text x="{x:g}" y="{y:g}" {style}>{html.escape(words)}</text>'
