"""The k nearest rows of every row of a table: exact search, or faiss for large tables."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from s2gnn.errors import InputError
from s2gnn.graphs.features import checked_features, squared_distances, squared_lengths, unit_rows

Metric = Literal["euclidean", "cosine"]
Method = Literal["auto", "exact", "faiss"]

EXACT_UP_TO = 50_000
# The search rounds, and breaks ties by the order of its threads: it fetches some more rows, which are then sorted by
# their true distances and, where these are equal, by their numbers.
SPARE = 10
RECALL_WANTED = 0.99
ROWS_SAMPLED = 1_000


@dataclass(frozen=True)
class Neighbours:
    """The k nearest other rows of every row.

    Attributes:
        indices: (N, k), nearest first.
        distances: (N, k), in the metric that was asked for.
        method: "exact" or "faiss".
        recall: the share of true neighbours found: 1 if exact, else measured on `ROWS_SAMPLED` rows.
    """

    indices: NDArray[np.int64]
    distances: NDArray[np.float64]
    method: Literal["exact", "faiss"]
    recall: float


def nearest_neighbours(X: Any, k: int, metric: Metric = "euclidean", method: Method = "auto") -> Neighbours:
    """Search the `k` nearest other rows of every row of `X`; deterministic.

    Args:
        X: features (N, M), dense or SciPy sparse.
        k: 1 ≤ k ≤ N − 1.
        metric: "euclidean", or "cosine" for 1 − cos of the angle between rows.
        method: "exact", "faiss" (an inverted file, approximate, for dense features; needs the extra `ann`),
            or "auto": exact up to 50,000 rows and for sparse features, faiss beyond.
    """
    X = checked_features(X)
    n = X.shape[0]
    if not isinstance(k, int | np.integer) or not 1 <= k <= n - 1:
        raise InputError(f"k is {k}, but {n} rows have at most {n - 1} neighbours each: choose 1 <= k <= {n - 1}")
    if metric not in ("euclidean", "cosine"):
        raise InputError(f'metric is {metric!r}, but it must be "euclidean" or "cosine"')
    if method not in ("auto", "exact", "faiss"):
        raise InputError(f'method is {method!r}, but it must be "auto", "exact" or "faiss"')
    if metric == "cosine":
        zero = np.flatnonzero(squared_lengths(X) == 0)
        if len(zero):
            raise InputError(f'row {zero[0]} is all zero, so it has no direction for metric="cosine": leave it out')
        X = unit_rows(X)
    if method == "auto":
        method = "exact" if n <= EXACT_UP_TO or sp.issparse(X) else "faiss"
    if not sp.issparse(X):
        X = X - X.mean(axis=0)
    spare = min(k + SPARE, n - 1)
    if method == "exact":
        indices, recall = NearestNeighbors(n_neighbors=spare).fit(X).kneighbors(return_distance=False), 1.0
    else:
        indices, recall = _search_with_faiss(X, spare)
    distances = np.sqrt(squared_distances(X, np.repeat(np.arange(n), spare), indices.ravel())).reshape(n, spare)
    order = np.lexsort((indices, distances), axis=1)[:, :k]
    indices, distances = (np.take_along_axis(a, order, axis=1) for a in (indices, distances))
    if metric == "cosine":
        distances = distances**2 / 2  # 1 − cos between unit vectors
    return Neighbours(indices, distances, method, recall)


def _search_with_faiss(X: Any, k: int) -> tuple[NDArray[np.int64], float]:
    """Indices (N, k) from an inverted file, which probes more cells until the recall wanted is reached."""
    try:
        import faiss
    except ImportError as error:
        raise InputError(
            f'{X.shape[0]:,} rows are searched with faiss, which is not installed: pip install "s2gnn[ann]", '
            'or choose method="exact"'
        ) from error
    if sp.issparse(X):
        raise InputError('faiss takes dense features only: choose method="exact" for sparse ones')
    vectors = np.ascontiguousarray(X, dtype=np.float32)
    n, width = vectors.shape
    cells = max(1, min(int(4 * np.sqrt(n)), n // 40))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(width), width, cells)
    index.train(vectors)
    index.add(vectors)
    sample = np.linspace(0, n - 1, min(n, ROWS_SAMPLED)).astype(np.int64)
    truth = _without_self(
        NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(X).kneighbors(X[sample], return_distance=False),
        sample,
    )
    index.nprobe = 8
    while True:
        found = _without_self(index.search(vectors[sample], k + 1)[1], sample)
        recall = float(np.mean([len(np.intersect1d(a, b)) / k for a, b in zip(found, truth, strict=True)]))
        if recall >= RECALL_WANTED or index.nprobe >= cells:
            break
        index.nprobe = min(2 * index.nprobe, cells)
    indices = _without_self(index.search(vectors, k + 1)[1], np.arange(n))
    return indices, recall


def _without_self(indices: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Drop each row's own index from its list (rows, k + 1), or the last entry where copies crowd it out."""
    own = indices == rows[:, None]
    own[~own.any(axis=1), -1] = True
    others: NDArray[np.int64] = indices[~own].reshape(len(rows), -1)
    return others
