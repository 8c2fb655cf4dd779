"""Priors: codes drawn from p(z), whole or one group at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hatchel.latents.layout import Site

CODES = NDArray[np.float32]


def group_codes(codes: CODES, start: NDArray[np.floating], variables: Sequence[Site], group: str) -> CODES:
    """(n, D): the sites of one group as in `codes`, all others as in `start`."""
    result = np.tile(np.asarray(start, dtype=np.float32), (len(codes), 1))
    columns = [c for s in variables if s.group == group for c in s.columns]
    result[:, columns] = codes[:, columns]
    return result
