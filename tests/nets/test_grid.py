import pytest
import torch
from torch import nn

from hatchel.core.errors import HatchelError
from hatchel.nets.layers import Grid, ToRow, ToShape, fitted, grid_of


def grid(*shape: int) -> Grid:
    return grid_of(shape, "encoder=conv", "encoder=mlp")


@pytest.mark.parametrize("side, layers", [(16, 2), (32, 3), (64, 4), (128, 5)])
def test_each_halving_is_one_layer(side: int, layers: int) -> None:
    assert grid(3, side, side) == (layers, 4, 4)
    assert grid(3, side, side).padding((3, side, side)) == grid(3, side, side).cropping((3, side, side)) == []


@pytest.mark.parametrize(
    "height, width, expected",
    [
        (28, 28, (3, 4, 4)),  # padded to 32x32
        (48, 64, (4, 3, 4)),
        (100, 75, (5, 4, 3)),  # 128x96
        (65, 65, (4, 5, 5)),  # 80x80
        (8, 8, (1, 4, 4)),
        (4, 200, (2, 1, 50)),  # a strip: 4 rows are not made 64
        (1, 1, (1, 1, 1)),
    ],
)
def test_other_sizes_are_padded_and_cropped_back(height: int, width: int, expected: tuple[int, ...]) -> None:
    found = grid(1, height, width)
    assert found == expected
    shape, x = (1, height, width), torch.rand(2, 1, height, width)
    there, back = (nn.Sequential(*way(shape)) for way in (found.padding, found.cropping))
    assert there(x).shape[2:] == (found.height << found.layers, found.width << found.layers)
    torch.testing.assert_close(there(x).sum(), x.sum())
    assert torch.equal(back(there(x)), x)


def test_rows_are_told_what_to_do() -> None:
    with pytest.raises(HatchelError, match=r"encoder=conv needs images .* Set encoder=mlp"):
        grid(12)


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
