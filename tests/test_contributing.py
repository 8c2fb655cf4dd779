"""The worked examples of CONTRIBUTING.md: each is one file of the size that it says, and computes what it says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from hatchel.cli.main import app
from hatchel.core.plugins import load_file
from hatchel.core.spec import FAMILIES, from_dict
from hatchel.data.source import Source
from hatchel.latents.diagonal import DiagonalGaussian, StandardNormal
from hatchel.latents.latent import Latent
from hatchel.methods.resolve import resolve
from hatchel.metrics.metric import Metric
from hatchel.metrics.probe import Probe
from hatchel.nets.part import Encoder
from hatchel.objective.evaluator import Evaluator
from hatchel.objective.term import Term
from hatchel.training.run import TrainedRun, train
from tests.conftest import trace_of

PAGE = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = {code.split()[1]: code for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)}
EXAMPLES = {
    "free_bits.py": "term", "mcc.py": "metric", "pooled.py": "encoder", "bars.py": "data set",
    "cyclical_vae.py": "method", "sparse.py": "latent",
}  # fmt: skip

Loaded = Callable[[str], Path]


@pytest.fixture
def loaded(tmp_path: Path) -> Iterator[Loaded]:
    """Writes an example to a file and loads it as a plug-in; what it registers is forgotten after the test."""
    before = {root: dict(root._members) for root in FAMILIES.values()}

    def load(name: str) -> Path:
        path = tmp_path / name
        path.write_text(BLOCKS[name], encoding="utf-8")
        load_file(path)
        return path

    yield load
    for root, members in before.items():
        for kind in set(root._members) - set(members):
            if root._members[kind].__module__.startswith("hatchel_plugin_"):
                root._members.pop(kind)


def evaluated(term: Term, q: DiagonalGaussian) -> float:
    t = trace_of(q, q.mean, StandardNormal(q.layout))
    return float(term.value(t, Evaluator(t, {}, {})))


def trained(tmp_path: Path, method: str = "vae", data: str = "xy_squares", **fields: Any) -> TrainedRun:
    small = {"encoder": "mlp", "decoder": "mlp_decoder", "steps": 2, "batch_size": 8, "device": "cpu"}
    changes = {key.replace("__", "."): value for key, value in {**small, **fields}.items()}
    run = train(resolve(method, data, changes), out=tmp_path / "run", progress=False)
    assert run.steps == changes["steps"]
    return TrainedRun.load(run.folder)


def test_every_example_is_here() -> None:
    assert set(BLOCKS) == set(EXAMPLES)


@pytest.mark.parametrize(("name", "member"), EXAMPLES.items())
def test_the_page_says_how_long_an_example_is(name: str, member: str) -> None:
    lines = len(BLOCKS[name].splitlines()) - 1  # without the comment that names the file
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| {member} |"))
    assert row.startswith(f"| {member} | 1 | {lines} |")
    assert 15 <= lines <= (70 if member == "latent" else 40)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_printed_command_is_taken(name: str, loaded: Loaded, tmp_path: Path) -> None:
    path = loaded(name)
    lines = [line for line in PAGE.splitlines() if line.startswith("    hatchel ")]
    words = next(line for line in lines if f" {name} " in line).split()[1:]
    words[words.index(name)] = str(path)
    if words[0] == "evaluate":
        words[1] = str(trained(tmp_path).folder)
        words += ["--items", "64", "--bootstrap", "0"]
    else:
        words = [word for word in words if word != "data=./photos" and not word.startswith("steps=")]
        words += ["steps=2", "batch_size=8", "--out", str(tmp_path / "by-command")]
        words += [] if any(word.startswith("data=") for word in words) else ["data=xy_squares"]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output


def test_free_bits_in_closed_form(loaded: Loaded, tmp_path: Path) -> None:
    loaded("free_bits.py")
    mean = torch.tensor([[1.0, 0.0, 2.0], [3.0, 0.0, 0.0]], dtype=torch.float64)
    q = DiagonalGaussian(mean, torch.zeros_like(mean))  # KL_d = mu_d^2 / 2: means 2.5, 0, 1
    assert evaluated(from_dict(Term, {"kind": "free_bits", "floor": 0.0}), q) == pytest.approx(3.5)
    assert evaluated(from_dict(Term, {"kind": "free_bits", "floor": 1.5}), q) == pytest.approx(2.5 + 1.5 + 1.5)
    run = trained(tmp_path, objective__kl__term={"kind": "free_bits", "floor": 0.5})
    assert run.spec.formula().endswith("sum_s max(0.5, KL(q(z_s|x)||p(z_s)))")


def test_free_bits_decline_a_latent_without_a_closed_kl(loaded: Loaded) -> None:
    loaded("free_bits.py")
    accepts = from_dict(Term, "free_bits").accepts
    assert accepts(from_dict(Latent, "vamp").layout).endswith("set latent=diagonal")
    assert accepts(from_dict(Latent, "diagonal").layout) == ""


def test_mcc_of_known_codes(loaded: Loaded) -> None:
    loaded("mcc.py")
    mcc = from_dict(Metric, "mcc")
    factors = np.stack(np.meshgrid(np.arange(4), np.arange(4)), axis=-1).reshape(-1, 2)
    a, b = factors.T.astype(float)
    permuted = np.stack([-3 * b, 0 * a, 2 * a + 1], axis=1)
    assert float(mcc.score(Probe(permuted, factors))) == pytest.approx(1.0)
    turned = np.stack([a + b, a - b], axis=1)  # by 45 degrees: every correlation is 1 / sqrt 2
    assert float(mcc.score(Probe(turned, factors))) == pytest.approx(0.5**0.5)
    assert float(mcc.score(Probe(a[:, None], factors))) == pytest.approx(0.5)  # nothing is left for b


def test_pooled_trains_on_any_side(loaded: Loaded, tmp_path: Path) -> None:
    loaded("pooled.py")
    net = from_dict(Encoder, "pooled").build((1, 24, 24), (2,) * 3)
    weights = 1 * 32 * 9 + 32 + 32 * 64 * 9 + 64 + 64 * 128 * 9 + 128 + 128 * 6 + 6
    assert sum(p.numel() for p in net.parameters()) == weights
    run = trained(tmp_path, encoder="pooled", data__size=24)
    assert run.shape == (1, 24, 24)
    start = run.spec.build(run.shape).model.encoder
    for before, after in zip(start.parameters(), run.model.encoder.parameters(), strict=True):
        assert not torch.equal(before, after)


def test_bars_have_the_right_pixels(loaded: Loaded, tmp_path: Path) -> None:
    loaded("bars.py")
    data = from_dict(Source, {"kind": "bars", "size": 4, "places": 2}).load()
    assert data.space is not None
    assert data.space.names == ("row0", "row1", "column0", "column1")
    assert len(data) == 16
    shown = data.images(data.space.index([[0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 1, 0]]))[..., 0] // 255
    assert shown[0].sum() == 0
    assert shown[1].tolist() == [[1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert shown[2].tolist() == [[0, 0, 1, 1]] * 4
    assert shown[3].tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1]]
    assert trained(tmp_path, data="bars", data__places=2).shape == (1, 16, 16)


def test_cyclical_vae_is_shortened_and_trains(loaded: Loaded, tmp_path: Path) -> None:
    loaded("cyclical_vae.py")
    weight: Any = resolve("cyclical_vae", "xy_squares", {"beta": 4, "steps": 3000}).objective["kl"].weight
    assert weight.period == 750
    assert [weight.at(step) for step in (0, 300, 375, 749, 750)] == pytest.approx([0, 3.2, 4, 4, 0])
    whole: Any = resolve("cyclical_vae", "xy_squares", {"steps": 300_000}).objective["kl"].weight
    assert whole.period == 75_000
    kept: Any = resolve("cyclical_vae", "xy_squares", {"period": 100, "steps": 3000}).objective["kl"].weight
    assert kept.period == 100
    assert trained(tmp_path, "cyclical_vae", steps=4).spec.name == "cyclical_vae"


def test_sparse_has_a_laplace_prior(loaded: Loaded, tmp_path: Path) -> None:
    loaded("sparse.py")
    latent = from_dict(Latent, {"kind": "sparse", "dim": 3, "scale": 0.7})
    module = latent.build()
    prior = module.prior_at()
    z = prior.sample(200_000, torch.Generator().manual_seed(0))
    assert torch.allclose(z.mean(0), torch.zeros(3), atol=0.01)
    assert torch.allclose(z.var(0), torch.full((3,), 2 * 0.7**2), rtol=0.02)
    assert torch.allclose(z.abs().mean(0), torch.full((3,), 0.7), rtol=0.01)
    truth = torch.distributions.Laplace(torch.zeros(3), 0.7)
    assert torch.allclose(prior.log_prob(z, (0, 2)), truth.log_prob(z)[:, [0, 2]].sum(1), atol=1e-5)
    q = module.posterior(torch.tensor([[0.3, -1.0, 2.0, 0.0, -0.5, 1.0]]))
    each = q.map_tensors(lambda t: t.expand(400_000, -1))
    drawn = each.rsample(torch.Generator().manual_seed(1))
    sampled = torch.stack([each.log_prob(drawn, (s,)) - prior.log_prob(drawn, (s,)) for s in range(3)], 1)
    closed = prior.kl(q, q.mean)
    assert closed is not None
    assert torch.allclose(closed[0], sampled.mean(0), atol=0.01)
    assert trained(tmp_path, latent="sparse", latent__dim=4).spec.latent.width == 4
