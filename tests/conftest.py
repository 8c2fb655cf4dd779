"""Shared by all tests: traces of known distributions, and where larger test data may lie."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from hatchel.latents.diagonal import DiagonalGaussian, StandardNormal
from hatchel.latents.mixed import Mixed
from hatchel.latents.posterior import Posterior
from hatchel.latents.prior import Prior
from hatchel.latents.variables import Concrete, Gaussian, Group
from hatchel.objective.trace import Batch, Generated, Trace

LONG = (
    "test_onnx.py", "test_runner.py", "test_tutorials.py", "test_smoke_recurd.py", "test_features.py",
    "test_smoke_hfvae.py", "test_smoke_devae.py", "test_site.py", "test_ddp.py", "test_critics.py", "test_wheel.py",
)  # fmt: skip
"""Modules of half a minute or more: begun last, one of them would leave the other processes with nothing to do."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long modules first; the doctests, which are short, stay last and even out the processes."""
    items.sort(key=lambda item: item.path.name not in LONG)


@pytest.fixture(autouse=True, scope="session")
def _no_waiting() -> Iterator[None]:
    """Tests run in several processes: threads beyond one only stall each other, and no file need outlive the machine.

    A training flushes 15 files and folders, for which the disk may keep it waiting longer than it computes.
    """
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing a test renders lands in the user's cache."""
    monkeypatch.setenv("HATCHEL_CACHE", str(tmp_path_factory.getbasetemp().parent / "hatchel-cache"))


def folder_from(variable: str) -> Path:
    """The folder an environment variable names; the test is skipped, by the variable's name, without it."""
    value = os.environ.get(variable)
    if not value:
        pytest.skip(f"{variable} is not set")
    return Path(value)


@pytest.fixture
def oracles() -> Path:
    """Codes and images that reference implementations were run on."""
    return folder_from("HATCHEL_TEST_ORACLES")


@pytest.fixture
def real_data() -> Path:
    """Real MNIST and Fashion-MNIST."""
    return folder_from("HATCHEL_TEST_DATA")


def trace_of(
    q: Posterior,
    z: torch.Tensor,
    p: Prior | None = None,
    *,
    log_px: torch.Tensor | None = None,
    n_data: int = 1000,
    step: int = 0,
    level: int = 0,
    features: dict[str, torch.Tensor] | None = None,
) -> Trace:
    """A trace of known codes; the prior is N(0, I) unless another is given."""
    batch = Batch(torch.zeros(len(z), 1, dtype=z.dtype), n_data, step)
    likelihood = torch.zeros(len(z)) if log_px is None else log_px
    return Trace(batch, likelihood, q, p or StandardNormal(q.layout), z, level, features or {})


def with_parts(t: Trace, g: torch.Generator, code: torch.Tensor) -> Trace:
    """The same with an independent batch, labelled items and generated ones, which the same posteriors encode."""
    batch = dataclasses.replace(
        t.batch, independent=t.batch.x, labelled=(t.batch.x[:12], torch.randint(4, (12, 2), generator=g))
    )
    made = Generated(t.z[:, :1].tanh(), t.q, code, 1.0)
    return dataclasses.replace(
        t, batch=batch, encode=lambda x: t.q.map_tensors(lambda of: of[: len(x)]), generate=lambda: made
    )


def gaussian_trace(batch: int = 24, dim: int = 4, n_data: int = 100, seed: int = 0, dtype=torch.float64) -> Trace:
    """A trace with arbitrary posteriors that overlap a little, in double precision."""
    g = torch.Generator().manual_seed(seed)
    mean = torch.randn(batch, dim, generator=g, dtype=dtype) @ torch.randn(dim, dim, generator=g, dtype=dtype)
    log_variance = torch.randn(batch, dim, generator=g, dtype=dtype) - 0.5
    q = DiagonalGaussian(mean.requires_grad_(), log_variance.requires_grad_())
    noise = torch.randn(batch, dim, generator=g, dtype=dtype)
    z = q.mean + (0.5 * q.log_variance).exp() * noise
    log_px = -torch.rand(batch, generator=g, dtype=dtype) * 10
    t = trace_of(q, z, log_px=log_px, n_data=n_data)
    return with_parts(t, g, torch.randn(batch, dim, generator=g, dtype=dtype))


NESTED = {
    "what": Group({"class": Concrete(3), "look": Group({"colour": Gaussian(2), "size": Gaussian(1)})}),
    "where": Gaussian(2),
}
MIXED = {
    "mixed": Mixed({"class": Concrete(4), "style": Gaussian(3)}),
    "mixed soft": Mixed({"class": Concrete(4), "style": Gaussian(3)}, discrete="soft"),
    "mixed pmf": Mixed({"class": Concrete(4), "style": Gaussian(3)}, discrete="pmf"),
    "mixed nested": Mixed(NESTED),
    "mixed nested soft": Mixed(NESTED, prior="whole", discrete="soft"),
    "mixed nested pmf": Mixed(NESTED, prior="whole", discrete="pmf"),
    "mixed learned": Mixed({"class": Concrete(3, count=2), "style": Gaussian(3)}, prior="groups"),
    "mixed learned nested": Mixed(NESTED, prior="whole"),
    "mixed real": Mixed({"a": Gaussian(2), "b": Gaussian(3)}, prior="whole"),
}
"""Latents with discrete variables, nesting and learned priors."""
BY_CLASS = {
    "by class": Mixed({"class": Concrete(4), "style": Gaussian(3)}, discrete="pmf", reads_class=True),
    "nested by class": Mixed(NESTED, prior="whole", discrete="soft", reads_class=True),
}
"""Latents whose coordinates are drawn given the class."""


def mixed_trace(latent: Mixed, batch: int = 24, n_data: int = 100, seed: int = 0, dtype=torch.float64) -> Trace:
    """A trace of a mixed latent whose prior, if it is learned, is not the one it starts from."""
    g = torch.Generator().manual_seed(seed)
    module = latent.build().to(dtype)
    for parameter in module.parameters():
        parameter.data = torch.randn(parameter.shape, generator=g, dtype=dtype) / 2
    numbers = torch.randn(batch, sum(latent.widths), generator=g, dtype=dtype).requires_grad_()
    q = module.posterior(numbers)
    q, z = q.draw(g)
    log_px = -torch.rand(batch, generator=g, dtype=dtype) * 10
    t = trace_of(q, z, module.prior_at(), log_px=log_px, n_data=n_data)
    return with_parts(t, g, q.code(hard=True).detach())
