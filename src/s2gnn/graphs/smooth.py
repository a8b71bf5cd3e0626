"""A graph learned from data on which the features are smooth (Kalofolias 2016; Kalofolias and Perraudin 2019)."""

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise, repeat
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.exceptions import ConvergenceWarning

from s2gnn.errors import InputError
from s2gnn.graphs.features import checked_features, squared_distances
from s2gnn.graphs.graph import Graph
from s2gnn.graphs.neighbours import Method, nearest_neighbours
from s2gnn.graphs.validation import check_choice
from s2gnn.progress import progress_bar

CANDIDATES_PER_NEIGHBOUR = 4
PAIRS_AT_ONCE = 2**15
THREADS = 2


@dataclass(frozen=True)
class SmoothInfo:
    """Information on the learning of a graph.

    Attributes:
        theta: factor of the squared distances, chosen to give about k neighbours.
        n_candidates: number of candidate pairs.
        iterations: number of iterations.
        residual: larger relative change of the primal and dual variables in the last iteration.
        converged: whether `residual` fell below the tolerance.
        recall: recall of the search for candidates, see `Neighbours`.
    """

    theta: float
    n_candidates: int
    iterations: int
    residual: float
    converged: bool
    recall: float


def smooth_graph(
    X: Any,
    k: int,
    *,
    candidates: int | Literal["all"] | None = None,
    step: Literal["candidates", "all-pairs"] = "candidates",
    tolerance: float = 1e-5,
    max_iter: int = 20_000,
    threshold: float = 1e-4,
    scale: float | Literal["learned", "max"] = "learned",
    method: Method = "auto",
    progress: bool = False,
    report: Callable[[SmoothInfo], object] | None = None,
) -> Graph:
    r"""Learn the weighted graph on which the rows of `X` are smoothest, with about `k` neighbours for each row.

    .. math::
        \min_{W \ge 0,\, W = W^T,\, \mathrm{diag}\, W = 0}
            \|W \circ \theta Z\|_{1,1} - 1^T \log(W 1) + \tfrac12 \|W\|_F^2,
        \qquad Z_{ij} = \|x_i - x_j\|^2,

    which is solved by a forward–backward–forward primal–dual method; θ is computed from `k` and the distances to the
    nearest neighbours. The logarithm ensures positive degrees, so a solution has no isolated nodes.

    **Scale of the weights.** The scale does not depend on the units of `X`: a typical degree is between 0.5 and 4 (it
    grows with `k`), and weights are below 1. ε = 1 in `SobolevOperator` is therefore of the order of a degree; `scale`
    multiplies the weights to change them relative to ε.

    Args:
        X: features (N, M), a dense array or a SciPy sparse matrix; all values finite.
        k: desired number of neighbours, 1 ≤ k ≤ N − 2.
        candidates: only pairs of a row and this number of its nearest rows can become edges; the default, 4k, gives the
            same edges as "all".
        step: the step size is 0.5/(2 + ‖S‖) with the incidence matrix S of nodes and candidate pairs. "all-pairs" uses
            ‖S‖ of the complete graph instead, which gives the smaller steps of the published results, some of which had
            not converged.
        tolerance: stop when the relative changes of the primal and dual variables are below this value.
        max_iter: maximum number of iterations; a warning is issued if it is reached.
        threshold: smaller weights are dropped.
        scale: "learned" keeps the weights, "max" divides them by the largest, a number multiplies them.
        method: method of the search for candidates, see `knn_graph`.
        progress: show a bar.
        report: function called with a `SmoothInfo` at the end, e.g. `print`.
    """
    X = checked_features(X)
    n = X.shape[0]
    if not isinstance(k, int | np.integer) or not 1 <= k <= n - 2:
        raise InputError(f"k is {k}, but a graph learned on {n} rows has 1 <= k <= {n - 2} neighbours")
    if candidates not in (None, "all") and not (isinstance(candidates, int | np.integer) and candidates > k):
        raise InputError(f'candidates is {candidates!r}, but it must be an integer above k = {k}, or "all"')
    check_choice("step", step, ("candidates", "all-pairs"))
    if not tolerance > 0 or max_iter < 1:
        raise InputError(f"tolerance is {tolerance} and max_iter is {max_iter}, but they must be > 0 and >= 1")
    if scale not in ("learned", "max") and not (isinstance(scale, int | float) and scale > 0):
        raise InputError(f'scale is {scale!r}, but it must be "learned", "max" or a positive number')
    if candidates is None:
        candidates = CANDIDATES_PER_NEIGHBOUR * k
    n_nearest = n - 1 if candidates == "all" else min(candidates, n - 1)
    found = nearest_neighbours(X, n_nearest, method="exact" if candidates == "all" else method, progress=progress)
    theta = _theta(found.distances**2, k)
    pairs = _pairs(found.indices)
    z = theta * squared_distances(X, *pairs.T)
    with progress_bar("learning the graph", shown=progress) as show:
        w, iterations, residual = _minimise(pairs, z, n, step, tolerance, max_iter, show)
    info = SmoothInfo(theta, len(pairs), iterations, residual, residual < tolerance, found.recall)
    if not info.converged:
        warnings.warn(
            f"the learned graph has not converged: after {iterations:,} iterations the relative change is "
            f"{residual:.1e}, above the tolerance {tolerance:.1e}; increase max_iter, or remove outlying rows",
            ConvergenceWarning,
            stacklevel=2,
        )
    kept = w >= threshold
    weights = w[kept]
    if scale != "learned" and len(weights):
        weights = weights / weights.max() if scale == "max" else weights * float(scale)
    if report is not None:
        report(info)
    return Graph.from_edge_list(pairs[kept], weights, n)


