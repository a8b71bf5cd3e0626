"""How much the columns of a model's table differ between the predictions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from s2gnn.estimator.table_columns import Column


def variance_explained(columns: Sequence[Column], features: Any, groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of each column's variance between the `groups` (N,) of the rows, 0..1, (number of columns,).

    For a numeric column this is η² of the analysis of variance; for categories it is the same ratio summed over their
    indicator features, which is Goodman and Kruskal's τ.
    """
    n = len(groups)
    present, groups, counts = np.unique(groups, return_inverse=True, return_counts=True)
    indicator = np.eye(len(present))[groups]  # (N, groups)
    sums = np.asarray((features.T @ indicator).T)  # (groups, M)
    mean = sums.sum(axis=0) / n
    squares = features.multiply(features) if sp.issparse(features) else features**2
    total = np.maximum(np.asarray(squares.sum(axis=0)).ravel() - n * mean**2, 0.0)
    between = (counts[:, None] * (sums / counts[:, None] - mean) ** 2).sum(axis=0)
    parts = [(between[column.features].sum(), total[column.features].sum()) for column in columns]
    return np.array([min(part / whole, 1.0) if whole > 1e-12 else 0.0 for part, whole in parts])


def quantile_groups(values: NDArray[np.float64], n_groups: int) -> NDArray[np.int64]:
    """Return the quantile interval 0..n_groups − 1 of each of the values (N,); equal values share one."""
    edges = np.quantile(values, np.linspace(0, 1, n_groups + 1)[1:-1])
    return np.searchsorted(edges, values, side="right")
