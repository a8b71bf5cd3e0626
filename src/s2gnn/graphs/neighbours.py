"""The k nearest rows of every row of a table: exact search, or faiss for large tables."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import row_norms

from s2gnn.errors import InputError
from s2gnn.graphs.features import checked_features, squared_distances
from s2gnn.graphs.validation import check_choice
from s2gnn.progress import progress_bar

Metric = Literal["euclidean", "cosine"]
Method = Literal["auto", "exact", "faiss"]

EXACT_UP_TO = 50_000
EXACT_WITHOUT_FAISS = 200_000
SPARE = 10
MOST_FETCHED = 4_096
RECALL_WANTED = 0.99
ROWS_AT_ONCE = 5_000
ROWS_SAMPLED = 1_000


@dataclass(frozen=True)
class Neighbours:
    """The k nearest other rows of every row.

    Attributes:
        indices: (N, k), nearest first.
        distances: (N, k), in the requested metric.
        method: "exact" or "faiss".
        recall: share of true neighbours found: 1 if exact, otherwise estimated on `ROWS_SAMPLED` rows.
    """

    indices: NDArray[np.int64]
    distances: NDArray[np.float64]
    method: Literal["exact", "faiss"]
    recall: float


def nearest_neighbours(
    X: Any, k: int, metric: Metric = "euclidean", method: Method = "auto", *, progress: bool = False
) -> Neighbours:
    """Find the `k` nearest other rows of every row of `X`.

    The exact search does not depend on the number of threads: ties go to the smaller index (except for ties among more
    than 4,096 rows). Results of faiss are reproducible for the same number of threads.

    Args:
        X: features (N, M), dense or SciPy sparse.
        k: 1 ≤ k ≤ N − 1.
        metric: "euclidean", or "cosine" for 1 − cos of the angle between rows.
        method: "exact", "faiss" (approximate inverted-file search on dense features; requires the extra `ann`), or
            "auto": exact for sparse features and up to 50,000 rows (200,000 if faiss is not installed), faiss for more.
        progress: show a bar.
    """
    X = checked_features(X)
    n = X.shape[0]
    if n < 2:
        raise InputError(f"a graph of neighbours needs at least 2 rows, but X has {n}")
    if not isinstance(k, int | np.integer) or not 1 <= k <= n - 1:
        raise InputError(f"k is {k}, but {n} rows have at most {n - 1} neighbours each: choose 1 <= k <= {n - 1}")
    check_choice("metric", metric, get_args(Metric))
    check_choice("method", method, get_args(Method))
    if metric == "cosine":
        zero = np.flatnonzero(row_norms(X) == 0)
        if len(zero):
            raise InputError(f'row {zero[0]} is all zero, so it has no direction for metric="cosine": remove it')
        X = normalize(X)
    if method == "auto":
        up_to = EXACT_UP_TO if find_spec("faiss") else EXACT_WITHOUT_FAISS
        method = "exact" if sp.issparse(X) or n <= up_to else "faiss"
    if not sp.issparse(X):
        X = X - X.mean(axis=0)
    with progress_bar("finding neighbours", shown=progress) as show:
        if method == "exact":
            indices, distances = _search_exactly(X, k, show=show)
            recall = 1.0
        else:
            indices, distances, recall = _search_with_faiss(X, k, show)
    if metric == "cosine":
        distances = distances**2 / 2  # 1 − cos between unit vectors
    return Neighbours(indices, distances, method, recall)


def nearest_rows(X: Any, queries: Any, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return indices and Euclidean distances (Q, k) of the `k` rows of `X` (N, M) nearest to each of `queries` (Q, M).

    The search is exact; ties go to the smaller index. Both arguments are results of `checked_features`, both dense or
    both sparse. A row of `X` that equals a query is included, at distance zero.
    """
    if not 1 <= k <= X.shape[0]:
        raise InputError(f"k is {k}, but X has {X.shape[0]} rows: choose 1 <= k <= {X.shape[0]}")
    if not sp.issparse(X):
        centre = X.mean(axis=0)
        X, queries = X - centre, queries - centre
    return _search_exactly(X, k, queries)