def _theta(z: NDArray[np.float64], k: int) -> float:
    """Return the geometric mean of the bounds between which a row has k neighbours, z (N, ≥ k + 1) sorted rows.

    θ_up(k) is the mean over rows of 1/√(k z_k² − B_k z_k), B_k the sum of the k smallest. A row whose k
    nearest are all at one distance, such as copies, has no finite bound and is excluded from the mean.
    """

    def upper(k: int) -> float:
        spread = k * z[:, k - 1] ** 2 - z[:, :k].sum(axis=1) * z[:, k - 1]
        distinct = spread > 1e-12 * k * z[:, k - 1] ** 2
        if not distinct.any():
            raise InputError(
                f"the {k} nearest neighbours of every row are all at the same distance, so no scale can be learned: "
                "remove duplicate rows or constant features, or choose a larger k"
            )
        return float(np.mean(1 / np.sqrt(spread[distinct])))

    if k == 1:  # θ_up(1) is infinite for every row
        return 1.1 * upper(2)
    return float(np.sqrt(upper(k) * upper(k + 1)))


def _pairs(neighbours: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return every pair (i, j), i < j, of which one lists the other, (m, 2) in row order."""
    n, width = neighbours.shape
    rows = np.repeat(np.arange(n), width)
    columns = neighbours.ravel()
    keys = np.sort(np.minimum(rows, columns) * n + np.maximum(rows, columns))
    keys = keys[np.diff(keys, prepend=-1) > 0]  # np.unique takes several times as long
    return np.stack(np.divmod(keys, n), axis=1)


def _minimise(
    pairs: NDArray[np.int64],
    z: NDArray[np.float64],
    n: int,
    step: Literal["candidates", "all-pairs"],
    tolerance: float,
    max_iter: int,
    show: Callable[[float], None],
) -> tuple[NDArray[np.float64], int, float]:
    """Return weights w (m,) of the candidate pairs, the number of iterations and the last relative change.

    In the letters of the papers: 2wᵀz − 1ᵀlog(Sw) + ‖w‖² over w ≥ 0, with S (n, m) the incidence matrix of
    nodes and pairs, so that Sw are the degrees; v (n,) is the dual variable. An iteration with step size g is

        p = max(0, (1 − 2g)w − g Sᵀv − 2gz)         p̄ = (ȳ − √(ȳ² + 4g)) / 2,  ȳ = v + g Sw
        w += (1 − 2g)(p − w) + g Sᵀ(v − p̄)          v += p̄ − ȳ + g Sp
    """
    starts = np.searchsorted(pairs[:, 0], np.arange(n + 1))
    Z = sp.csr_array((z, pairs[:, 1], starts), shape=(n, n))
    norm = np.sqrt(2 * (n - 1)) if step == "all-pairs" else _incidence_norm(Z)
    g = 0.5 / (2 + norm)
    n_shares = min(THREADS, 1 + len(pairs) // (4 * PAIRS_AT_ONCE))
    cuts = np.searchsorted(starts, np.linspace(0, len(pairs), n_shares + 1))
    shares = [_Share(Z[first:last], first, g) for first, last in pairwise(cuts)]
    v, degrees = np.zeros(n), np.zeros(n)
    residual = np.inf
    with ThreadPoolExecutor(THREADS) as pool:
        for iteration in range(1, max_iter + 1):
            y_dual = v + g * degrees
            p_dual = (y_dual - np.sqrt(y_dual**2 + 4 * g)) / 2
            p_degrees = sum(pool.map(_Share.set_p, shares, repeat(-g * v)))
            change_dual = p_dual - y_dual + g * p_degrees
            moves = pool.map(_Share.move_w, shares, repeat(g * (v - p_dual)))
            degrees, change, size = (sum(of_shares) for of_shares in zip(*moves, strict=True))
            residual = max(_relative(change, size), _relative(_square(change_dual), _square(v)))
            v += change_dual
            if residual < tolerance:
                break
            if iteration % 50 == 0:
                show(min(max(np.log(residual) / np.log(tolerance), iteration / max_iter), 1.0))
    return np.concatenate([share.w for share in shares]), iteration, residual


class _Share:
    """The pairs of a range of rows, which one thread updates in chunks that stay in the cache.

    Args:
        Z: (rows, n), the stored values are z.
        first: number of the first row.
        g: step size.
    """

    def __init__(self, Z: sp.csr_array, first: int, g: float) -> None:
        self.g = g
        self.shrink = 2 * g * Z.data
        self.w, self.p = np.zeros(Z.nnz), np.zeros(Z.nnz)
        self.W, self.P = (sp.csr_array((values, Z.indices, Z.indptr), shape=Z.shape) for values in (self.w, self.p))
        self.first, self.counts, self.columns = first, np.diff(Z.indptr), np.asarray(Z.indices, dtype=np.intp)
        cuts = np.append(np.searchsorted(Z.indptr, np.arange(0, Z.nnz, PAIRS_AT_ONCE)), Z.shape[0])
        self.chunks = [(slice(*rows), slice(*Z.indptr[list(rows)])) for rows in pairwise(np.unique(cuts))]
        self.buffer = np.empty((2, max((pairs.stop - pairs.start for _, pairs in self.chunks), default=0)))

    def set_p(self, descent: NDArray[np.float64]) -> NDArray[np.float64]:
        """Set p = max(0, (1 − 2g)w + Sᵀdescent − 2gz) and return Sp."""
        for pairs, y, scratch in self._spread(descent):
            y += np.multiply(1 - 2 * self.g, self.w[pairs], out=scratch)
            y -= self.shrink[pairs]
            np.maximum(0.0, y, out=self.p[pairs])
        return self._degrees(self.P)

    def move_w(self, correction: NDArray[np.float64]) -> tuple[NDArray[np.float64], float, float]:
        """Add (1 − 2g)(p − w) + Sᵀcorrection to w; return Sw, ‖change‖² and ‖w‖² before the change."""
        changes = sizes = 0.0
        for pairs, change, scratch in self._spread(correction):
            w = self.w[pairs]
            np.subtract(self.p[pairs], w, out=scratch)
            scratch *= 1 - 2 * self.g
            change += scratch
            changes += _square(change)
            sizes += _square(w)
            w += change
        return self._degrees(self.W), changes, sizes

    def _spread(self, values: NDArray[np.float64]) -> Iterator[tuple[slice, NDArray[np.float64], NDArray[np.float64]]]:
        """Yield each chunk's pairs, Sᵀvalues, the sum over the two nodes of a pair, and memory of the same length."""
        own = values[self.first :]
        for rows, pairs in self.chunks:
            sums, scratch = self.buffer[:, : pairs.stop - pairs.start]
            np.take(values, self.columns[pairs], out=sums, mode="clip")  # other modes go through a copy
            sums += np.repeat(own[rows], self.counts[rows])
            yield pairs, sums, scratch

    def _degrees(self, matrix: sp.csr_array) -> NDArray[np.float64]:
        """Return S of the stored values, (n,)."""
        rows, n = matrix.shape
        degrees: NDArray[np.float64] = matrix.T @ np.ones(rows)
        degrees[self.first : self.first + rows] += matrix @ np.ones(n)
        return degrees


def _incidence_norm(Z: sp.csr_array) -> float:
    """Return ‖S‖, the root of the largest eigenvalue of S Sᵀ = U + Uᵀ + D: U has ones on the pairs, D their numbers."""
    U = sp.csr_array((np.ones(Z.nnz), Z.indices, Z.indptr), shape=Z.shape)
    ones = np.ones(Z.shape[0])
    counts = U @ ones + U.T @ ones
    gram = LinearOperator(Z.shape, lambda x: U @ x + U.T @ x + counts * x, dtype=np.float64)
    return float(np.sqrt(eigsh(gram, k=1, v0=ones, return_eigenvectors=False)[0]))


def _square(values: NDArray[np.float64]) -> float:
    return float(np.einsum("i,i", values, values))  # not BLAS, whose threads cost more than they bring at this size


def _relative(change: float, size: float) -> float:
    """Return the square root of a ratio of squares."""
    return float(np.sqrt(change / size)) if size > 0 else np.inf
