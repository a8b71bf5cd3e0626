"""The labels that an estimator learns from, and how much each counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from s2gnn.errors import InputError


@dataclass(frozen=True)
class KnownLabels:
    """The labelled rows of a table.

    Attributes:
        rows: ascending, (n,).
        targets: their classes 0..C−1 or values, (n,).
        weights: positive, with mean 1, (n,); `None` if all are equal.
        groups: the group of each, whose labels are hidden together, as numbers, (n,); `None` if each is on its own.
    """

    rows: NDArray[np.int64]
    targets: NDArray[Any]
    weights: NDArray[np.float64] | None = None
    groups: NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls,
        rows: NDArray[np.int64],
        targets: NDArray[Any],
        sample_weight: NDArray[np.float64] | None,
        groups: NDArray[np.int64] | None = None,
    ) -> KnownLabels:
        """Return the labels of `rows` (n,), with their weights of any scale and groups, among those of all rows, (N,).

        A group is a number; −1 if it is missing.
        """
        if groups is not None:
            groups = groups[rows]
            if (groups < 0).any():
                row = rows[np.flatnonzero(groups < 0)[0]]
                raise InputError(f"groups[{row}] is missing, but every labelled row needs a group")
        if sample_weight is None:
            return cls(rows, targets, groups=groups)
        weights = sample_weight[rows]
        wrong = np.flatnonzero(~(np.isfinite(weights) & (weights > 0)))
        if len(wrong):
            row, weight = rows[wrong[0]], weights[wrong[0]]
            raise InputError(f"sample_weight[{row}] is {weight}, but the weight of a label is a finite number >= 0")
        return cls(rows, targets, relative(weights), groups)

    def without(self, places: NDArray[np.int64]) -> KnownLabels:
        """Return the labels except those at `places` of the list."""
        weights = None if self.weights is None else relative(np.delete(self.weights, places))
        groups = None if self.groups is None else np.delete(self.groups, places)
        return KnownLabels(np.delete(self.rows, places), np.delete(self.targets, places), weights, groups)

    def weights_in(self, n_rows: int) -> NDArray[np.float64] | None:
        """Return the weights of all rows, (n_rows,), 0 for those without a label; `None` if all count the same."""
        if self.weights is None:
            return None
        weights = np.zeros(n_rows)
        weights[self.rows] = self.weights
        return weights

    @property
    def strength(self) -> NDArray[np.float64]:
        """Return how strongly smoothing keeps each label, (n,): its weight relative to the median weight, at most 1."""
        if self.weights is None:
            return np.ones(len(self.rows))
        return np.asarray(np.minimum(self.weights / np.median(self.weights), 1.0))


def relative(weights: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return positive weights (n,) with mean 1; `None` if they are equal."""
    if (weights == weights[0]).all():
        return None
    scaled = weights / weights.max()  # whose sum does not overflow
    return np.asarray(scaled / scaled.mean())


def checked_weights(sample_weight: Any, n: int) -> NDArray[np.float64] | None:
    """Return the `sample_weight` of `fit` for n rows, (n,), or `None`; `KnownLabels.of` checks the values."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n,):
        raise InputError(f"sample_weight has shape {weights.shape}, but X has {n} rows: give one weight per row")
    return weights


def checked_groups(groups: Any, n: int) -> NDArray[np.int64] | None:
    """Return the `groups` of `fit` for n rows as numbers, −1 where they are missing, (n,), or `None`."""
    if groups is None:
        return None
    if np.shape(groups) != (n,):
        raise InputError(f"groups has shape {np.shape(groups)}, but X has {n} rows: give one group per row")
    return np.asarray(pd.factorize(pd.Series(groups))[0], dtype=np.int64)
