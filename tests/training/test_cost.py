import pytest

from hatchel.core.spec import from_dict
from hatchel.data.source import Source
from hatchel.methods.resolve import resolve
from hatchel.training.cost import cost

SHAPE = (1, 64, 64)


def test_the_plain_nets_by_hand() -> None:
    found = cost(resolve("beta_vae").fit_to_shape(SHAPE), SHAPE)
    assert found.parameters == {"encoder": 382932, "decoder": 381313, "objective": 0}
    convolutions = 16 * (1 * 32 * 32**2 + 32 * 32 * 16**2 + 32 * 64 * 8**2 + 64 * 64 * 4**2)
    assert found.macs["encoder"] == convolutions + 1024 * 256 + 256 * 20
    assert found.macs["objective"] == 0
    # Transposed convolutions mirror them, but for the last, which runs as 2x2 taps on 33x33 places.
    last = 32 * 4 * 4 * 33**2
    mirrored = 16 * (64 * 64 * 4**2 + 64 * 32 * 8**2 + 32 * 32 * 16**2)
    assert found.macs["decoder"] == mirrored + last + 1024 * 256 + 256 * 10


def test_a_discriminator_is_read_three_times() -> None:
    """For the model on the joint, for itself on joint and product."""
    found = cost(resolve("factor_vae").fit_to_shape(SHAPE), SHAPE)
    network = 10 * 1000 + 4 * 1000 * 1000 + 1000 * 2
    assert found.macs["objective"] == pytest.approx(3 * network, rel=1e-3)
    assert found.parameters["objective"] == network + 5 * 1000 + 2


@pytest.mark.parametrize("reading, one, two", [("total", 8, 16), ("literal", 32, 64)])
def test_the_recursive_encoder_by_hand(reading: str, one: int, two: int) -> None:
    found = cost(resolve("recurd", changes={"l2": 0, "reading": reading}).fit_to_shape(SHAPE), SHAPE)
    first = 4 * 16 * (1 * one * 32**2 + one * two * 16**2)
    features = two * 16 * 16
    router = 4 * 4 * features + 4 * 4 * 8 + 8 * 4 * features
    last = 8 * (16 * two * 16 * 8**2 + 1024 * 16 + 16 * 2)
    assert found.macs["encoder"] == first + router + last
    # thop counts a bias for every number of a map, and of the router its linear layer alone.
    biases = 4 * (one * 32**2 + two * 16**2) + 8 * 16 * 8**2
    assert found.thop["encoder"] == 64 * (first + 4 * 4 * 8 + last + biases)


COLOUR = (3, 64, 64)
TABLE_3 = {"encoder": "recurd0", "decoder": "recurd0_decoder"}


def totals(method: str, changes: dict[str, object]) -> tuple[float, float]:
    """MACs by thop's rules in billions, parameters in millions."""
    found = cost(resolve(method, changes=changes).fit_to_shape(COLOUR), COLOUR)
    return sum(found.thop.values()) / 1e9, sum(found.parameters.values()) / 1e6


@pytest.mark.parametrize(
    "method, dim, printed, macs, parameters",
    [
        ("beta_vae", 8, 3.144, 3.1444, 0.764),
        ("beta_vae", 16, 3.145, 3.1448, 0.770),
        ("factor_vae", 8, 3.401, 3.4011, 4.779),
        ("factor_vae", 16, 3.402, 3.4020, 4.793),
    ],
)
def test_thop_counts_of_the_baselines_are_table_10s(
    method: str, dim: int, printed: float, macs: float, parameters: float
) -> None:
    """Every printed digit of its MACs (3DShapes, CelebA); its parameters are 0.769, 0.769, 4.779 and 4.792 million."""
    found = totals(method, {**TABLE_3, "latent.dim": dim})
    assert found == (pytest.approx(macs, abs=5e-5), pytest.approx(parameters, abs=5e-4))
    assert round(found[0], 3) == printed


OUTPUTS = {"nets": "specific", "between": "outputs"}
WITHOUT = {"between": "none", "l2": 0}


@pytest.mark.parametrize(
    "depth, heads, symbols, printed, off",
    [
        # MACs within 7 % wherever there is a MINE for each pair of outputs; parameters on CelebA
        (1, 8, OUTPUTS, (3.466, 3.672), (-0.065, -0.195)),
        (2, 8, OUTPUTS, (3.469, 3.694), (-0.015, -0.103)),
        (1, 16, OUTPUTS, (3.944, 7.935), (0.000, -0.050)),
        (2, 16, OUTPUTS, (3.957, 8.040), (0.041, -0.018)),
        # with the default pairs between layers
        (1, 8, {"nets": "specific"}, (3.466, 3.672), (-0.023, 0.123)),
        # the paper's 0.826 million come out with Eq. 5's router as printed
        (2, 16, WITHOUT, (2.960, 0.826), (0.085, -0.117)),
        (2, 16, {**WITHOUT, "encoder.router": "printed"}, (2.960, 0.826), (0.094, 0.042)),
        (1, 8, {**OUTPUTS, "reading": "literal"}, (3.466, 3.672), (0.758, 0.134)),
    ],
)
def test_recurd_beside_table_10(
    depth: int, heads: int, symbols: dict[str, object], printed: tuple[float, float], off: tuple[float, float]
) -> None:
    """How far MACs and parameters are from the printed ones: no reading fits all rows."""
    found = totals("recurd", {"depth": depth, "heads": heads, **symbols})
    assert tuple(f / p - 1 for f, p in zip(found, printed, strict=True)) == pytest.approx(off, abs=0.001)


def test_the_mines_of_recurd_2_on_celeba() -> None:
    """Appendix E.4: "each pair of outputs of encoders is equipped with a specific MINE", 7.214 million parameters."""
    changes = {"depth": 2, "heads": 16, **OUTPUTS}
    found = cost(resolve("recurd", changes=changes).fit_to_shape(COLOUR), COLOUR)
    # Within m2, m3 and z; between m2 and m3, m3 and z. A member of a map is 16 channels in 2x2 cells.
    pairs = [(1, 128), (6, 128), (120, 2), (2 * 4 - 2, 128), (4 * 16 - 4, 65)]
    networks = sum(n * (width * 128 + 128 + 2 * (128 * 128 + 128) + 129) for n, width in pairs)
    assert found.parameters["objective"] == networks
    assert networks / 7.214e6 == pytest.approx(0.993, abs=0.001)


@pytest.mark.parametrize(
    "source",
    [
        {"kind": "xy_squares"},
        {"kind": "xy_squares", "squares": 2, "places": 2, "size": 32},
        {"kind": "dsprites", "cache": False, "size": 32},
        {"kind": "dsprites", "cache": False, "variant": "colour"},
        {"kind": "dsprites", "cache": False, "variant": "noisy", "size": 32},
    ],
    ids=str,
)
def test_known_shapes_are_the_loaded_ones(source: dict[str, object]) -> None:
    made = from_dict(Source, source)
    assert made.known_shape == made.load().shape
