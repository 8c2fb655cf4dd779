"""Disentangler: a method of Hatchel as a scikit-learn transformer."""

from __future__ import annotations

import tempfile
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data

from hatchel.core.errors import HatchelError
from hatchel.data.array import from_array
from hatchel.latents.diagonal import Diagonal
from hatchel.latents.latent import Latent
from hatchel.methods.resolve import resolve
from hatchel.nets.mlp import Mlp, MlpDecoder
from hatchel.training.run import train
from hatchel.training.spec import Adam


class Disentangler(TransformerMixin, BaseEstimator):
    """Codes of the rows of X by any method: `Disentangler("beta_vae", parameters={"beta": 4}).fit_transform(X)`.

    X is (n, features), numbers in any unit: they are scaled inside. Images are better served by `hatchel.train`.
    `transform` gives the posterior means (n, D), `inverse_transform` the decoder's means in X's own units.

    `n_components` is D. Left out, it is 10, or what the method's own latent has (`hf_vae`, `de_vae`, ...). It changes
    the number of Gaussian coordinates of that latent; one with discrete variables has its size in `parameters`.
    """

    def __init__(
        self,
        method: str = "beta_tcvae",
        n_components: int | None = None,
        *,
        parameters: dict[str, Any] | None = None,
        steps: int = 1000,
        batch_size: int = 64,
        learning_rate: float = 1e-3,
        hidden: tuple[int, ...] = (128, 128),
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.method = method
        self.n_components = n_components
        self.parameters = parameters
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.hidden = hidden
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Train on the rows of X; y is ignored."""
        rows = self._rows(X, reset=True)
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        data = from_array(rows)
        own = {
            "encoder": Mlp(self.hidden),
            "decoder": MlpDecoder(self.hidden[::-1]),
            "steps": self.steps,
            "batch_size": min(self.batch_size, len(rows)),
            "optimizer": Adam(lr=self.learning_rate),
            "seed": int(seed),
            "device": "cpu",
            "checkpoint_every": self.steps,
        }
        spec = resolve(self.method, "xy_squares", {**(self.parameters or {}), **own})
        if self.n_components is not None:
            spec = spec.with_fields(latent=resized(spec.latent, self.n_components))
        with tempfile.TemporaryDirectory(prefix="hatchel-") as folder:
            self.run_ = train(spec, data=data, out=folder, progress=False)
        self.n_iter_ = self.steps
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Posterior means: (n, D)."""
        check_is_fitted(self)
        return self.run_.encode(self._rows(X, reset=False)).astype(np.float64)

    def inverse_transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """The decoder's mean for each code (n, D), in the units of the data."""
        check_is_fitted(self)
        return self.run_.decode(np.asarray(X)).astype(np.float64)

    def _rows(self, X: ArrayLike, reset: bool) -> NDArray[np.float64]:
        checked: Any = validate_data(self, X, dtype=np.float64, reset=reset)  # pyright: ignore[reportArgumentType]
        return checked

    @property
    def _n_features_out(self) -> int:
        return self.run_.spec.latent.width


def resized(latent: Latent, dim: int) -> Latent:
    """The latent with so many Gaussian coordinates, if they are all it is made of.

    >>> resized(Diagonal(10), 3)
    Diagonal(dim=3)
    """
    if latent.width == dim:
        return latent
    found = {"dim": dim, "over": Diagonal(dim)}
    fields = [name for name in type(latent).__dataclass_fields__ if name in found]
    changed = latent.with_fields(**{name: found[name] for name in fields})
    if changed.width != dim:
        raise HatchelError(
            f"n_components: the latent of this method is {latent.kind!r} with {latent.width} numbers, not {dim}; "
            "leave n_components out and set the latent's size in parameters"
        )
    return changed
