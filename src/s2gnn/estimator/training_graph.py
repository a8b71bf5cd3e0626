"""The graph of the training rows, and how new rows are joined to it: one-way edges, by the rule of each graph."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from s2gnn.errors import InputError
from s2gnn.estimator.features import varies
from s2gnn.graphs import Graph, knn_graph, smooth_graph
from s2gnn.graphs.knn import KNNInfo, gaussian_weights
from s2gnn.graphs.neighbours import nearest_neighbours, nearest_rows
from s2gnn.graphs.smooth import CANDIDATES_PER_NEIGHBOUR, SmoothInfo
from s2gnn.nn.arguments import positive_integer

GraphSource: TypeAlias = str | Callable[[Any], Any] | Graph | sp.sparray | sp.spmatrix
"""One of `KINDS`, a function that makes the graph, or the graph itself."""

KINDS = ("knn", "smooth", "precomputed")
SMALLEST_LEARNED_WEIGHT = 1e-4


@dataclass(frozen=True)
class GaussianAttachment:
    """The k nearest training rows, with weights factor · exp(−d²/σ²)."""

    k: int
    sigma: float  # the width that the training graph was built with
    factor: float = 1.0  # on a graph that is not k-NN, gives a typical row the weighted degree of the training rows

    def edges(self, X: Any, degrees: NDArray[np.float64], new: Any) -> sp.csr_array:
        """Return the weights of the edges from `new` rows (Q, M) to training rows X (N, M), (Q, N)."""
        del degrees
        indices, distances = nearest_rows(X, new, min(self.k, X.shape[0]))
        return _rows(indices, self.factor * gaussian_weights(distances, self.sigma), X.shape[0])


@dataclass(frozen=True)
class LearnedAttachment:
    r"""The weights that the learned graph's objective gives to one more row while the others stay as they are.

    At the optimum of the training graph :math:`w_{ij} = \max(0, (1/d_i + 1/d_j)/2 - \theta z_{ij})`, with the weighted
    degrees d and squared distances z. A new row i takes the d_j of the training rows and its own
    :math:`d_i = \sum_j w_{ij}`. The right-hand side falls with d_i, so there is one solution: with
    :math:`s = 1/(2 d_i)` and :math:`g_j = \theta z_{ij} - 1/(2 d_j)` in ascending order, the first m are neighbours and

    .. math:: s = \frac{G_m + \sqrt{G_m^2 + 2m}}{2m}, \qquad G_m = \sum_{j \le m} g_j, \qquad g_m < s \le g_{m+1}.

    For a training row, this gives the weights that it already has.
    """

    candidates: int  # number of nearest training rows that may become neighbours
    theta: float  # the factor of squared distances that the training graph was learned with

    def edges(self, X: Any, degrees: NDArray[np.float64], new: Any) -> sp.csr_array:
        """Return the weights of the edges from `new` rows (Q, M) to training rows X (N, M), (Q, N)."""
        indices, distances = nearest_rows(X, new, min(self.candidates, X.shape[0]))
        weights = learned_weights(self.theta * distances**2, degrees[indices])
        return _rows(indices, np.where(weights < SMALLEST_LEARNED_WEIGHT, 0.0, weights), X.shape[0])


Attachment = GaussianAttachment | LearnedAttachment


def learned_weights(scaled: NDArray[np.float64], degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of `LearnedAttachment`, (Q, m), from θ z and the degrees of each new row's candidates, (Q, m).

    A candidate of degree zero, which no edge reached in training, gets none.
    """
    half = np.divide(0.5, degrees, out=np.full(degrees.shape, -np.inf), where=degrees > 0)
    g = scaled - half  # infinite where the degree is zero
    ascending = np.sort(g, axis=1)
    count = np.arange(1, g.shape[1] + 1)
    finite = np.isfinite(ascending)
    sums = np.cumsum(np.where(finite, ascending, 0.0), axis=1)
    s = (sums + np.sqrt(sums**2 + 2 * count)) / (2 * count)  # (Q, m), were the first 1..m the neighbours
    n_neighbours = np.maximum((finite & (ascending < s)).sum(axis=1), 1)
    chosen = np.take_along_axis(s, n_neighbours[:, None] - 1, axis=1)
    weights: NDArray[np.float64] = np.maximum(chosen - g, 0.0)
    return weights


