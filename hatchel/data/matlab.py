"""MATLAB files of version 5, by scipy."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError


def read_mat(file: Path | IO[bytes], name: str, key: str) -> NDArray[Any]:
    """One variable of a file; `name` is what errors call the file."""
    from scipy.io import loadmat

    try:
        content = loadmat(file, variable_names=[key])
    except Exception as error:  # scipy raises many kinds on broken files
        raise HatchelError(f"{name} cannot be read as a MATLAB file ({error}); fetch it again") from error
    if key not in content:
        raise HatchelError(f"{name} has no variable {key!r}")
    return np.asarray(content[key])
