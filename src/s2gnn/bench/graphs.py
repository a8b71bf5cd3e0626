"""How the time and memory of building graphs grow with the number of points."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from s2gnn.graphs import Graph, diffuse, knn_graph, largest_component, smooth_graph
from s2gnn.resources import in_own_process, peak_bytes

FEATURES = 64
K = 30


@dataclass(frozen=True)
class GraphTiming:
    """One measurement, each in a process of its own.

    Attributes:
        what: the graph that was built.
        points: number of points.
        seconds: wall-clock time.
        peak_mib: the largest resident memory of the process, MiB.
        edges: of the graph.
        note: the recall of the search and the iterations of the learning, where they apply.
    """

    what: str
    points: int
    seconds: float
    peak_mib: float
    edges: int
    note: str


def points_on_clusters(n: int, seed: int = 0) -> NDArray[np.float32]:
    """`n` points in 64 dimensions around 100 centres, each cluster stretched along 10 directions of its own."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(100, FEATURES))
    directions = rng.normal(size=(100, 10, FEATURES)) / np.sqrt(FEATURES)
    cluster = rng.integers(100, size=n)
    along = rng.normal(size=(n, 10))
    spread = np.einsum("nd,ndf->nf", along, directions[cluster], optimize=True)
    points: NDArray[np.float32] = (centres[cluster] + spread + 0.1 * rng.normal(size=(n, FEATURES))).astype(np.float32)
    return points


def time_knn(n: int) -> GraphTiming:
    """The k-NN graph of `n` points."""
    return in_own_process(_knn, n)


def time_smooth(n: int) -> GraphTiming:
    """The learned graph of `n` points."""
    return in_own_process(_smooth, n)


def time_diffusion(edge_index: NDArray[np.int64], n: int) -> GraphTiming:
    """The diffusion (teleport 0.05, top 128) of the largest component of a given graph on `n` nodes."""
    return in_own_process(_diffusion, edge_index, n)


def sizes(largest: int) -> Iterator[int]:
    """12,500, 25,000, 50,000 and 100,000 points, up to `largest`."""
    yield from (n for n in (12_500, 25_000, 50_000, 100_000) if n <= largest)


def _knn(n: int) -> GraphTiming:
    X = points_on_clusters(n)
    notes: list[str] = []
    return _measure("k-NN", n, notes, lambda: knn_graph(X, K, report=lambda i: notes.append(f"recall {i.recall:.3f}")))


def _smooth(n: int) -> GraphTiming:
    X = points_on_clusters(n)
    notes: list[str] = []
    return _measure(
        "learned",
        n,
        notes,
        lambda: smooth_graph(X, K, report=lambda i: notes.append(f"recall {i.recall:.3f}, {i.iterations} iterations")),
    )


def _diffusion(edge_index: NDArray[np.int64], n: int) -> GraphTiming:
    component, _ = largest_component(Graph.from_edge_index(edge_index, n_nodes=n))
    return _measure("diffusion", component.n_nodes, [], lambda: diffuse(component))


def _measure(what: str, n: int, notes: list[str], build: Callable[[], Graph]) -> GraphTiming:
    start = time.perf_counter()
    graph = build()
    seconds = time.perf_counter() - start
    peak = peak_bytes() / 2**20
    return GraphTiming(what, n, seconds, peak, graph.n_edges, ", ".join(notes))
