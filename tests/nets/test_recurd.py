from hatchel.nets.recursive import Recurd0, Recurd0Decoder

CONVOLUTIONS = 544 + 16416 + 32832 + 65600  # 16 * in * out + out for 1, 32, 32, 64, 64


def count(net) -> int:
    return sum(p.numel() for p in net.parameters())


def test_table_3_by_hand() -> None:
    assert count(Recurd0().build((1, 64, 64), (2,) * 8)) == CONVOLUTIONS + (1024 * 128 + 128) + (128 * 16 + 16)
    up = 65600 + 32800 + 16416 + 513
    assert count(Recurd0Decoder().build(8, (1, 64, 64))) == (8 * 128 + 128) + (128 * 1024 + 1024) + up


def test_the_size_for_colour_comes_near_the_papers_table_10() -> None:
    # beta-VAE on 3DShapes: 0.769 million parameters; Table 3 with 256 units on both sides.
    shape = (3, 64, 64)
    total = count(Recurd0(hidden=256).build(shape, (2,) * 8)) + count(Recurd0Decoder(hidden=256).build(8, shape))
    assert total == 764755
    assert abs(total / 0.769e6 - 1) < 0.01
