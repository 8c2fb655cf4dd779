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


def test_the_recursive_encoder_by_hand() -> None:
    found = cost(resolve("recurd", changes={"l2": 0}).fit_to_shape(SHAPE), SHAPE)
    first = 4 * 16 * (1 * 32 * 32**2 + 32 * 64 * 16**2)
    features = 64 * 16 * 16
    router = 4 * 4 * features + 4 * 4 * 8 + 8 * 4 * features
    last = 8 * (16 * 64 * 16 * 8**2 + 1024 * 16 + 16 * 2)
    assert found.macs["encoder"] == first + router + last


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
