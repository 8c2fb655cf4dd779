"""A weight of another image size, likelihood or code base as the one that does the same here."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hatchel.core.errors import HatchelError


def equivalent_weight(
    weight: float, of: Sequence[int], to: Sequence[int], sigma: float = 1.0, to_sigma: float = 1.0
) -> float:
    """The weight at items of shape `to` that holds the balance that `weight` holds at items of shape `of`.

    The reconstruction is a sum over the H W C values of an item, in nats, and a term such as the KL is not: an image of
    half the side has a quarter of the values, and the same weight is four times as strong. A reconstruction that is a
    mean over the values is of shape (1,). `sigma` and `to_sigma` are those of Gaussian likelihoods, whose
    reconstruction is |x - m|^2 / 2 sigma^2; the plain sum of squares is sigma = 1/sqrt(2).

    >>> equivalent_weight(4, (64, 64, 1), (32, 32, 1))
    1.0
    >>> equivalent_weight(0.001, (1,), (64, 64, 3))  # of a code base that takes the mean over pixels
    12.288
    >>> round(equivalent_weight(4, (64, 64, 1), (64, 64, 1), sigma=1, to_sigma=0.1))
    400
    """
    numbers = {"weight": weight, "sigma": sigma, "to_sigma": to_sigma}
    wrong = next((name for name, number in numbers.items() if not (0 < number < math.inf)), "")
    if wrong:
        raise HatchelError(f"{wrong}: must be a number above 0, got {numbers[wrong]}")
    for name, shape in (("of", of), ("to", to)):
        if not shape or any(side < 1 for side in shape):
            raise HatchelError(f"{name}: a shape such as (64, 64, 3) has sides of 1 or more, got {tuple(shape)}")
    return weight * math.prod(to) / math.prod(of) * (sigma / to_sigma) ** 2
