"""What every likelihood must hold, plug-ins included."""

import pytest
import torch

from hatchel.core.spec import from_dict, to_dict
from hatchel.data.table import TableColumn
from hatchel.latents.likelihoods import Columns, Likelihood

MEMBERS = Likelihood.members()
EXAMPLE = (
    TableColumn("a", "gaussian"),
    TableColumn("b", "categorical", 3),
    TableColumn("c", "bernoulli"),
    TableColumn("d", "gaussian"),
)


def made(kind: str) -> tuple[Likelihood, torch.Tensor, torch.Tensor]:
    """A likelihood with a decoder's output and data it can describe: one-hot where it wants that, else in [0, 1]."""
    random = torch.Generator().manual_seed(0)
    spec = Columns(EXAMPLE, learned=True) if kind == "columns" else MEMBERS[kind]()
    shape = (5, 6) if kind == "columns" else (5, 3, 4, 4)
    x = torch.rand(shape, generator=random)
    if kind == "columns":
        x[:, 1:4] = torch.eye(3)[torch.randint(3, (5,), generator=random)]
        x[:, 4] = x[:, 4].round()
    return spec, torch.randn(shape, generator=random), x


@pytest.mark.parametrize("kind", MEMBERS)
def test_one_finite_number_of_nats_an_item(kind: str) -> None:
    spec, output, x = made(kind)
    module = spec.build()
    value = module.log_prob(output.requires_grad_(), x)
    assert value.shape == (5,)
    value.sum().backward()
    for gradient in (output.grad, *(p.grad for p in module.parameters())):
        assert gradient is not None
        assert torch.isfinite(gradient).all()
        assert gradient.abs().sum() > 0
    torch.testing.assert_close(module.log_prob(output, x)[2:3], module.log_prob(output[2:3], x[2:3]))


@pytest.mark.parametrize("kind", MEMBERS)
def test_means_have_the_datas_shape_and_no_output_beats_the_one_whose_mean_is_the_data(kind: str) -> None:
    # For every member log p(x|z) as a function of the output peaks where E[x|z] = x.
    spec, output, x = made(kind)
    module = spec.build()
    assert module.mean(output).shape == x.shape
    if kind == "columns":
        return  # a class or a bit is reached by no finite logit
    fitted = torch.zeros_like(x, dtype=torch.double).requires_grad_()
    target = x.double()
    module.to(dtype=torch.double)
    optimiser = torch.optim.LBFGS([fitted], max_iter=200, tolerance_grad=1e-10, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimiser.zero_grad()
        value = -module.log_prob(fitted, target).sum()
        value.backward()
        return value

    optimiser.step(loss)
    torch.testing.assert_close(module.mean(fitted.detach()), target, atol=5e-3, rtol=0)


@pytest.mark.parametrize("kind", MEMBERS)
def test_memory_layout_does_not_matter(kind: str) -> None:
    spec, output, x = made(kind)
    if x.ndim != 4:
        pytest.skip("rows have one layout")
    module = spec.build()
    last = output.to(memory_format=torch.channels_last)
    torch.testing.assert_close(module.log_prob(last, x), module.log_prob(output, x))


@pytest.mark.parametrize("kind", MEMBERS)
def test_survives_json_and_has_its_say(kind: str) -> None:
    spec = made(kind)[0]
    assert from_dict(Likelihood, to_dict(spec)) == spec
    assert from_dict(Likelihood, kind) == MEMBERS[kind]()
    assert all(type(spec).help().get(name) for name in type(spec).__dataclass_fields__)
