"""Which columns differ most between the answers of a model."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from s2gnn.report.kept_columns import KeptColumn


def shares_explained(
    columns: Sequence[KeptColumn], features: Any, classes: NDArray[np.int64], n_classes: int
) -> NDArray[np.float64]:
    """The share of each column's variance that lies between classes, 0..1, (number of columns,).

    For a column of numbers it is η² of the analysis of variance; for one of categories the same ratio summed over their
    features of 0 and 1, which is Goodman and Kruskal's τ.

    Args:
        columns: of the table.
        features: (N, M), dense or CSR.
        classes: the class of each row, (N,).
        n_classes: C.
    """
    n = features.shape[0]
    counts = np.bincount(classes, minlength=n_classes)
    member = np.zeros((n, n_classes))
    member[np.arange(n), classes] = 1.0
    sums = np.asarray((features.T @ member).T)  # (C, M)
    mean = sums.sum(axis=0) / n
    squares = features.multiply(features).sum(axis=0) if hasattr(features, "multiply") else (features**2).sum(axis=0)
    total = np.maximum(np.asarray(squares).ravel() - n * mean**2, 0.0)
    means = np.divide(sums, counts[:, None], out=np.zeros_like(sums), where=counts[:, None] > 0)
    between = (counts[:, None] * (means - mean) ** 2).sum(axis=0)
    return np.array([_ratio(between[list(c.features)].sum(), total[list(c.features)].sum()) for c in columns])


def _ratio(part: float, whole: float) -> float:
    return float(np.clip(part / whole, 0.0, 1.0)) if whole > 1e-12 else 0.0


def quantile_classes(values: NDArray[np.float64], n_classes: int) -> NDArray[np.int64]:
    """Quantities (N,) as the numbers of equally full intervals, 0..n_classes − 1; equal values share one."""
    edges = np.quantile(values, np.linspace(0, 1, n_classes + 1)[1:-1])
    return np.searchsorted(edges, values, side="right")
