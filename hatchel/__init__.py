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
    from hatchel.api.disentangler import Disentangler
    from hatchel.core.errors import HatchelError
    from hatchel.methods.method import preset
    from hatchel.training.run import TrainedRun as Run
    from hatchel.training.run import train
    from hatchel.training.spec import RunSpec

from hatchel.core.version import __version__

__all__ = ["Disentangler", "HatchelError", "Run", "RunSpec", "__version__", "preset", "train"]

_PLACES = {
    "Disentangler": "hatchel.api.disentangler",
    "HatchelError": "hatchel.core.errors",
    "Run": "hatchel.training.run",
    "RunSpec": "hatchel.training.spec",
    "preset": "hatchel.methods.method",
    "train": "hatchel.training.run",
}


def __getattr__(name: str) -> Any:
    """Names are looked up when first used: `import hatchel` does not wait for torch."""
    if name in _PLACES:
        module = importlib.import_module(_PLACES[name])
        return getattr(module, "TrainedRun" if name == "Run" else name)
    if name in ("data", "metrics"):
        return importlib.import_module(f"hatchel.{name}")
    raise AttributeError(f"module 'hatchel' has no attribute {name!r}")
