"""Time and memory of building graphs, for an increasing number of points."""

import time
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from s2gnn.graphs import Graph, diffuse, knn_graph, largest_component, smooth_graph
from s2gnn.resources import in_own_process, peak_bytes

SIZES = (12_500, 25_000, 50_000, 100_000)
FEATURES = 64
K = 30


@dataclass(frozen=True)
class GraphTiming:
    """One graph, built in a separate process.

    Attributes:
        peak_mib: peak resident memory of the process.
        note: recall of the search and iterations of the learning, where they apply.
    """

    what: str
    points: int
    seconds: float
    peak_mib: float
    edges: int
    note: str


def points_on_clusters(n: int, seed: int = 0) -> NDArray[np.float32]:
    """`n` points in 64 dimensions around 100 centres, each cluster stretched along 10 directions."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(100, FEATURES))
    directions = rng.normal(size=(100, 10, FEATURES)) / np.sqrt(FEATURES)
    cluster = rng.integers(100, size=n)
    along = rng.normal(size=(n, 10))
    spread = np.einsum("nd,ndf->nf", along, directions[cluster], optimize=True)
    points: NDArray[np.float32] = (centres[cluster] + spread + 0.1 * rng.normal(size=(n, FEATURES))).astype(np.float32)
    return points


def time_graph(what: str, n: int, edge_index: NDArray[np.int64] | None = None) -> GraphTiming:
    """Build the "k-NN" or "learned" graph of `n` points, or the "diffusion" of the `n` nodes of `edge_index`."""
    return in_own_process(_time_graph, what, n, edge_index)


def _time_graph(what: str, n: int, edge_index: NDArray[np.int64] | None) -> GraphTiming:
    notes: list[str] = []
    if edge_index is not None:
        component, _ = largest_component(Graph.from_edge_index(edge_index, n_nodes=n))
        n, build = component.n_nodes, partial(diffuse, component)  # teleport 0.05, top 128
    elif what == "k-NN":
        build = partial(knn_graph, points_on_clusters(n), K, report=lambda i: notes.append(f"recall {i.recall:.3f}"))
    else:
        note = "recall {0.recall:.3f}, {0.iterations} iterations"
        build = partial(smooth_graph, points_on_clusters(n), K, report=lambda i: notes.append(note.format(i)))
    start = time.perf_counter()
    graph = build()
    seconds = time.perf_counter() - start
    return GraphTiming(what, n, seconds, peak_bytes() / 2**20, graph.n_edges, ", ".join(notes))