def _search_exactly(
    X: Any, k: int, queries: Any = None, show: Callable[[float], None] = lambda _: None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return indices and distances (N, k), sorted by distance and, where these are equal, by index.

    Searches neighbours of `queries` in `X`; by default, of each row of `X` among the other rows. The underlying search
    rounds distances and breaks ties arbitrarily, so more than k rows are fetched (doubled for rows with more ties) and
    sorted here. `show` is called with the share of finished rows.
    """
    own = queries is None
    starts = X if own else queries
    n, available = starts.shape[0], X.shape[0] - own
    search = NearestNeighbors().fit(X)
    indices, distances = np.empty((n, k), dtype=np.int64), np.empty((n, k))
    for unsettled in _blocks(n):
        done, fetched = (unsettled[-1] + 1) / n, min(k + SPARE, available)
        while len(unsettled):
            found = search.kneighbors(starts[unsettled], n_neighbors=fetched + own, return_distance=False)
            found, lengths = _sorted(X, unsettled, _without_self(found, unsettled) if own else found, starts)
            indices[unsettled], distances[unsettled] = found[:, :k], lengths[:, :k]
            if fetched >= min(available, MOST_FETCHED):
                break
            unsettled = unsettled[lengths[:, -1] <= (1 + 1e-9) * lengths[:, k - 1]]
            fetched = min(2 * fetched, available)
        show(done)
    return indices, distances


def _blocks(n: int) -> Iterator[NDArray[np.int64]]:
    """Yield the rows 0..n−1 in blocks that are small enough to report progress."""
    for start in range(0, n, ROWS_AT_ONCE):
        yield np.arange(start, min(start + ROWS_AT_ONCE, n))


def _sorted(
    X: Any, rows: NDArray[np.int64], found: NDArray[np.int64], starts: Any = None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the lists `found` (rows, m) in the order of true distance and index, and these distances.

    The distances are from `rows` of the table `starts`, by default `X`.
    """
    repeated = np.repeat(rows, found.shape[1])
    squares = squared_distances(X if starts is None else starts, repeated, found.ravel(), X)
    distances = np.sqrt(squares).reshape(found.shape)
    order = np.lexsort((found, distances), axis=1)
    return np.take_along_axis(found, order, axis=1), np.take_along_axis(distances, order, axis=1)


def _search_with_faiss(
    X: Any, k: int, show: Callable[[float], None]
) -> tuple[NDArray[np.int64], NDArray[np.float64], float]:
    """Return indices, distances and recall of an inverted file, probing more cells until the recall is reached."""
    try:
        import faiss
    except ImportError as error:
        raise InputError(
            f'{X.shape[0]:,} rows are searched with faiss, which is not installed: pip install "s2gnn[ann]", '
            'or choose method="exact"'
        ) from error
    if sp.issparse(X):
        raise InputError('faiss only supports dense features: choose method="exact" for sparse ones')
    vectors = np.ascontiguousarray(X, dtype=np.float32)
    n, width = vectors.shape
    cells = max(1, min(int(4 * np.sqrt(n)), n // 40))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(width), width, cells)
    index.train(vectors)
    index.add(vectors)
    exact = NearestNeighbors(algorithm="brute").fit(X)

    def search(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        found = index.search(vectors[rows], k + 1)[1]
        short = (found < 0).any(axis=1)  # the cells probed hold fewer than k rows
        if short.any():
            found[short] = exact.kneighbors(X[rows[short]], n_neighbors=k + 1, return_distance=False)
        return _sorted(X, rows, _without_self(found, rows))

    sample = np.linspace(0, n - 1, min(n, ROWS_SAMPLED)).astype(np.int64)
    truth = exact.kneighbors(X[sample], n_neighbors=k + 1, return_distance=False)
    _, true_distances = _sorted(X, sample, _without_self(truth, sample))
    index.nprobe = min(8, cells)
    while True:
        # As near as the k-th true neighbour is as good: among copies, which one is listed does not matter.
        recall = float(np.mean(search(sample)[1] <= (1 + 1e-6) * true_distances[:, -1:]))
        if recall >= RECALL_WANTED or index.nprobe >= cells:
            break
        index.nprobe = min(2 * index.nprobe, cells)
    indices, distances = np.empty((n, k), dtype=np.int64), np.empty((n, k))
    for rows in _blocks(n):
        indices[rows], distances[rows] = search(rows)
        show((rows[-1] + 1) / n)
    return indices, distances, recall


def _without_self(indices: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Drop each row's own index from its list (rows, k + 1), or the last entry if duplicates displaced it."""
    own = indices == rows[:, None]
    own[~own.any(axis=1), -1] = True
    others: NDArray[np.int64] = indices[~own].reshape(len(rows), -1)
    return others
