"""Every method: the loss of a whole step is one graph of torch's compiler, and its values and gradients are eager's.

`aot_eager` traces the step and its backward pass as `inductor` does, and then runs torch's own operations, so that all
methods can be tried; a few are also compiled in earnest.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.methods.method import Method
from hatchel.methods.resolve import resolve
from hatchel.nets.mlp import Mlp, MlpDecoder
from hatchel.objective.objective import Loss
from hatchel.objective.terms.moments import MMD
from hatchel.objective.trace import Batch
from hatchel.objective.weights import Constant
from hatchel.training.compiled import CompiledLoss, loss_of, recorded
from hatchel.training.model import System
from hatchel.training.spec import RunSpec
from tests.conformance.test_methods import DATA, small

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's compiler deprecates parts of itself
HOST: dict[str, dict[str, object]] = {"cascade_vae": {"classes": 3}}
"""What is compiled in parts, encoder and decoder: classes are assigned by a flow that scipy solves on the host."""
VARIANTS: dict[str, tuple[str, dict[str, object]]] = {
    **{kind: (kind, {}) for kind in Method.members()},
    "ramp": ("beta_vae", {"beta": {"kind": "ramp", "start": 1.0, "end": 4.0, "steps": 100, "curve": "geometric"}}),
    "cyclic": ("beta_vae", {"beta": {"kind": "cyclic", "period": 8}}),
    "annealed temperature": ("hf_vae", {"temperature": {"start": 1.0, "end": 0.3, "steps": 50}}),
    "summed levels": ("de_vae", {"latent.trained": "summed"}),
    "independent batch": ("factor_vae", {"by.product": "independent", "by.hidden": 32}),
    "halves": ("factor_vae", {"by.product": "half", "by.hidden": 32}),
    "classes of a code": ("info_gan", {"classes": [3]}),
    "free classes": ("joint_vae", {"temperature": {"start": 1.0, "end": 0.3, "steps": 50}}),
    "stages": ("cascade_vae", {"every": 2}),
    "a share of the pairs": ("recurd", {"depth": 1, "by.share": 0.5}),
}
STEPS = (0, 1, 2, 5, 40, 3000)


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    yield
    torch._dynamo.reset()


def variant(name: str) -> RunSpec:
    kind, changes = VARIANTS[name]
    if not changes:
        return small(kind)
    return resolve(kind, DATA, changes).with_fields(batch_size=16).fit_to(DATA.load())


def twins(spec: RunSpec) -> tuple[System, System, torch.Tensor]:
    """Two systems of one spec, laid out as a run lays them out, and two batches of 16."""
    data = DATA.load()
    one, other = (spec.build(data.shape).to(memory_format=torch.channels_last) for _ in range(2))
    return one, other, data.reader()(torch.arange(32)).unflatten(0, (2, 16))


def close(name: str, found: torch.Tensor, expected: torch.Tensor) -> None:
    """To 1e-5 of the largest number of a tensor, or absolutely where that is below 1."""
    scale = max(1.0, float(expected.detach().abs().nan_to_num().max())) if expected.numel() else 1.0
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5 * scale, equal_nan=True, msg=lambda m: f"{name}: {m}")


def compare(spec: RunSpec, backend: str, steps: tuple[int, ...]) -> int:
    """Losses, gradients and buffers of both at these steps; how many sets of levels there were."""
    one, other, (x, second) = twins(spec)
    compiled, levels = CompiledLoss(other, backend), set[tuple[int, ...]]()
    for step in steps:
        batch = Batch(x, 1000, step, seed=3, independent=second)
        levels.add(one.model.latent.train_levels(3, step))
        losses: list[Loss] = [one(batch), compiled(batch)]
        for loss in losses:
            loss.total.backward()
        eager, found = losses
        close("total", found.total, eager.total)
        close("objective", found.objective, eager.objective)
        for kind in ("terms", "critics", "readings"):
            parts = getattr(eager, kind)
            assert getattr(found, kind).keys() == parts.keys()
            for name, value in parts.items():
                close(f"{kind} {name}", getattr(found, kind)[name], value)
        assert found.samples.keys() == eager.samples.keys()
        for name, samples in eager.samples.items():
            close(name, found.samples[name].joint, samples.joint)
            close(name, found.samples[name].source, samples.source)
            assert found.samples[name].widths == samples.widths
        for (name, p), q in zip(one.named_parameters(), other.parameters(), strict=True):
            assert p.grad is not None
            assert q.grad is not None
            close(f"gradient of {name} at step {step}", q.grad, p.grad)
            p.grad = q.grad = None
        for (name, p), q in zip(one.named_buffers(), other.buffers(), strict=True):
            close(name, q, p)
    return len(levels)


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_a_step_is_one_graph_with_the_values_of_eager(name: str) -> None:
    """One graph for all steps, of each level: what schedules say is not compiled in."""
    levels = compare(variant(name), "aot_eager", STEPS)
    counters = torch._dynamo.utils.counters
    assert not counters["graph_break"]
    assert counters["stats"]["unique_graphs"] == levels


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """For what torch compiles, which it would else take for another CPU's instructions too."""
    if shutil.which(os.environ.get("CXX", "g++")) is None:
        pytest.skip("no C++ compiler: set CXX")
    folder = tmp_path_factory.mktemp("compiled")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(folder))
        yield folder


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["beta_tcvae", "factor_vae", "control_vae", "hf_vae"])
def test_compiled_in_earnest(kind: str, cache: Path) -> None:
    compare(small(kind, encoder=Mlp((8,)), decoder=MlpDecoder((8,))), "inductor", (0, 3))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


