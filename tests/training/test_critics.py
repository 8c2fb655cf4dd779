"""Critics that see: their rate, their further updates, and an independent reading beside theirs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import fmean

import pytest
import torch

from hatchel.data.dsprites import DSprites
from hatchel.data.xy_squares import XYSquares
from hatchel.latents.diagonal import DiagonalGaussian
from hatchel.methods.resolve import resolve
from hatchel.objective.independent import blind_critics
from hatchel.objective.objective import Objective
from hatchel.training.checkpoint import checkpoints
from hatchel.training.events import Windows, read_events
from hatchel.training.loop import make_optimizer
from hatchel.training.model import System
from hatchel.training.run import train
from hatchel.training.spec import RunSpec
from tests.conftest import trace_of

CPU = torch.device("cpu")


def spec(**fields: object) -> RunSpec:
    base = {"batch_size": 16, "steps": 12, "log_every": 4, "checkpoint_every": 5, "by.hidden": 16, "optimizer.lr": 1e-3}
    return resolve("factor_vae", XYSquares(size=16), {**base, **fields})


def built(chosen: RunSpec) -> tuple[RunSpec, System]:
    data = chosen.data.load()
    chosen = chosen.fit_to(data)
    return chosen, chosen.build(data.shape)


@pytest.mark.parametrize("method", ["factor_vae", "rtc_vae", "recurd"])
def test_a_critics_rate_follows_the_models(method: str) -> None:
    for fields, rates in [({"optimizer.lr": 3e-3}, [3e-3, 3e-3]), ({"critic_optimizer.lr": 2e-4}, [None, 2e-4])]:
        chosen, system = built(resolve(method, "xy_squares", fields))
        groups = make_optimizer(system, chosen, CPU).param_groups
        assert [g["lr"] for g in groups] == [chosen.optimizer.lr if r is None else r for r in rates]
        assert groups[1]["betas"] == ((0.9, 0.999) if method == "recurd" else (0.5, 0.9))


def codes(kind: str) -> tuple[torch.Tensor, float]:
    """Means of items, and the deviation of their codes."""
    g = torch.Generator().manual_seed(0)
    if kind == "gaussian":
        rho, noise = 0.5, torch.randn(4000, 10, generator=g)
        return math.sqrt(rho) * torch.randn(4000, 1, generator=g) + math.sqrt(1 - rho) * noise, 0.1
    x = DSprites(size=32, cache=False).load().reader()(torch.randint(737_280, (3000,), generator=g))
    chosen = resolve("factor_vae", "xy_squares", {"encoder": "mlp"}).fit_to_shape((1, 32, 32))
    with torch.no_grad():
        mean = chosen.build((1, 32, 32)).model.encode(x)[0].mean
    return (mean - mean.mean(0)) / mean.std(0), 0.3


@pytest.mark.parametrize("method", ["factor_vae", "rtc_vae"])
@pytest.mark.parametrize("kind", ["gaussian", "random encoder"])
def test_on_a_frozen_encoder_the_discriminator_reads_what_is_there(method: str, kind: str) -> None:
    """After 300 steps at a short budget's rate of 1e-3: codes of correlated Gaussians, and of dSprites.

    The latter's are not Gaussian, so that there is more to see than their correlations have.
    """
    means, deviation = codes(kind)
    chosen, system = built(resolve(method, "xy_squares", {"optimizer.lr": 1e-3, "by.hidden": 128}))
    objective = Objective({"tc": chosen.objective["tc"]}, system.model.latent.layout)
    system.objective = objective
    optimizer, windows, read = make_optimizer(system, chosen, CPU), Windows(objective.independent, {}), list[float]()
    for step in range(300):
        g = torch.Generator().manual_seed(step)
        mean = means[torch.randint(len(means), (128,), generator=g)]
        q = DiagonalGaussian(mean, torch.full_like(mean, 2 * math.log(deviation)))
        loss = objective(trace_of(q, q.rsample(g), step=step))
        optimizer.zero_grad()
        loss.total.backward()
        optimizer.step()
        windows.add(loss.samples)
        read.append(float(loss.readings["tc"]))
    independent = windows.read()["independent/tc"]
    assert independent > 0.5
    assert 0.5 < fmean(read[-50:]) / independent < (1.5 if kind == "gaussian" else 2.5)


def state(run: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    return load_file(checkpoints(run)[0] / "model.safetensors")


def timeless(folder: Path) -> list[dict[str, float]]:
    return [{k: v for k, v in event.items() if k != "seconds_per_step"} for event in read_events(folder)]


def test_further_updates_of_the_critic_resume_bit_for_bit_with_their_readings(tmp_path: Path) -> None:
    chosen = spec(critic_updates=3)
    train(chosen, out=tmp_path / "whole", progress=False)
    train(chosen.with_fields(steps=7), out=tmp_path / "parts", progress=False)
    train(chosen, out=tmp_path / "parts", resume=True, progress=False)
    a, b = (state(tmp_path / name) for name in ("whole", "parts"))
    assert all(torch.equal(a[name], b[name]) for name in a)
    whole, parts = (timeless(tmp_path / name) for name in ("whole", "parts"))
    assert "independent/tc" in whole[-1]
    assert whole[-1] == parts[-1]


def test_the_first_step_of_the_model_is_the_same_with_any_number_of_updates(tmp_path: Path) -> None:
    """As many updates of the model: the critic's further ones move only the critic."""
    runs = {n: train(spec(critic_updates=n, steps=1), out=tmp_path / str(n), progress=False) for n in (1, 3)}
    a, b = (state(run.folder) for run in runs.values())
    assert all(torch.equal(a[name], b[name]) == name.startswith("model") for name in a if "state_" not in name)


