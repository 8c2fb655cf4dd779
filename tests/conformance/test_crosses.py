"""Every encoder under every latent and every objective: it trains, or it is refused with a reason a user understands.

docs/crosses.md is what it finds. After adding an encoder, a latent or a method, train every cross and write it anew:

    python -m tests.conformance.test_crosses

The test itself trains a third of them, such that every two parts meet, and compares with the page.
"""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import pytest
import torch
import yaml

from hatchel.core.errors import HatchelError
from hatchel.core.spec import from_dict, to_dict, updated
from hatchel.data.dataset import Dataset
from hatchel.data.xy_squares import XYSquares
from hatchel.latents.assigned import Assigned
from hatchel.latents.code_noise import CodeNoise
from hatchel.latents.correlated import Correlated
from hatchel.latents.diagonal import Diagonal
from hatchel.latents.ladder import Ladder
from hatchel.latents.latent import Latent
from hatchel.latents.mixed import Mixed
from hatchel.latents.nvae import Nvae
from hatchel.latents.scaled_hierarchy import ScaledHierarchy
from hatchel.latents.vamp import Vamp
from hatchel.latents.variables import Concrete, Gaussian
from hatchel.methods.method import Method
from hatchel.methods.resolve import resolve
from hatchel.nets.conv import Conv
from hatchel.nets.hfvae import HfvaeCeleba, HfvaeDsprites, HfvaeMnist
from hatchel.nets.mlp import Mlp, MlpDecoder
from hatchel.nets.part import Encoder
from hatchel.nets.recursive import Recurd0
from hatchel.nets.split import Split
from hatchel.objective.trace import Batch
from hatchel.training.loop import make_optimizer
from hatchel.training.model import System
from hatchel.training.spec import RunSpec

AGAIN = "docs/crosses.md is out of date: python -m tests.conformance.test_crosses writes it anew"
Found = tuple[str, tuple[str, ...]]
PAGE = Path(__file__).parents[2] / "docs" / "crosses.md"
DATA = XYSquares(size=16)
ENCODERS: dict[str, Encoder] = {kind: member() for kind, member in Encoder.members().items()} | {
    "conv": Conv((8, 8), (16,)),
    "hfvae_celeba": HfvaeCeleba(16),
    "hfvae_dsprites": HfvaeDsprites((24, 24, 16)),
    "hfvae_mnist": HfvaeMnist((24, 16)),
    "mlp": Mlp((24, 16)),
    "recurd0": Recurd0(16),
    "split": Split((8, 8), 8, 8),
}
GROUPS = {"class": Concrete(3), "style": Gaussian(3)}
SMALL: dict[str, Latent] = {
    "diagonal": Diagonal(4),
    "correlated": Correlated(4),
    "mixed": Mixed(GROUPS),
    "mixed, learned prior": Mixed(GROUPS, prior="whole"),
    "scaled_hierarchy": ScaledHierarchy(Diagonal(4)),
    "assigned": Assigned(Diagonal(4)),
    "code_noise": CodeNoise(4, noise=4),
    "ladder": Ladder((4, 2), 16),
    "nvae": Nvae(channels=8),
    "vamp": Vamp(Diagonal(4), 8),
}
LATENTS = SMALL | {kind: member() for kind, member in Latent.members().items() if kind not in SMALL}
OBJECTIVES = {kind: {} for kind in Method.members()} | {
    "beta_tcvae by=gaussian": {"by": "gaussian"},
    "info_vae divergence=aggregate_kl": {"divergence": "aggregate_kl"},
}
NAMED = {
    "HFVAE's objective on a Split Encoder": "hf_vae encoder=split",
    "RTC-VAE's terms on DeVAE's first level": "de_vae objective.tc.term=total_correlation objective.tc.weight=[10,0,0] "
    "objective.var.term=posterior_variance objective.var.weight=[10,0,0]",
    "RecurD's encoder under beta-TCVAE": "beta_tcvae encoder=recursive",
}
"""Crosses of the papers, as they are typed after `hatchel train`."""
INTRODUCTION = """\
# Crosses

Encoder, latent and objective are chosen independently of each other: `hatchel train hf_vae encoder=split`. An objective
here is the terms of that method, on an encoder and a latent that need not be its own. Every cross was trained for two
steps on 16 px images. A cell names the encoders with which it trains (`all`, `none` or their names), and in brackets
the reason that the others give.

Written by `python -m tests.conformance.test_crosses`; the test of that name fails where this page is out of date.
"""


def step(system: System, optimizer: torch.optim.Optimizer, x: torch.Tensor, number: int) -> None:
    optimizer.zero_grad()
    loss_of(system, x, number).total.backward()
    optimizer.step()


def loss_of(system: System, x: torch.Tensor, number: int):
    return system(Batch(x, len(squares()), number, 0, x.flip(0), (x, torch.arange(len(x))[:, None])))


@functools.cache
def squares() -> Dataset:
    return DATA.load()


@functools.cache
def run(name: str) -> RunSpec:
    """The method's terms, with small critics, a small decoder, and the rest at its defaults."""
    terms = resolve(name.split()[0], DATA, OBJECTIVES[name]).objective
    small = json.loads(json.dumps(to_dict(terms)).replace('"hidden": 1000', '"hidden": 16'))
    spec = from_dict(RunSpec, {"objective": small, "data": DATA, "decoder": MlpDecoder((16,))})
    return spec.fit_to(squares())