def test_what_is_solved_on_the_host_is_compiled_in_parts() -> None:
    for name, changes in HOST.items():
        spec = resolve(name, DATA, changes).fit_to(DATA.load())
        system = spec.build(DATA.load().shape)
        assert loss_of(system, spec.with_fields(compile=True)) is system
        assert system.model.encoder._compiled_call_impl is not None
        assert system.model.decoder._compiled_call_impl is not None


def test_what_cannot_be_traced_is_one_line_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def untraced(self: Constant, value: torch.Tensor, step: int, state: torch.Tensor) -> torch.Tensor:
        torch._dynamo.graph_break()
        return value

    monkeypatch.setattr(Constant, "apply", untraced)
    _, system, (x, _) = twins(small("vae"))
    with pytest.raises(HatchelError, match=r"^compile: torch cannot compile this step \([^\n]*\); set compile=false$"):
        CompiledLoss(system, "aot_eager")(Batch(x, 1000))


def test_what_changes_with_every_step_without_asking_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not compiled in: its values are right until it has been compiled too often."""
    monkeypatch.setattr(Constant, "apply", lambda self, value, step, state: (1 + 0.1 * step) * value)
    one, other, (x, _) = twins(small("vae"))
    compiled = CompiledLoss(other, "eager")
    often = torch._dynamo.config.recompile_limit
    for step in range(often):
        close("total", compiled(Batch(x, 1000, step)).total, one(Batch(x, 1000, step)).total)
    with pytest.raises(HatchelError, match="changes with every step"):
        compiled(Batch(x, 1000, often))


def test_a_step_that_asks_for_less_than_was_noted_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else its draws would be those of another place."""
    _, system, (x, _) = twins(small("info_vae"))
    loss = CompiledLoss(system, "aot_eager")
    batch = Batch(x, 1000)
    asked = recorded(system, batch)
    assert asked.names == ("noise", "mmd")
    monkeypatch.setattr(MMD, "value", lambda self, t, evaluator: t.z.sum(1))
    loss._known[(0,), x.shape] = asked, loss._compiled()
    with pytest.raises(HatchelError, match="compile: "):
        loss(batch)


def test_recording_leaves_no_trace() -> None:
    """Of a controller's state and a moving average."""
    for kind in ("control_vae", "recurd"):
        one, other, (x, _) = twins(small(kind))
        recorded(other, Batch(x, 1000))
        for p, q in zip(one.state_dict().values(), other.state_dict().values(), strict=True):
            torch.testing.assert_close(p, q, rtol=0, atol=0, equal_nan=True)
