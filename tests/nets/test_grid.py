import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.nets.layers import ToRow, ToShape, fitted, halvings


@pytest.mark.parametrize("side, layers", [(16, 2), (32, 3), (64, 4), (128, 5)])
def test_each_halving_is_one_layer(side: int, layers: int) -> None:
    assert halvings((3, side, side), "encoder=conv", "encoder=mlp") == layers
    assert side / 2**layers == 4


@pytest.mark.parametrize(
    "shape, remedy",
    [
        ((1, 28, 28), "data.size=32, or encoder=mlp"),
        ((1, 8, 8), "data.size=16"),
        ((3, 64, 32), "data.size=64"),
        ((3, 65, 65), "data.size=128"),
        ((12,), "Set encoder=mlp"),
    ],
)
def test_what_does_not_fit_is_told_what_to_do(shape: tuple[int, ...], remedy: str) -> None:
    with pytest.raises(HatchelError, match=remedy):
        halvings(shape, "encoder=conv", "encoder=mlp")


@pytest.mark.parametrize(
    "layers, channels", [(1, (64,)), (3, (32, 64, 64)), (4, (16, 32, 64, 64)), (6, (16, 16, 16, 32, 64, 64))]
)
def test_channels_are_counted_from_the_grid(layers: int, channels: tuple[int, ...]) -> None:
    assert fitted((16, 32, 64, 64), layers) == channels


def test_rows_and_images_are_inverse_and_copy_nothing_in_channels_last() -> None:
    image = torch.arange(24.0).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last)
    row = ToRow()(image)
    assert row[0, :4].tolist() == [0.0, 12.0, 1.0, 13.0]  # both channels of a pixel side by side
    back = ToShape((2, 3, 4))(row)
    assert torch.equal(back, image)
    assert back.data_ptr() == row.data_ptr() == image.data_ptr()
    assert back.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(ToShape((24,))(row), row)
