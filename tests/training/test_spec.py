"""The optimiser: AdamW, clipped gradients and schedules of the learning rate, against torch's own."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch.amp import GradScaler

from hatchel.cli.options import read_spec
from hatchel.core.errors import HatchelError
from hatchel.core.spec import to_dict
from hatchel.data import load
from hatchel.methods.resolve import resolve
from hatchel.objective.weights import Ramp
from hatchel.study.file import study_of
from hatchel.training.events import read_events
from hatchel.training.loop import _stepper, make_optimizer
from hatchel.training.model import System
from hatchel.training.order import Batches
from hatchel.training.run import TrainedRun, train
from hatchel.training.spec import Adam, Cosine, CriticAdam, RunSpec, StepDecay, Warmup

CPU = torch.device("cpu")
SHORT = {"batch_size": 16, "steps": 6, "log_every": 2, "by.hidden": 16, "optimizer.lr": 1e-3}


def built(**fields: object) -> tuple[RunSpec, System, Batches]:
    data = load("xy_squares")
    spec = resolve("factor_vae", "xy_squares", {**SHORT, **fields}).fit_to(data)
    system = spec.build(data.shape)
    return spec, system, Batches(spec, data, torch.arange(len(data)), system.objective.needs)


def weights(run: TrainedRun) -> torch.Tensor:
    return torch.cat([p.flatten() for p in run.model.state_dict().values()])


def test_the_defaults_leave_the_identity_as_it_was() -> None:
    old = {"beta1", "beta2", "eps", "lr"}
    assert set(to_dict(Adam(), identity=True)) == set(to_dict(CriticAdam(), identity=True)) == old
    spec, system, _ = built()
    assert type(make_optimizer(system, spec, CPU)) is torch.optim.Adam


def test_weight_decay_clipping_and_a_schedule_are_those_of_torch_by_hand(tmp_path: Path) -> None:
    fields = {
        "optimizer.weight_decay": 0.1,
        "optimizer.clip": 0.5,
        "optimizer.schedule": "cosine",
        "critic_optimizer.weight_decay": 0.2,
        "critic_optimizer.schedule": {"kind": "warmup", "steps": 4},
    }
    spec, system, batches = built(**fields)
    model, critics = list(system.model.parameters()), list(system.objective.parameters())
    # Two optimisers of torch, not fused, with torch's own schedulers.
    first = torch.optim.AdamW(model, lr=1e-3, weight_decay=0.1, fused=False)
    second = torch.optim.AdamW(critics, lr=1e-3, betas=(0.5, 0.9), weight_decay=0.2, fused=False)
    schedules = [
        torch.optim.lr_scheduler.CosineAnnealingLR(first, T_max=6),
        torch.optim.lr_scheduler.LinearLR(second, start_factor=1 / 4, total_iters=3),
    ]
    read = batches.data.reader("cpu")
    norms: list[float] = []
    for step in range(6):
        loss = system(batches.at(step, read))
        first.zero_grad()
        second.zero_grad()
        loss.total.backward()
        norms.append(float(torch.nn.utils.clip_grad_norm_(model, 0.5)))
        for part in (first, second, *schedules):
            part.step()
    assert min(norms) > 0.5  # all were cut
    run = train(spec, out=tmp_path / "run", progress=False)
    for ours, theirs in zip(run.model.parameters(), model, strict=True):
        assert torch.allclose(ours, theirs, rtol=0, atol=1e-5)
    plain = train(resolve("factor_vae", "xy_squares", SHORT), out=tmp_path / "plain", progress=False)
    assert not torch.allclose(weights(run), weights(plain), rtol=0, atol=1e-3)
    assert [e["lr"] for e in read_events(run.folder)] == pytest.approx([1e-3 * Cosine(6).at(t) for t in (1, 3, 5)])
    assert "lr" not in read_events(plain.folder)[0]


def test_each_group_is_cut_to_its_own_norm() -> None:
    spec, system, batches = built(**{"optimizer.clip": 0.5, "critic_optimizer.clip": 1e-3, "critic_updates": 2})
    _stepper(system, spec, CPU, batches, make_optimizer(system, spec, CPU), GradScaler("cpu", enabled=False))(0)
    # The further update of the critic leaves no gradient in the model.
    assert all(p.grad is None for p in system.model.parameters())
    gradient = [p.grad for p in system.objective.parameters() if p.grad is not None]
    assert float(torch.nn.utils.get_total_norm(gradient)) == pytest.approx(1e-3, rel=1e-2)
    spec, system, batches = built(**{"optimizer.clip": 0.5})
    _stepper(system, spec, CPU, batches, make_optimizer(system, spec, CPU), GradScaler("cpu", enabled=False))(0)
    norms = [
        float(torch.nn.utils.get_total_norm([p.grad for p in part.parameters() if p.grad is not None]))
        for part in (system.model, system.objective)
    ]
    assert norms[0] == pytest.approx(0.5, rel=1e-4)
    assert norms[1] > 2e-3


def test_schedules_by_value() -> None:
    assert [Warmup(4).at(t) for t in (0, 1, 3, 4, 99)] == [0.25, 0.5, 1.0, 1.0, 1.0]
    cosine = Cosine(12, warmup=2, floor=0.1)
    assert [cosine.at(t) for t in (0, 1, 2, 7, 12, 50)] == pytest.approx([0.5, 1.0, 1.0, 0.55, 0.1, 0.1])
    assert Cosine(3).at(1) == pytest.approx((1 + math.cos(math.pi / 3)) / 2)
    assert [StepDecay(3, 0.5).at(t) for t in (0, 2, 3, 6)] == [1.0, 1.0, 0.5, 0.25]


def test_what_is_not_set_is_as_long_as_the_training() -> None:
    def schedule(method: str = "vae", **changes: object) -> object:
        fields = {f"optimizer.schedule{'.' * bool(k)}{k}": v for k, v in changes.items() if k != "steps_"}
        return resolve(method, "xy_squares", {"steps": changes["steps_"], **fields}).optimizer.schedule

    assert schedule(steps_=3_000, **{"": "cosine"}) == Cosine(3_000)
    assert schedule(steps_=600_000, **{"": "cosine"}) == Cosine(600_000)
    assert schedule("joint_vae", steps_=3_000, **{"": "cosine"}) == Cosine(3_000)  # whose paper has 93,750 steps
    assert schedule(steps_=3_000, kind="cosine", warmup=100, floor=0.2) == Cosine(3_000, 100, 0.2)
    assert schedule(steps_=3_000, kind="cosine", steps=500) == Cosine(500)
    assert schedule(steps_=3_000, **{"": "warmup"}) == Warmup(150)
    assert schedule(steps_=3_000, **{"": "step"}) == StepDecay(1_000)
    spec = resolve("factor_vae", "xy_squares", {"steps": 30, "critic_optimizer.schedule": "cosine"})
    assert (spec.optimizer.schedule, spec.critic_optimizer.schedule) == (None, Cosine(30))


def test_a_run_with_schedule_decay_and_clipping_resumes_bit_for_bit(tmp_path: Path) -> None:
    fields = {"optimizer.schedule": "cosine", "optimizer.weight_decay": 0.1, "optimizer.clip": 1.0}
    spec = resolve("factor_vae", "xy_squares", {**SHORT, **fields, "steps": 8, "checkpoint_every": 3})
    whole = train(spec, out=tmp_path / "whole", progress=False)
    # Six steps of the same schedule, as after a kill; then the rest.
    train(spec.with_fields(steps=6), out=tmp_path / "parts", progress=False)
    parts = train(spec, out=tmp_path / "parts", resume=True, progress=False)
    assert torch.equal(weights(whole), weights(parts))


@pytest.mark.parametrize(
    "method, parameter, term", [("factor_vae", "gamma", "tc"), ("beta_tcvae", "beta", "tc"), ("beta_vae", "beta", "kl")]
)
def test_a_parameter_takes_a_schedule_on_the_command_line_and_in_a_grid(method: str, parameter: str, term: str) -> None:
    typed = [f"{parameter}=ramp", f"{parameter}.end=10", f"{parameter}.steps=200", "steps=1000", "data=xy_squares"]
    spec = read_spec(method, typed)
    assert spec.objective[term].weight == Ramp(0.0, 10.0, 200)
    assert read_spec(method, [f"{parameter}=1e1"]).digest() == read_spec(method, [f"{parameter}=10"]).digest()
    values = [10, {"kind": "ramp", "end": 10, "steps": 200}]
    body = {"name": "own", "methods": [{"method": method, parameter: values}], "data": "xy_squares"}
    cases = study_of({**body, "set": {"steps": 1000}, "product": {"optimizer.schedule": ["constant", "cosine"]}})
    grid = cases.grid("laptop").cases
    assert [c.labels[parameter] for c in grid] == [10, 10, "ramp(end=10, steps=200)", "ramp(end=10, steps=200)"]
    assert grid[2].task.trainings()[0].objective[term].weight == Ramp(0.0, 10.0, 200)
    assert grid[3].task.trainings()[0].optimizer.schedule == Cosine(1000)


@pytest.mark.parametrize(
    "typed, message",
    [
        ("optimizer=adamw", r"^optimizer: Adam is the only one.*AdamW is optimizer\.weight_decay=0\.01$"),
        ("optimizer.schedule=cos", r"^optimizer\.schedule: unknown schedule 'cos'. Did you mean 'cosine'\?"),
        ("optimizer.schedule.warmup=3", r"^optimizer\.schedule: a schedule needs a 'kind'. Known: constant, cosine"),
        ("optimizer.clip=0", r"^optimizer\.clip: input should be greater than 0, got 0$"),
        ("optimizer.weight_decay=-1", r"^optimizer\.weight_decay: input should be greater than or equal to 0"),
        ("gamma=-1", r"^gamma: input should be greater than or equal to 0, got -1"),
        ("gamma=rampp", r"^gamma: unknown weight 'rampp'. Did you mean 'ramp'\?"),
    ],
)
def test_bad_settings_are_one_line(typed: str, message: str) -> None:
    with pytest.raises(HatchelError, match=message):
        read_spec("factor_vae", [typed])
    with pytest.raises(HatchelError, match=r"warmup: must be below the schedule's 20 steps, got 30"):
        read_spec("vae", ["steps=20", "optimizer.schedule=cosine", "optimizer.schedule.warmup=30"])
