"""float32 products stay float32 products, whichever library makes them."""

from __future__ import annotations

import pytest
import torch

from hatchel.core import products
from hatchel.core.products import fast_products

SHAPES = [(64, 256, 320), (128, 100, 64), (64, 10, 256), (64, 256, 1), (3, 5, 7)]


@pytest.mark.parametrize(("rows", "inner", "columns"), SHAPES)
def test_as_exact_as_float32(rows: int, inner: int, columns: int) -> None:
    g = torch.Generator().manual_seed(rows)
    a, b = torch.randn(3, rows, inner, generator=g), torch.randn(3, inner, columns, generator=g)
    with fast_products():
        both = a @ b, a[0] @ b[0]
    exact = a.double() @ b.double()
    # bfloat16 would be 2^-8 of a number's size away; float32 rounds to 2^-24, of which a sum keeps most.
    for found, expected in zip(both, (exact, exact[0]), strict=True):
        assert (found - expected).abs().max() < 2**-18 * inner**0.5


def test_what_others_asked_of_torch_stays() -> None:
    assert torch.get_float32_matmul_precision() == "highest"
    with pytest.raises(KeyError), fast_products():
        raise KeyError
    assert torch.get_float32_matmul_precision() == "highest"
    torch.set_float32_matmul_precision("high")
    try:
        with fast_products():
            assert torch.get_float32_matmul_precision() == "high"
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize(
    "net", [torch.nn.Linear(300, 300, device="meta"), torch.nn.Linear(9, 9)], ids=["other", "small"]
)
def test_other_devices_and_small_weights_are_left_alone(net: torch.nn.Module) -> None:
    with fast_products(net):
        assert torch.get_float32_matmul_precision() == "highest"


def test_a_processor_that_would_round_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    products.pays.cache_clear()
    monkeypatch.setattr(products.Path, "read_text", lambda _: "vendor_id : AuthenticAMD\nflags : avx512f amx_tile")
    try:
        with fast_products():
            assert torch.get_float32_matmul_precision() == "highest"
    finally:
        products.pays.cache_clear()
