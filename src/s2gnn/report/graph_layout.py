"""Layout of a model's graph in the plane: which rows are drawn, where, and with which edges."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

from s2gnn.graphs import Graph

MAX_ROWS = 1_500
MAX_EDGES = 6_000
EDGES_OF_A_SAMPLED_ROW = 3
ASPECT_RATIOS = (0.45, 0.75)  # height over width
PERPLEXITY = 15.0


@dataclass(frozen=True)
class GraphLayout:
    """A graph laid out in the plane."""

    rows: NDArray[np.int64]  # drawn, ascending, (m,)
    positions: NDArray[np.float64]  # of these in a rectangle of width 1, (m, 2)
    pairs: NDArray[np.int64]  # the drawn edges, by index into `rows`, (E, 2)
    sampled: bool  # each row represents those around it
    complete: bool  # every edge of the graph is drawn


def lay_out(graph: Graph, wanted: NDArray[np.int64], limit: int = MAX_ROWS) -> GraphLayout:
    """Lay out a graph so that rows that are close along its edges are close in the plane.

    A graph with more than `limit` nodes is sampled: the first of the `wanted` nodes, up to a third of the limit, and
    random others. Every node belongs to the closest sampled one along the edges; two sampled nodes are connected if
    nodes that belong to them are, and each keeps its strongest edges.
    """
    adjacency, rows = graph.to_scipy(), np.arange(graph.n_nodes)
    sampled = graph.n_nodes > limit
    if sampled:
        rows = _sample(graph.n_nodes, wanted, limit)
        adjacency = _coarsened(adjacency, rows)
    complete = not sampled and adjacency.nnz <= 2 * MAX_EDGES
    count = EDGES_OF_A_SAMPLED_ROW if sampled else MAX_EDGES // max(len(rows), 1)
    upper = sp.triu(adjacency if complete else _strongest(adjacency, count), 1).tocoo()
    pairs = np.stack([upper.row, upper.col], axis=1).astype(np.int64)
    return GraphLayout(rows, _positions(adjacency), pairs, sampled, complete)


def _sample(n: int, wanted: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    first = wanted[: limit // 3]
    others = np.random.default_rng(0).permutation(np.setdiff1d(np.arange(n), first))
    return np.sort(np.concatenate([first, others[: limit - len(first)]]))


def _coarsened(adjacency: sp.csr_array, rows: NDArray[np.int64]) -> sp.csr_array:
    """Contract a graph to `rows`, each with the nodes closest to it, (m, m); weights between groups are summed."""
    _, _, nearest = dijkstra(_lengths(adjacency), indices=rows, min_only=True, return_predecessors=True)
    reached = np.flatnonzero(nearest >= 0)
    clusters = np.searchsorted(rows, nearest[reached])
    members = sp.csr_array((np.ones(len(reached)), (reached, clusters)), shape=(adjacency.shape[0], len(rows)))
    coarse = sp.csr_array(members.T @ adjacency @ members)
    coarse.setdiag(0)
    coarse.eliminate_zeros()
    return coarse


def _strongest(adjacency: sp.csr_array, count: int) -> sp.csr_array:
    """Return the edges that are among the `count` strongest of one of their ends."""
    ends = np.repeat(np.arange(adjacency.shape[0]), np.diff(adjacency.indptr))
    order = np.lexsort((adjacency.indices, -adjacency.data, ends))
    rank = np.arange(len(order)) - adjacency.indptr[ends[order]]
    kept = order[rank < count]
    chosen = sp.csr_array((adjacency.data[kept], (ends[kept], adjacency.indices[kept])), shape=adjacency.shape)
    return sp.csr_array(chosen.maximum(chosen.T))


def _lengths(adjacency: sp.csr_array) -> sp.csr_array:
    """Return the length of every edge: 1 for the strongest, growing with the negative logarithm of the weight."""
    lengths = 1 - np.log(adjacency.data / adjacency.data.max(initial=1e-300))
    return sp.csr_array((lengths, adjacency.indices, adjacency.indptr), shape=adjacency.shape)


def _positions(adjacency: sp.csr_array) -> NDArray[np.float64]:
    """Return positions (m, 2) in a rectangle of width 1, by t-SNE of the distances along edges; deterministic."""
    m = adjacency.shape[0]
    if m < 5:
        angle = 2 * np.pi * np.arange(m) / m
        return 0.5 + np.stack([0.5 * np.cos(angle), 0.3 * np.sin(angle)], axis=1)
    distances = dijkstra(_lengths(adjacency))
    connected = np.isfinite(distances)
    distances[~connected] = 1.5 * max(distances[connected].max(), 1.0)
    layout = TSNE(  # mild exaggeration keeps components from drifting far apart
        metric="precomputed",
        perplexity=min(PERPLEXITY, (m - 1) / 3),
        early_exaggeration=4.0,
        init=_initial(distances),
        max_iter=500,
        random_state=0,
    )
    found = layout.fit_transform(distances).astype(np.float64)
    turned = PCA(2).fit_transform(found)  # along the axes of the page
    low, extent = turned.min(axis=0), np.maximum(np.ptp(turned, axis=0), 1e-12)
    return np.asarray((turned - low) / extent * [1.0, np.clip(extent[1] / extent[0], *ASPECT_RATIOS)])


def _initial(distances: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the principal components of the rows of distances (m, m), scaled down for t-SNE to start from."""
    start = PCA(2, svd_solver="arpack", random_state=0).fit_transform(distances)
    return np.asarray(1e-4 * start / max(float(start[:, 0].std()), 1e-12), dtype=np.float32)
