"""The graph that an estimator is trained on, and the rule that joins new rows to it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from s2gnn.errors import InputError
from s2gnn.estimator.attachment import Attachment, GaussianAttachment, LearnedAttachment
from s2gnn.graphs import Graph, knn_graph, smooth_graph
from s2gnn.graphs.knn import KNNInfo, gaussian_weights
from s2gnn.graphs.neighbours import nearest_neighbours
from s2gnn.graphs.smooth import CANDIDATES_PER_NEIGHBOUR, SmoothInfo
from s2gnn.nn.arguments import positive_integer

KINDS = ("knn", "smooth", "precomputed")


@dataclass(frozen=True)
class TrainingGraph:
    """A graph of the training rows.

    Attributes:
        graph: N nodes.
        attachment: how new rows are joined to it; `None` where nothing but the given graph tells rows apart.
    """

    graph: Graph
    attachment: Attachment | None


def training_graph(
    kind: str | Callable[[Any], Any], X: Any, k: int, adjacency: Any = None, *, progress: bool = False
) -> TrainingGraph:
    """The graph of the rows of `X` (N, M).

    Args:
        kind: "knn", "smooth", "precomputed" for the graph `adjacency`, or a function that makes a `Graph` or a SciPy
            sparse matrix (N, N) of `X`.
        X: features as the network sees them.
        k: number of neighbours; of few rows, as many as there are.
        adjacency: `Graph` or SciPy sparse matrix (N, N), for "precomputed" only; or a `TrainingGraph` to take as it is.
        progress: show a bar while neighbours are searched or a graph is learned.
    """
    if not callable(kind) and kind not in KINDS:
        raise InputError(f"graph is {kind!r}, but it must be one of {', '.join(KINDS)}, or a function of the features")
    if (kind == "precomputed") != (adjacency is not None):
        given = (
            "it is missing: call fit(X, y, adjacency=A)" if adjacency is None else f"graph is {kind!r}: leave it out"
        )
        raise InputError(f'the keyword adjacency of fit goes with graph="precomputed", but {given}')
    n = X.shape[0]
    k = positive_integer(k, "k")
    if isinstance(adjacency, TrainingGraph):
        return adjacency
    if kind == "precomputed":
        graph = _as_graph(adjacency, n, "adjacency")
        return TrainingGraph(graph, _comparable(X, min(k, n - 1), graph, progress) if varies(X) else None)
    if callable(kind):
        graph = _as_graph(kind(X), n, "what the function given as graph returned")
        return TrainingGraph(graph, _comparable(X, min(k, n - 1), graph, progress))
    return _learned(X, min(k, n - 2), progress) if kind == "smooth" else _nearest(X, min(k, n - 1), progress)


def varies(X: Any) -> bool:
    """Whether any column of `X` (N, M) has two values."""
    if sp.issparse(X):
        return bool((X.max(axis=0) != X.min(axis=0)).sum() > 0)
    return bool((X[0] != X).any())


def _nearest(X: Any, k: int, progress: bool) -> TrainingGraph:
    infos: list[KNNInfo] = []
    graph = knn_graph(X, k, progress=progress, report=infos.append)
    return TrainingGraph(graph, GaussianAttachment(k, infos[0].sigma))


def _learned(X: Any, k: int, progress: bool) -> TrainingGraph:
    if k < 1:
        raise InputError(f'a graph is learned from at least 3 rows, but X has {X.shape[0]}: take graph="knn"')
    infos: list[SmoothInfo] = []
    graph = smooth_graph(X, k, progress=progress, report=infos.append)
    return TrainingGraph(graph, LearnedAttachment(CANDIDATES_PER_NEIGHBOUR * k, infos[0].theta))


def _comparable(X: Any, k: int, graph: Graph, progress: bool) -> GaussianAttachment:
    """Gaussian edges that give a typical row the weighted degree that rows have in `graph`."""
    distances = nearest_neighbours(X, k, progress=progress).distances
    sigma = float(distances.sum() / (len(distances) * (k + 1)))
    degree = float(gaussian_weights(distances, sigma).sum(axis=1).mean())
    return GaussianAttachment(k, sigma, float(np.mean(graph.degrees)) / degree)


def _as_graph(given: Any, n: int, what: str) -> Graph:
    if not isinstance(given, Graph) and not sp.issparse(given):
        raise InputError(f"{what} is a {type(given).__name__}, but it must be a Graph or a SciPy sparse matrix")
    graph = given if isinstance(given, Graph) else Graph.from_scipy(given)
    if graph.n_nodes != n:
        raise InputError(f"{what} has {graph.n_nodes} nodes, but X has {n} rows: a graph has a node for each row")
    return graph
