"""Disentanglement and completeness of an importance matrix (Eastwood & Williams 2018, Sec. 2)."""

from __future__ import annotations

import numpy as np

from hatchel.metrics.information import Float


def concentration(importance: Float) -> Float:
    """(R, C) -> (R,): 1 - H_C(P_r), where P_r is row r divided by its sum; 0 for a row without any importance.

    >>> concentration(np.array([[0.0, 3.0], [2.0, 2.0], [0.0, 0.0]])).round(6).tolist()
    [1.0, 0.0, 0.0]
    """
    if importance.shape[1] == 1:
        return (importance[:, 0] > 0).astype(np.float64)
    total = importance.sum(axis=1, keepdims=True)
    shares = importance / np.where(total > 0, total, 1.0)
    spread = -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=1)
    return np.where(total[:, 0] > 0, 1 - spread / np.log(importance.shape[1]), 0.0)


def weighted_concentration(importance: Float) -> float:
    """sum_r rho_r (1 - H_C(P_r)) with rho the rows' shares of all importance; 0 where there is none.

    DCI's D of a D x K matrix; DCI's C of the transposed one.
    """
    total = importance.sum()
    return float(concentration(importance) @ importance.sum(axis=1) / total) if total > 0 else 0.0
