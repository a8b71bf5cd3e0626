"""The graph of a model as it is drawn: which rows, where, and which edges."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import dijkstra
from scipy.sparse.linalg import eigsh
from sklearn.manifold import TSNE

from s2gnn.graphs import Graph

MOST_ROWS = 1_500
MOST_EDGES = 6_000
JOINED = 3  # edges of a row that stands for others
HEIGHTS = (0.45, 0.75)  # of the picture, relative to its width
PERPLEXITY = 15.0


@dataclass(frozen=True)
class DrawnGraph:
    """A graph laid out in the plane.

    Attributes:
        rows: that are drawn, ascending, (m,).
        positions: of these in a rectangle of width 1, (m, 2).
        pairs: the edges that are drawn, by places in `rows`, (E, 2).
        sampled: whether each of the rows stands for those around it.
        whole: whether every edge of the graph is drawn.
    """

    rows: NDArray[np.int64]
    positions: NDArray[np.float64]
    pairs: NDArray[np.int64]
    sampled: bool
    whole: bool


def draw_graph(graph: Graph, wanted: NDArray[np.int64], limit: int = MOST_ROWS) -> DrawnGraph:
    """Lay a graph out so that rows that are near along its edges are near in the plane.

    Of a graph with more nodes than `limit`, some are drawn: of those `wanted`, the first ones, up to a third of the
    limit, and others at random. Every row belongs to the drawn one that is nearest along the edges, and two drawn rows
    are joined if rows that belong to them are; each is shown with its strongest such edges.

    Args:
        graph: N nodes.
        wanted: nodes that should be drawn, the most wanted first.
        limit: at most so many nodes.
    """
    adjacency = graph.to_scipy()
    sampled = graph.n_nodes > limit
    rows = np.arange(graph.n_nodes)
    if sampled:
        rows = _sample(graph.n_nodes, wanted, limit)
        adjacency = _joined_cells(adjacency, rows)
    strongest = JOINED if sampled else MOST_EDGES // max(len(rows), 1)
    whole = not sampled and adjacency.nnz <= 2 * MOST_EDGES
    drawn = adjacency if whole else _strongest(adjacency, strongest)
    upper = sp.triu(drawn, 1).tocoo()
    pairs = np.stack([upper.row, upper.col], axis=1).astype(np.int64)
    return DrawnGraph(rows, positions(adjacency), pairs, sampled, whole)


def _sample(n: int, wanted: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    first = wanted[: limit // 3]
    others = np.setdiff1d(np.arange(n), first)
    drawn = np.random.default_rng(0).permutation(others)[: limit - len(first)]
    return np.sort(np.concatenate([first, drawn]))


def _joined_cells(adjacency: sp.csr_array, rows: NDArray[np.int64]) -> sp.csr_array:
    """The graph (m, m) of the rows, each with all nodes that are nearest to it, by the sums of weights between them."""
    _, _, nearest = dijkstra(_lengths(adjacency), indices=rows, min_only=True, return_predecessors=True)
    reached = np.flatnonzero(nearest >= 0)
    cells = np.searchsorted(rows, nearest[reached])
    members = sp.csr_array((np.ones(len(reached)), (reached, cells)), shape=(adjacency.shape[0], len(rows)))
    joined = sp.csr_array(members.T @ adjacency @ members)
    joined.setdiag(0)
    joined.eliminate_zeros()
    return joined


def _strongest(adjacency: sp.csr_array, count: int) -> sp.csr_array:
    """The edges that are among the `count` strongest of one of their ends."""
    ends = np.repeat(np.arange(adjacency.shape[0]), np.diff(adjacency.indptr))
    order = np.lexsort((adjacency.indices, -adjacency.data, ends))
    place = np.arange(len(order)) - adjacency.indptr[ends[order]]
    kept = order[place < count]
    chosen = sp.csr_array((adjacency.data[kept], (ends[kept], adjacency.indices[kept])), shape=adjacency.shape)
    return sp.csr_array(chosen.maximum(chosen.T))


def _lengths(adjacency: sp.csr_array) -> sp.csr_array:
    """The length of every edge: 1 for the strongest, more for weaker ones by the logarithm of their weight."""
    heaviest = adjacency.data.max(initial=1e-300)
    lengths = 1 - np.log(adjacency.data / heaviest)
    return sp.csr_array((lengths, adjacency.indices, adjacency.indptr), shape=adjacency.shape)


def positions(adjacency: sp.csr_array) -> NDArray[np.float64]:
    """Places (m, 2) in a rectangle of width 1, by t-SNE of the distances along edges; the same for the same graph."""
    m = adjacency.shape[0]
    if m < 5:
        turn = 2 * np.pi * np.arange(m) / m
        return 0.5 + np.stack([0.5 * np.cos(turn), 0.3 * np.sin(turn)], axis=1)
    distances = dijkstra(_lengths(adjacency))
    connected = np.isfinite(distances)
    distances[~connected] = 1.5 * max(distances[connected].max(), 1.0)
    layout = TSNE(  # the exaggeration is mild, so that parts of the graph do not drift far apart
        metric="precomputed",
        perplexity=min(PERPLEXITY, (m - 1) / 3),
        early_exaggeration=4.0,
        init=_start(distances),
        max_iter=500,
        random_state=0,
    )
    found = layout.fit_transform(distances).astype(np.float64)
    axes = np.linalg.svd(found - found.mean(axis=0), full_matrices=False)[2]
    turned = (found - found.mean(axis=0)) @ _with_fixed_signs(axes.T)
    low, spread = turned.min(axis=0), np.maximum(np.ptp(turned, axis=0), 1e-12)
    return np.asarray((turned - low) / spread * [1.0, np.clip(spread[1] / spread[0], *HEIGHTS)])


def _start(distances: NDArray[np.float64]) -> NDArray[np.float32]:
    """Classical scaling of distances (m, m) to the plane, as small as t-SNE wants to begin."""
    squares = distances**2
    means = squares.mean(axis=0)
    products = -0.5 * (squares - means - means[:, None] + means.mean())
    values, vectors = eigsh(products, k=2, v0=np.linspace(-1.0, 1.0, len(products)))
    start = _with_fixed_signs(vectors[:, ::-1]) * np.sqrt(np.maximum(values[::-1], 0.0))
    return np.asarray(1e-4 * start / max(float(start[:, 0].std()), 1e-12), dtype=np.float32)


def _with_fixed_signs(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns (m, 2) whose entry of the largest size is positive."""
    largest = np.abs(columns).argmax(axis=0)
    signs = np.sign(columns[largest, np.arange(columns.shape[1])])
    return columns * np.where(signs == 0, 1.0, signs)
