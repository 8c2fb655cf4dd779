"""Hatchel: disentangled representation learning, composable and honestly measured.

>>> import hatchel
>>> spec = hatchel.resolve("beta_vae", "xy_squares", {"beta": 4})
>>> spec.formula()
'-log p(x|z) + 4*KL(q(z|x)||p(z))'
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from hatchel.core import __version__

if TYPE_CHECKING:
    from hatchel.api.disentangler import Disentangler
    from hatchel.api.run import Run, evaluate, load, train
    from hatchel.core.errors import HatchelError
    from hatchel.core.estimate import Estimate
    from hatchel.data.source import Source
    from hatchel.latents.latent import Latent
    from hatchel.methods.method import Method
    from hatchel.methods.resolve import resolve
    from hatchel.metrics.metric import Metric
    from hatchel.nets.part import Decoder, Encoder
    from hatchel.objective.estimators.estimator import Estimator
    from hatchel.objective.term import Term
    from hatchel.objective.weights import Weight
    from hatchel.study.study import Study
    from hatchel.training.spec import RunSpec

__all__ = [
    "Decoder", "Disentangler", "Encoder", "Estimate", "Estimator", "HatchelError", "Latent", "Method", "Metric", "Run",
    "RunSpec", "Source", "Study", "Term", "Weight", "__version__", "evaluate", "load", "resolve", "train",
]  # fmt: skip
_MODULES = {
    "api.disentangler": "Disentangler",
    "api.run": "Run evaluate load train",
    "core.errors": "HatchelError",
    "core.estimate": "Estimate",
    "data.source": "Source",
    "latents.latent": "Latent",
    "methods.method": "Method",
    "methods.resolve": "resolve",
    "metrics.metric": "Metric",
    "nets.part": "Decoder Encoder",
    "objective.estimators.estimator": "Estimator",
    "objective.term": "Term",
    "objective.weights": "Weight",
    "study.study": "Study",
    "training.spec": "RunSpec",
}
_PLACES = {name: f"hatchel.{module}" for module, names in _MODULES.items() for name in names.split()}
_PACKAGES = ("data", "metrics")
_RENAMED = {"preset": 'hatchel.train("beta_vae", beta=4) or hatchel.resolve("beta_vae", "dsprites", {"beta": 4})'}


def __getattr__(name: str) -> Any:
    """Names are looked up when first used: `import hatchel` does not wait for torch."""
    if name in _PLACES:
        return getattr(importlib.import_module(_PLACES[name]), name)
    if name in _PACKAGES:
        return importlib.import_module(f"hatchel.{name}")
    if name in _RENAMED:
        raise AttributeError(f"hatchel.{name} of 0.1 is now {_RENAMED[name]}")
    raise AttributeError(f"module 'hatchel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_PACKAGES])