def test_events_have_the_critics_reading_and_an_independent_one(tmp_path: Path) -> None:
    run = train(spec(), out=tmp_path, progress=False)
    events = read_events(run.folder)
    assert all(e["reading/tc"] == pytest.approx(e["term/tc"], rel=1e-6) for e in events)
    assert [("independent/tc" in e) for e in events] == [True, True, True]
    plain = train(resolve("beta_vae", "xy_squares", {"steps": 2, "batch_size": 16}), out=tmp_path / "b", progress=False)
    assert not [key for e in read_events(plain.folder) for key in e if key.startswith(("reading/", "independent/"))]


def test_recurds_events_have_a_histograms_information(tmp_path: Path) -> None:
    chosen = resolve("recurd", XYSquares(size=32), {"steps": 4, "batch_size": 32, "log_every": 2, "by.hidden": 8})
    last = read_events(train(chosen, out=tmp_path, progress=False).folder)[-1]
    for term in ("between", "within"):
        labels = [key for key in last if key.startswith(f"reading/{term}")]
        assert sum(last[key] for key in labels) == pytest.approx(last[f"term/{term}"], rel=1e-4, abs=1e-5)
        assert all(f"independent/{key.removeprefix('reading/')}" in last for key in labels)


def test_a_blind_critic_is_named_once_at_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from hatchel.objective.independent import GaussianReading

    monkeypatch.setattr(GaussianReading, "value", lambda self, rows: 3.0)
    run = train(spec(**{"critic_optimizer.lr": 1e-9}), out=tmp_path, progress=True)
    (line,) = [text for text in capsys.readouterr().err.splitlines() if "blind" in text]
    assert line.startswith("factor_vae: the critic of tc was blind at 3 of 3 events")
    assert [f"factor_vae: {text}" for text in blind_critics(read_events(run.folder))] == [line]


def test_reconstruction_as_at_64_pixels() -> None:
    """At 16 pixels the reconstruction enters 16 times; the term is reported as it is."""
    from hatchel.objective.trace import Batch

    data = XYSquares(size=16).load()
    x = data.reader()(torch.arange(8))
    printed, scaled = (
        resolve("beta_vae", "xy_squares", {"reconstruction_scale": s}).fit_to(data) for s in ("printed", "64px")
    )
    assert printed.formula() == "-log p(x|z) + 4*KL(q(z|x)||p(z))"
    assert scaled.formula() == "(64/size)^2*-log p(x|z) + 4*KL(q(z|x)||p(z))"
    assert printed.digest() == resolve("beta_vae", "xy_squares").fit_to(data).digest() != scaled.digest()
    a, b = (s.build(data.shape)(Batch(x, len(data))) for s in (printed, scaled))
    assert a.terms == b.terms
    expected = 16 * float(a.terms["rec"]) + 4 * float(a.terms["kl"])
    assert float(b.objective) == pytest.approx(expected, rel=1e-6)
    assert json.dumps(scaled.build((1, 64, 64)).objective._factors) == '{"rec": 1.0}'
