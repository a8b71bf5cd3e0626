"""The k-nearest-neighbour graph of a table of features, with Gaussian weights."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from s2gnn.errors import InputError
from s2gnn.graphs.graph import Graph
from s2gnn.graphs.neighbours import Method, Metric, nearest_neighbours
from s2gnn.ranges import real

Width = float | Literal["mean"]


@dataclass(frozen=True)
class KNNInfo:
    """Information on the construction of a k-NN graph.

    Attributes:
        sigma: width of the Gaussian.
        method: search method, "exact" or "faiss".
        recall: share of true neighbours found, see `Neighbours`.
    """

    sigma: float
    method: str
    recall: float


def knn_graph(
    X: Any,
    k: int,
    metric: Metric = "euclidean",
    sigma: Width = "mean",
    method: Method = "auto",
    *,
    progress: bool = False,
    report: Callable[[KNNInfo], object] | None = None,
) -> Graph:
    """Connect every row of `X` to its `k` nearest neighbours, with weights exp(−d²/σ²).

    Two rows are connected if either is among the `k` nearest neighbours of the other. With `sigma="mean"` the width σ
    is the mean of the N×(k+1) distances to the neighbours and to the row itself (which are zero), as in the code
    published by the paper's first author.

    Weights that would underflow are set to the smallest normal float64, so no neighbour is lost. Duplicate rows have
    distance zero and weight 1; if every row has `k` duplicates, σ is zero and all weights are 1.

    Args:
        X: features (N, M), a dense array or a SciPy sparse matrix; all values finite.
        k: number of neighbours, 1 ≤ k ≤ N − 1.
        metric: "euclidean", or "cosine" for d = 1 − cos of the angle between rows.
        sigma: width of the Gaussian, or "mean".
        method: "exact", "faiss" (approximate; the extra `ann`) or "auto": faiss beyond 50,000 dense rows.
        progress: show a bar.
        report: function called with a `KNNInfo`, which contains the recall of the search, e.g. `print`.

    Example:
        >>> knn_graph([[0.0], [1.0], [3.0]], k=1)
        Graph(n_nodes=3, n_edges=2, weights in [0.000123, 0.105])
    """
    found = nearest_neighbours(X, k, metric, method, progress=progress)
    n = len(found.indices)
    width = checked_width(sigma, mean=float(found.distances.sum() / (n * (k + 1))))
    weights = gaussian_weights(found.distances, width)
    pointers = np.arange(0, n * k + 1, k)
    one_way = sp.csr_array((weights.ravel(), found.indices.ravel(), pointers), shape=(n, n))
    if report is not None:
        report(KNNInfo(width, found.method, found.recall))
    return Graph(one_way.maximum(one_way.T))


def gaussian_weights(distances: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    """Return exp(−d²/σ²), at least the smallest normal number; 1 for a distance of zero, even if σ = 0."""
    scaled = np.divide(distances, width, out=np.zeros_like(distances), where=distances > 0)
    weights: NDArray[np.float64] = np.maximum(np.exp(-(scaled**2)), np.finfo(np.float64).tiny)
    return weights


def checked_width(sigma: Width, mean: float) -> float:
    """Return a width given as a number, checked to be finite and positive, or the `mean`."""
    if isinstance(sigma, str) and sigma == "mean":
        return mean
    if not 0 < real(sigma) < math.inf:
        raise InputError(f'sigma is {sigma!r}, but it must be a positive number or "mean"')
    return float(sigma)
