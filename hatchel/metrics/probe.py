"""Probe: codes and factors of one set of rows, with what several metrics share computed once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from hatchel.core.errors import HatchelError
from hatchel.metrics import information
from hatchel.metrics.inputs import (
    Float,
    Labels,
    array,
    factor_names,
    matrix,
    numbers,
    pixel_errors,
    row_numbers,
    table,
    whole,
)

TRAIN, TEST = 10_000, 5_000
"""Rows of the reference protocol (Locatello et al. 2019)."""


class Probe:
    """What is known of n rows: codes (n, D), factors (n, K), and optionally samples, deviations, features, ...

    `std` are the deviations of q(z|x), (n, D) or (D,), `others_std` those of the other models; `noise` the correlation
    matrix (D, D) of its noise, independent by default. `errors` are those of reconstructions by name, (n,) each, of all
    rows or of the first so many; `images`: the images and reconstructions to find them from.

    `train` and `test` are row numbers, or how many rows to draw without replacement (default 10,000 and 5,000; of
    fewer than 15,000 rows two thirds and one third). Every metric that fits a predictor uses this one split. A factor
    is discrete unless `continuous` says so or, where that is not given, unless its values are fractions that hardly
    ever repeat. `ordered`: which discrete factors have an order, by default those that are numbers; or (n, K) what
    their class numbers stand for, NaN for a factor without.
    """

    def __init__(
        self,
        codes: Any,
        factors: Any = None,
        *,
        names: Sequence[str] | None = None,
        continuous: Sequence[bool] | bool | None = None,
        samples: Any = None,
        std: Any = None,
        noise: Any = None,
        features: Mapping[str, Any] | None = None,
        others: Sequence[Any] | None = None,
        others_std: Sequence[Any] | None = None,
        clusters: Any = None,
        images: tuple[Any, Any] | None = None,
        errors: Mapping[str, Any] | None = None,
        ordered: Any = None,
        train: int | NDArray[np.int64] | None = None,
        test: int | NDArray[np.int64] | None = None,
        seed: int = 0,
    ) -> None:
        self.codes: Float = matrix(codes, "codes")  # (n, D)
        self.n, self.dims = self.codes.shape
        rows = self.n
        self.values, self.numeric = (None, np.ones(0, np.bool_)) if factors is None else table(factors, "factors", rows)
        self.names = factor_names(
            getattr(factors, "columns", None) if names is None else names,
            0 if self.values is None else self.values.shape[1],
        )
        self.samples = None if samples is None else matrix(samples, "samples", rows)  # (n, D)
        self.std = None if std is None else self._deviations(std)  # (n, D)
        self.noise = None if noise is None else self._correlation(noise)  # (D, D)
        self.features = features and {k: matrix(v, f"features {k}", rows) for k, v in features.items()}
        self.others = None if others is None else tuple(matrix(o, "others", rows) for o in others)
        self.others_std = None if others_std is None else self._other_deviations(others_std)
        self.clusters = None if clusters is None else table(clusters, "clusters", rows)[0]
        found = errors
        if images is not None:
            found = pixel_errors(numbers(images[0], "images"), numbers(images[1], "reconstructions"))
        self.errors = found and {k: matrix(v, f"errors {k}")[:, 0] for k, v in found.items()}
        self.seed = whole(seed, "seed")
        self._sizes = (train, test)
        self._cache: dict[tuple[Any, ...], Any] = {}
        self._parent: tuple[Probe, NDArray[np.int64]] | None = None
        self.continuous = self._declare(continuous)
        self.ordered = None if self.values is None else self._order(ordered)
        """(n, K): the values of continuous and ordered factors, NaN for the others."""
        self._check_factors()

    @classmethod
    def split(cls, train: tuple[Any, Any], test: tuple[Any, Any], **more: Any) -> Self:
        """A probe whose train and test rows are given, (codes, factors) each; `more`: what else there is to say."""
        first, second = matrix(train[0], "train codes"), matrix(test[0], "test codes")
        rows = np.arange(len(first) + len(second))
        codes = np.concatenate([first, second])
        factors = np.concatenate([array(train[1], "train factors"), array(test[1], "test factors")])
        halves = rows[: len(first)], rows[len(first) :]
        return cls(codes, factors, train=halves[0], test=halves[1], **more)

    # -- factors ------------------------------------------------------------------------------------------------

    @cached_property
    def factors(self) -> Labels | None:
        """(n, K): class numbers 0..m_k-1 of every discrete factor; 20 equal-width bins of every continuous one."""
        if self.values is None:
            return None
        labels = np.empty(self.values.shape, dtype=np.int64, order="F")  # read column by column
        for k, column in enumerate(self.values.T):
            if self.continuous[k]:
                labels[:, k] = information.discretise(column[:, None].astype(np.float64))[:, 0]
            else:
                labels[:, k] = information.relabel(column)[0]
        return labels

    @property
    def classes(self) -> Labels:
        """(n, K): the factors' class numbers, where the metric has said that it needs factors."""
        if self.factors is None:
            raise HatchelError("factors: this metric needs the factors of every row")
        return self.factors

    @property
    def unordered(self) -> NDArray[np.bool_]:
        """(K,): which factors are classes without an order."""
        return np.asarray(np.isnan(cast(Float, self.ordered)).all(axis=0))

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """(K,): how many different values every factor takes."""
        return self.classes.max(axis=0) + 1

    @cached_property
    def varying(self) -> NDArray[np.int64]:
        """The factors that take more than one value in these rows."""
        return np.flatnonzero(self.classes.min(axis=0) != self.classes.max(axis=0))

    @cached_property
    def dead(self) -> NDArray[np.int64]:
        """The dimensions whose code is the same in every row."""
        same = [(self.codes[rows] == self.codes[0]).all(axis=0) for rows in information.blocks(*self.codes.shape)]
        return np.flatnonzero(np.all(same, axis=0))

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Dead dimensions and constant factors, in words."""
        found: list[str] = []
        if len(self.dead):
            found.append(f"dead dimensions: {', '.join(f'z{d}' for d in self.dead)}")
        if self.values is not None and len(self.varying) < len(self.names):
            still = [name for k, name in enumerate(self.names) if k not in self.varying]
            found.append(f"constant factors, left out: {', '.join(still)}")
        return tuple(found)

    def by_factor(self, values: Iterable[float]) -> dict[str, float]:
        """One number for every factor that varies, by its name."""
        return {self.names[k]: float(v) for k, v in zip(self.varying, values, strict=True)}

    # -- shared quantities ---------------------------------------------------------------------------------------

    def binned(self, bins: int = 20) -> NDArray[Any]:
        """The codes in equal-width bins. (n, D); resampled rows keep the bins of the rows they came from."""
        kind = np.uint8 if bins <= 256 else np.int64  # an eighth of the memory of a million rows
        if self._parent is not None:
            parent, rows = self._parent
            return self.once(("binned", bins), lambda: parent.binned(bins).T.take(rows, axis=1).T)
        return self.once(("binned", bins), lambda: information.discretise(self.codes, bins, kind))

    def mutual_information(self, bins: int = 20) -> Float:
        """(D, K): I(z_d; v_k) in nats."""
        return self.once(("mi", bins), lambda: information.mutual_information(self.binned(bins), self.classes))

    @cached_property
    def entropies(self) -> Float:
        """(K,): H(v_k) in nats."""
        return information.entropies(self.classes)

    def once(self, key: tuple[Any, ...], compute: Any) -> Any:
        """The cached value under `key`, computed at the first call."""
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]

    # -- rows ---------------------------------------------------------------------------------------------------

    @property
    def train(self) -> NDArray[np.int64]:
        """Rows that predictors are fitted on."""
        return self._split[0]

    @property
    def test(self) -> NDArray[np.int64]:
        """Rows that predictors are judged on; never among `train`."""
        return self._split[1]

    @cached_property
    def _split(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if self._parent is not None:
            parent, rows = self._parent
            return np.flatnonzero(np.isin(rows, parent.train)), np.flatnonzero(np.isin(rows, parent.test))
        train, test = (
            size if size is None or isinstance(size, int | np.integer) else row_numbers(size, name, self.n)
            for size, name in zip(self._sizes, ("train", "test"), strict=True)
        )
        if isinstance(train, np.ndarray) and isinstance(test, np.ndarray):
            return train, test
        if isinstance(train, np.ndarray) or isinstance(test, np.ndarray):
            raise HatchelError("train, test: give both as row numbers, or both as sizes")
        third = self.n // 3
        test = test if test is not None else min(TEST, third)
        train = train if train is not None else min(TRAIN, self.n - test)
        if train < 1 or test < 1 or train + test > self.n:
            raise HatchelError(f"train, test: {train} + {test} rows asked for, but there are {self.n}")
        order = np.random.default_rng(self.seed).permutation(self.n)[: train + test].copy()  # the rest can go
        return order[:train], order[train:]

    def rows(self, rows: NDArray[np.int64]) -> Probe:
        """The same probe on some of its rows, which may repeat; bins and class numbers stay those of this probe."""
        child = object.__new__(Probe)
        child.__dict__.update({k: v for k, v in vars(self).items() if k in _PLAIN})
        child.codes, child.n = self.codes[rows], len(rows)
        for name in ("values", "ordered", "samples", "std", "clusters"):
            held = cast("NDArray[Any] | None", getattr(self, name))
            setattr(child, name, None if held is None else held[rows])
        child.features = self.features and {k: v[rows] for k, v in self.features.items()}
        child.others = self.others and tuple(o[rows] for o in self.others)
        child.others_std = self.others_std and tuple(s[rows] for s in self.others_std)
        child.errors = self.errors and {k: v[rows[rows < len(v)]] for k, v in self.errors.items()}
        child._cache, child._parent = {}, (self, rows)
        if self.values is not None:
            child.__dict__["factors"] = self.classes.T.take(rows, axis=1).T
        return child

    def resampled(self, rng: np.random.Generator, split: bool = False) -> Probe:
        """A bootstrap replicate: as many rows drawn with replacement; each stays on its side of the split.

        Of a handful of rows a draw may repeat just one, or leave a side of the split empty: that is no replicate.
        """
        factors = 0 if self.values is None else min(2, len(self.varying))
        while True:
            child = self.rows(rng.integers(self.n, size=self.n))
            child.__dict__["notes"] = ()  # nobody reads the notes of a replicate
            enough = not factors or len(child.varying) >= factors
            if enough and (not split or (len(child.train) and len(child.test))):
                return child

    # -- checks -------------------------------------------------------------------------------------------------

    def _deviations(self, std: Any, codes: Float | None = None, name: str = "std") -> Float:
        shape = (self.codes if codes is None else codes).shape
        given = array(std, name)
        if given.ndim == 1 and len(given) == shape[1]:
            given = np.broadcast_to(given, shape)
        result = matrix(given, name, self.n)
        if result.shape != shape or (result <= 0).any():
            raise HatchelError(f"{name}: expected positive numbers of shape {shape}")
        return result

    def _other_deviations(self, stds: Sequence[Any]) -> tuple[Float, ...]:
        if self.others is None or len(stds) != len(self.others):
            raise HatchelError(f"others_std: expected one for each of the {len(self.others or ())} others")
        pairs = zip(stds, self.others, strict=True)
        return tuple(self._deviations(std, codes, "others_std") for std, codes in pairs)

    def _correlation(self, noise: Any) -> Float:
        result = matrix(noise, "noise")
        fits = (
            result.shape == (self.dims, self.dims) and np.allclose(result, result.T) and np.allclose(np.diag(result), 1)
        )
        if not fits or np.linalg.eigvalsh(result)[0] <= 0:
            raise HatchelError(f"noise: expected a positive definite correlation matrix, {self.dims} x {self.dims}")
        return result

    def _declare(self, continuous: Sequence[bool] | bool | None) -> NDArray[np.bool_]:
        count = len(self.names)
        if isinstance(continuous, bool):
            return np.full(count, continuous)
        if continuous is not None:
            given = numbers(continuous, "continuous")
            if given.shape != (count,):
                raise HatchelError(f"continuous: {given.size} entries for {count} factors")
            return given.astype(np.bool_)
        if self.values is None or not np.issubdtype(self.values.dtype, np.floating):
            return np.zeros(count, dtype=np.bool_)
        fractions = (self.values != np.round(self.values)).any(axis=0)
        # Fewer than ten rows per value: no class of them could be learnt or counted.
        return np.array([f and len(np.unique(v)) > self.n / 10 for f, v in zip(fractions, self.values.T, strict=True)])

    def _order(self, ordered: Any) -> Float:
        assert self.values is not None
        given = np.asarray(True if ordered is None else ordered)
        if given.shape not in ((), (len(self.names),), self.values.shape):
            raise HatchelError(f"ordered: {given.shape[-1]} entries for {len(self.names)} factors")
        if given.ndim == 2:
            return given.astype(np.float64)
        return np.where(given.astype(np.bool_) & self.numeric | self.continuous, self.values, np.nan)

    def _check_factors(self) -> None:
        if self.values is None:
            return
        for k in np.flatnonzero(self.continuous & ~self.numeric):
            raise HatchelError(f"continuous: {self.names[k]} holds words, so it cannot be continuous")
        if not len(self.varying):
            raise HatchelError(
                f"factors: every factor takes one value only in these {self.n} rows; nothing to tell apart"
            )
        for k, name in enumerate(self.names):
            if not self.continuous[k] and self.sizes[k] >= self.n:
                raise HatchelError(
                    f"factors: {name} takes {self.sizes[k]} values in {self.n} rows; give more rows than classes, "
                    "or declare it continuous"
                )


_PLAIN = frozenset({"dims", "names", "continuous", "numeric", "noise", "seed", "_sizes"})
