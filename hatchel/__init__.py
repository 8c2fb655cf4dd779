"""Hatchel: disentangled representation learning, composable and honestly measured.

>>> import hatchel
>>> spec = hatchel.preset("beta_vae", beta=4, data="xy_squares")
>>> spec.formula()
'-log p(x|z) + 4*KL(q(z|x)||p(z))'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hatchel.errors import HatchelError
    from hatchel.presets.preset import preset
    from hatchel.run import Run, train
    from hatchel.training.spec import RunSpec
    from hatchel.transformer import Disentangler

__version__ = "0.1.0"
__all__ = ["Disentangler", "HatchelError", "Run", "RunSpec", "preset", "train"]

_PLACES = {
    "Disentangler": "hatchel.transformer",
    "HatchelError": "hatchel.errors",
    "Run": "hatchel.run",
    "RunSpec": "hatchel.training.spec",
    "preset": "hatchel.presets.preset",
    "train": "hatchel.run",
}


def __getattr__(name: str) -> Any:
    """Names are looked up when first used: `import hatchel` does not wait for torch."""
    if name in _PLACES:
        return getattr(importlib.import_module(_PLACES[name]), name)
    if name in ("data", "metrics"):
        return importlib.import_module(f"hatchel.{name}")
    raise AttributeError(f"module 'hatchel' has no attribute {name!r}")