def answer(encoder: str, latent: str, name: str) -> str:
    """Why it does not go together; empty where two steps gave every weight of the encoder a finite gradient."""
    spec = run(name).with_fields(encoder=ENCODERS[encoder], latent=LATENTS[latent])
    try:
        system = spec.build(squares().shape)
    except HatchelError as error:
        return re.sub(r" \(it has [^)]*\)", "", str(error))  # each encoder's own features would be a reason each
    optimizer = make_optimizer(system, spec, torch.device("cpu"))
    x = squares().reader()(torch.arange(0, 64, 2))
    for number in range(2):
        step(system, optimizer, x, number)
    weights = list(system.model.encoder.parameters())
    values = torch.cat([v.flatten() for w in weights for v in (w.detach(), w.grad)])
    assert values.isfinite().all(), (encoder, latent, name)
    return ""


def page() -> str:
    """The table and, by number, the reasons."""
    reasons: dict[str, int] = {}
    lines = ["Three that papers or their readers ask for:", ""]
    lines += [f"- {name}: `hatchel train {command}`" for name, command in NAMED.items()]
    lines += ["", f"Encoders: {', '.join(f'`{kind}`' for kind in ENCODERS)}.", ""]
    lines += [f"| objective | {' | '.join(LATENTS)} |", "| --- |" + " --- |" * len(LATENTS)]
    columns = [column(latent) for latent in LATENTS]
    for name in OBJECTIVES:
        cells = [cell(*found[name], reasons) for found in columns]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    lines += ["", "The reasons:", "", *(f"{number}. {reason}" for reason, number in reasons.items())]
    return "\n".join([INTRODUCTION, *lines, ""])


def column(latent: str) -> dict[str, Found]:
    """For each objective the encoders with which it trains, and why it does not with others."""
    found: dict[str, Found] = {}
    for name in OBJECTIVES:
        answers = {encoder: answer(encoder, latent, name) for encoder in ENCODERS}
        trains = [encoder for encoder, reason in answers.items() if not reason]
        what = "all" if len(trains) == len(answers) else ", ".join(trains) or "none"
        found[name] = what, tuple(dict.fromkeys(reason for reason in answers.values() if reason))
    return found


def cell(what: str, why: tuple[str, ...], reasons: dict[str, int]) -> str:
    numbers = [str(reasons.setdefault(reason, len(reasons) + 1)) for reason in why]
    return f"{what} ({', '.join(numbers)})" if numbers else what


@functools.cache
def written() -> tuple[list[list[str]], dict[str, str]]:
    """The page's table, row by row, and its reasons by number."""
    text = PAGE.read_text(encoding="utf-8")
    rows = [[c.strip().strip("`") for c in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return rows, dict(re.findall(r"^(\d+)\. (.*)$", text, re.MULTILINE))


def test_the_page_has_every_part() -> None:
    rows, _ = written()
    assert rows[0] == ["objective", *LATENTS], AGAIN
    assert [row[0] for row in rows[2:]] == list(OBJECTIVES), AGAIN
    assert f"Encoders: {', '.join(f'`{kind}`' for kind in ENCODERS)}." in PAGE.read_text(encoding="utf-8"), AGAIN


@pytest.mark.parametrize("latent", LATENTS)
def test_the_page_says_what_trains_and_why_the_rest_does_not(latent: str) -> None:
    rows, reasons = written()
    place = rows[0].index(latent)
    for i, row in enumerate(rows[2:]):
        what, _, numbers = row[place].partition(" (")
        trains = {"all": list(ENCODERS), "none": []}.get(what, what.split(", "))
        why = [reasons[number] for number in re.findall(r"\d+", numbers)]
        for encoder in list(ENCODERS)[(i + place) % 3 :: 3]:
            found = answer(encoder, latent, row[0])
            assert found in ([""] if encoder in trains else why), (AGAIN, row[0], encoder)


@pytest.mark.parametrize("command", NAMED.values(), ids=NAMED)
def test_crosses_of_the_papers_learn(command: str) -> None:
    kind, *fields = command.split()
    changes = {key: yaml.safe_load(value) for key, value in (field.split("=") for field in fields)}
    spec = updated(resolve(kind, DATA), {**changes, "optimizer.lr": 1e-3})
    spec = from_dict(RunSpec, json.loads(json.dumps(to_dict(spec)).replace('"hidden": 1000', '"hidden": 16')))
    spec = spec.fit_to(squares())
    system = spec.build(squares().shape)
    optimizer = make_optimizer(system, spec, torch.device("cpu"))
    x = squares().reader()(torch.arange(0, 64, 2))

    def loss() -> float:
        """Over several draws of noise and of levels."""
        with torch.no_grad():
            return sum(float(loss_of(system, x, number).objective) for number in range(6)) / 6

    before = loss()
    for number in range(20):
        step(system, optimizer, x, number)
    assert loss() < 0.9 * before


if __name__ == "__main__":
    torch.set_num_threads(1)
    PAGE.write_text(page(), encoding="utf-8")
