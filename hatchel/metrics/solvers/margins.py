"""Margins: linear support vector machines on one latent each, for every class of every factor at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hatchel.metrics.information import Float
from hatchel.metrics.inputs import Labels


class Margins:
    """Lines w x + b, one per latent and class, that minimise scikit-learn's LinearSVC(C, class_weight="balanced").

    min_{w,b}  1/2 (w² + b²) + C sum_n c_n max(0, 1 - y_n (w x_n + b))²,  y_n = 1 in the class and -1 elsewhere; as in
    liblinear the intercept is penalised, rows of the class weigh c = n / (K n_k) and, for more than two classes, all
    others 1. Along one latent the rows inside a margin are a run of the sorted ones, so that Newton's method needs
    prefix sums of 1, x, x² only; the objective is piecewise quadratic and its minimum is reached exactly.
    """

    def __init__(self, codes: Float, labels: Labels, c: float = 0.01) -> None:
        n, dims = codes.shape
        self.sizes = labels.max(axis=0) + 1
        self.spans = np.r_[0, np.cumsum(self.sizes)]
        classes = int(self.spans[-1])
        self.sorted = np.sort(codes, axis=0)  # (n, D)
        order = np.argsort(codes, axis=0, kind="stable")
        numbers = labels + self.spans[:-1]  # (n, K): class numbers of all factors in one sequence
        runs: list[NDArray[np.int64]] = []
        keys: list[NDArray[np.int64]] = []
        for d in range(dims):
            rank = np.empty(n, dtype=np.int64)
            rank[order[:, d]] = np.arange(n)
            key = np.sort(((numbers + d * classes) * (n + 1) + rank[:, None]).T, axis=1).ravel()
            keys.append(key)
            runs.append(key % (n + 1) + d * n)
        self._keys = np.concatenate(keys)  # (D K n,) sorted: (latent, class, rank among all rows)
        x = self.sorted.T.ravel()  # latent after latent
        own = x[np.concatenate(runs)]
        self._own = _prefixes(own)  # (3, D K n + 1)
        self._all = _prefixes(x)
        self._latent = np.repeat(np.arange(dims), classes)
        self._class = np.tile(np.arange(classes), dims)
        self._starts = np.searchsorted(self._keys, (self._latent * classes + self._class) * (n + 1))
        counts = np.bincount(numbers.ravel(), minlength=classes)
        factor = np.repeat(np.arange(len(self.sizes)), self.sizes)
        balanced = n / (self.sizes[factor] * np.maximum(counts, 1))
        # With two classes liblinear weighs both sides; with more, the others keep C itself.
        partner = self.spans[factor] * 2 + 1 - np.arange(classes)
        others = np.where(self.sizes[factor] == 2, balanced[np.clip(partner, 0, classes - 1)], 1.0)
        self._own_weight, self._rest_weight = (2 * c * np.tile(w, dims) for w in (balanced, others))
        self._ends = np.r_[self._starts[1:], len(self._keys)]
        slope, offset = self._minimise()
        self.slopes, self.offsets = slope.reshape(dims, classes), offset.reshape(dims, classes)

    def accuracies(self, codes: Float, labels: Labels) -> tuple[Float, Float]:
        """(D, K) shares of the rows (n, D) whose class has the highest line, and their means over the classes."""
        plain = np.empty((codes.shape[1], labels.shape[1]))
        balanced = np.empty_like(plain)
        for k, (start, size) in enumerate(zip(self.spans, self.sizes, strict=False)):
            truth = labels[:, k]
            rows = np.maximum(np.bincount(truth, minlength=size), 1)
            present = np.unique(truth)
            for d, x in enumerate(codes.T):
                right = (
                    self._chosen(x, self.slopes[d, start : start + size], self.offsets[d, start : start + size])
                    == truth
                )
                plain[d, k] = right.mean()
                balanced[d, k] = (np.bincount(truth, right, minlength=size) / rows)[present].mean()
        return plain, balanced

    @staticmethod
    def _chosen(x: Float, slope: Float, offset: Float) -> Labels:
        # The highest of K lines changes only where the upper envelope has a corner.
        corners: list[float] = []
        lines: list[int] = []
        for k in np.lexsort((offset, slope)):
            while lines:
                rise = slope[k] - slope[lines[-1]]
                if rise > 0:
                    corner = (offset[lines[-1]] - offset[k]) / rise
                    if not corners or corner > corners[-1]:
                        corners.append(corner)
                        break
                    corners.pop()
                lines.pop()
            lines.append(int(k))
            del corners[len(lines) - 1 :]
        return np.asarray(lines)[np.searchsorted(np.asarray(corners), x, side="left")]

    def _minimise(self) -> tuple[Float, Float]:
        slope, offset = np.zeros(len(self._latent)), np.zeros(len(self._latent))
        value, gradient, hessian = self._objective(slope, offset)
        for _ in range(100):
            a, b, d = hessian
            determinant = a * d - b * b
            step_slope = (d * gradient[0] - b * gradient[1]) / determinant
            step_offset = (a * gradient[1] - b * gradient[0]) / determinant
            if max(np.abs(step_slope).max(), np.abs(step_offset).max()) < 1e-12:
                break
            size = np.ones_like(slope)
            trial = self._objective(slope - step_slope, offset - step_offset)
            for _ in range(40):
                worse = trial[0] > value + 1e-14 * np.abs(value)
                if not worse.any():
                    break
                size[worse] /= 2
                trial = self._objective(slope - size * step_slope, offset - size * step_offset)
            slope, offset = slope - size * step_slope, offset - size * step_offset
            value, gradient, hessian = trial
        return slope, offset

    def _objective(self, w: Float, b: Float) -> tuple[Float, Float, Float]:
        """Value, gradient (2, P) and Hessian (3, P: ww, wb, bb) of P problems."""
        flat = w == 0
        safe = np.where(flat, 1.0, w)
        own = self._inside((1 - b) / safe, w > 0, flat, b < 1)[0]
        everyone, mine = self._inside((-1 - b) / safe, w < 0, flat, b > -1)[::-1]
        rest = everyone - mine
        value, gradient, hessian = (
            0.5 * (w * w + b * b),
            np.stack([w, b]),
            np.stack([np.ones_like(w), np.zeros_like(w), np.ones_like(w)]),
        )
        for (count, first, second), weight, sign in ((own, self._own_weight, 1), (rest, self._rest_weight, -1)):
            # sum (1 - sign (w x + b))² over the rows inside the margin, from their sums of 1, x and x²
            gap = 1 - sign * b
            value = value + 0.5 * weight * (gap * gap * count - 2 * sign * gap * w * first + w * w * second)
            gradient = gradient - weight * sign * np.stack(
                [gap * first - sign * w * second, gap * count - sign * w * first]
            )
            hessian = hessian + weight * np.stack([second, first, count])
        return value, gradient, hessian

    def _inside(
        self, bound: Float, below: NDArray[np.bool_], flat: NDArray[np.bool_], whole: NDArray[np.bool_]
    ) -> tuple[Float, Float]:
        """(3, P) sums over the class's rows, and over all, with x below (or else above) the bound."""
        n, classes = len(self.sorted), len(self._own_weight) // self.sorted.shape[1]
        place = np.empty(len(bound), dtype=np.int64)
        for d in range(self.sorted.shape[1]):
            here = slice(d * classes, (d + 1) * classes)
            place[here] = np.searchsorted(self.sorted[:, d], bound[here])
        place = np.where(flat, np.where(whole, n, 0), place)
        below = below | flat
        cell = np.searchsorted(self._keys, (self._latent * classes + self._class) * (n + 1) + place)
        first = np.where(below, self._starts, cell), np.where(below, self._latent * n, self._latent * n + place)
        last = np.where(below, cell, self._ends), np.where(below, self._latent * n + place, (self._latent + 1) * n)
        return self._own[:, last[0]] - self._own[:, first[0]], self._all[:, last[1]] - self._all[:, first[1]]


def _prefixes(x: Float) -> Float:
    result = np.zeros((3, len(x) + 1))
    result[0, 1:] = np.arange(1, len(x) + 1)
    np.cumsum(x, out=result[1, 1:])
    np.cumsum(x * x, out=result[2, 1:])
    return result