def _rows(indices: NDArray[np.int64], weights: NDArray[np.float64], n: int) -> sp.csr_array:
    """Return lists of neighbours (Q, m) and their weights as a CSR array (Q, n) without zeros."""
    pointers = np.arange(0, indices.size + 1, indices.shape[1])
    edges = sp.csr_array((weights.ravel(), indices.ravel(), pointers), shape=(len(indices), n))
    edges.eliminate_zeros()
    edges.sort_indices()
    return edges


def training_graph(
    source: GraphSource, X: Any, k: int, adjacency: Any = None, *, progress: bool = False
) -> tuple[Graph, Attachment | None]:
    """Return the graph of the rows of `X` (N, M), and how new rows are joined to it.

    See `S2GNNClassifier` for `source`, its parameter `graph`, and `k`. The attachment is `None` if the rows of a given
    graph have equal features.
    """
    check_graph_arguments(source, k, adjacency)
    n, k, kind = X.shape[0], positive_integer(k, "k"), graph_kind(source)
    if kind == "knn":
        k, knn_infos = min(k, n - 1), list[KNNInfo]()
        graph = knn_graph(X, k, progress=progress, report=knn_infos.append)
        return graph, GaussianAttachment(k, knn_infos[0].sigma)
    if kind == "smooth":
        k, smooth_infos = min(k, n - 2), list[SmoothInfo]()
        if k < 1:
            raise InputError(f'a graph is learned from at least 3 rows, but X has {n}: use graph="knn"')
        graph = smooth_graph(X, k, progress=progress, report=smooth_infos.append)
        return graph, LearnedAttachment(CANDIDATES_PER_NEIGHBOUR * k, smooth_infos[0].theta)
    if callable(source):
        graph = _as_graph(source(X), n, "the return value of the function given as graph")
    else:
        given, what = (adjacency, "adjacency") if isinstance(source, str) else (source, "graph")
        graph = _as_graph(given, n, what)
    return graph, _comparable(X, min(k, n - 1), graph, progress) if varies(X) else None


def is_graph(source: Any) -> bool:
    """Return whether `source` is a graph itself: a `Graph` or a SciPy sparse matrix."""
    return isinstance(source, Graph) or sp.issparse(source)


def graph_kind(source: GraphSource) -> str:
    """Return one of `KINDS`, "precomputed" for a graph itself, or "function"."""
    if isinstance(source, str):
        return source
    return "function" if callable(source) else "precomputed"


def check_graph_arguments(source: GraphSource, k: int, adjacency: Any) -> None:
    """Raise unless the arguments of `training_graph` are consistent."""
    if not callable(source) and not is_graph(source) and not (isinstance(source, str) and source in KINDS):
        raise InputError(
            f"graph is {source!r}, but it must be one of {', '.join(KINDS)}, a Graph, a SciPy sparse matrix, or a "
            "function of the features"
        )
    if (isinstance(source, str) and source == "precomputed") != (adjacency is not None):
        kind = repr(source) if isinstance(source, str) else f"a {type(source).__name__}"
        given = "it is missing: call fit(X, y, adjacency=A)" if adjacency is None else f"graph is {kind}: omit it"
        raise InputError(f'the keyword adjacency of fit requires graph="precomputed", but {given}')
    positive_integer(k, "k")


def _comparable(X: Any, k: int, graph: Graph, progress: bool) -> GaussianAttachment:
    """Return Gaussian edges that give a typical row the weighted degree of the rows of `graph`."""
    distances = nearest_neighbours(X, k, progress=progress).distances
    sigma = float(distances.sum() / (len(distances) * (k + 1)))
    degree = float(gaussian_weights(distances, sigma).sum(axis=1).mean())
    return GaussianAttachment(k, sigma, float(np.mean(graph.degrees)) / degree)


def _as_graph(given: Any, n: int, what: str) -> Graph:
    if not is_graph(given):
        raise InputError(f"{what} is a {type(given).__name__}, but it must be a Graph or a SciPy sparse matrix")
    graph = given if isinstance(given, Graph) else Graph.from_scipy(given)
    if graph.n_nodes != n:
        raise InputError(
            f"{what} has {graph.n_nodes} nodes, but X has {n} rows: a graph has one node per row. To cross-validate, "
            "call evaluate(), which keeps all rows and hides labels"
        )
    return graph
