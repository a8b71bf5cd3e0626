"""The k-nearest-neighbour graph of a table of features, with Gaussian weights."""

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array

from s2gnn.errors import InputError
from s2gnn.graphs.graph import Graph


def knn_graph(X: Any, k: int, *, sigma: float | Literal["mean"] = "mean") -> Graph:
    """Join every row of `X` to its `k` nearest others, with weights exp(−d²/σ²).

    Two rows are joined when either lists the other among its `k` nearest (Euclidean, exact search). With
    `sigma="mean"` the width σ is the mean over the N×(k+1) distances to the neighbours and to the row
    itself (which are zero), as in the published code of the paper's first author.

    A weight that would underflow is kept at the smallest normal float64, so that no listed neighbour is
    lost. If every row has `k` exact copies, σ is zero and all weights are 1.

    Args:
        X: features (N, M), a dense array or a SciPy sparse matrix; all values finite.
        k: number of neighbours, 1 ≤ k ≤ N − 1.
        sigma: width of the Gaussian, or "mean".

    Example:
        >>> knn_graph([[0.0], [1.0], [3.0]], k=1)
        Graph(n_nodes=3, n_edges=2, weights in [0.000123, 0.105])
    """
    X = _checked_features(X)
    n = X.shape[0]
    if not 1 <= k <= n - 1:
        raise InputError(
            f"k is {k}, but {n} rows have at most {n - 1} neighbours each: choose 1 <= k <= {n - 1}"
        )
    neighbours = NearestNeighbors(n_neighbors=k).fit(X).kneighbors(return_distance=False)
    distances = _distances(X, neighbours)
    width = _kernel_width(distances, sigma)
    scaled = np.divide(distances, width, out=np.zeros_like(distances), where=distances > 0)
    weights = np.maximum(np.exp(-(scaled**2)), np.finfo(np.float64).tiny)
    rows = np.repeat(np.arange(n), k)
    one_way = sp.coo_array((weights.ravel(), (rows, neighbours.ravel())), shape=(n, n)).tocsr()
    return Graph(one_way.maximum(one_way.T))


def _checked_features(X: Any) -> Any:
    try:
        return check_array(X, accept_sparse="csr", dtype=np.float64)
    except ValueError as error:
        raise InputError(f"X cannot be used as a table of features: {error}") from error


def _distances(X: Any, neighbours: NDArray[np.intp]) -> NDArray[np.float64]:
    """Distances (N, k) from the differences themselves.

    The search expands ‖x−y‖² = ‖x‖² − 2xᵀy + ‖y‖², which loses the digits of small distances and may give
    the two directions of one edge different values.
    """
    distances = np.empty(neighbours.shape)
    for column in range(neighbours.shape[1]):
        difference = X - X[neighbours[:, column]]
        squared = difference.multiply(difference) if sp.issparse(difference) else difference * difference
        distances[:, column] = np.sqrt(np.asarray(squared.sum(axis=1)).reshape(-1))
    return distances


def _kernel_width(distances: NDArray[np.float64], sigma: float | Literal["mean"]) -> float:
    if sigma == "mean":
        n, k = distances.shape
        return float(distances.sum() / (n * (k + 1)))
    if not isinstance(sigma, int | float | np.number) or not (np.isfinite(sigma) and sigma > 0):
        raise InputError(f'sigma is {sigma!r}, but it must be a positive number or "mean"')
    return float(sigma)
