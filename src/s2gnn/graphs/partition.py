"""Partition the nodes of a graph into clusters with few edges between them."""

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from s2gnn.errors import InputError
from s2gnn.graphs.graph import Graph
from s2gnn.graphs.validation import as_array, check_choice

PartitionMethod = Literal["metis", "random"]
ROWS_AT_A_TIME = 2**16
_WEIGHT_LEVELS = 1000  # METIS takes integers only


def partition(graph: Graph, n_parts: int, method: PartitionMethod = "metis", seed: int = 0) -> NDArray[np.int64]:
    """Return the cluster 0..n_parts − 1 of every node, (N,); clusters have similar sizes, and none is empty.

    Args:
        graph: a graph on N nodes.
        n_parts: number of clusters, at most N.
        method: "metis" minimises the weight of the edges cut (Karypis and Kumar 1998; requires the extra `parts`);
            "random" assigns nodes at random, as a baseline.
        seed: random seed.

    Example:
        >>> two_triangles = Graph.from_edge_list([(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (3, 5)])
        >>> parts = partition(two_triangles, 2)
        >>> sorted(np.flatnonzero(parts == part).tolist() for part in (0, 1))
        [[0, 1, 2], [3, 4, 5]]
    """
    check_choice("method", method, get_args(PartitionMethod))
    if isinstance(n_parts, bool) or not isinstance(n_parts, int | np.integer) or not 1 <= n_parts <= graph.n_nodes:
        raise InputError(f"n_parts is {n_parts!r}, but a graph of {graph.n_nodes} nodes has 1 to {graph.n_nodes} parts")
    generator = np.random.default_rng(seed)
    if n_parts == 1:
        return np.zeros(graph.n_nodes, np.int64)
    if method == "random" or n_parts == graph.n_nodes:
        return generator.permutation(graph.n_nodes) % n_parts
    return _without_empty(_metis(graph, int(n_parts), seed), int(n_parts))


def cut_share(graph: Graph, parts: ArrayLike) -> float:
    """Return the share of the edge weight between different clusters, given as (N,); 0 for a graph without edges."""
    of_node = as_array(parts)
    if of_node.shape != (graph.n_nodes,):
        raise InputError(f"the parts have shape {of_node.shape}, expected one for each node, ({graph.n_nodes},)")
    total, cut = graph.weights.sum(), 0.0
    for first in range(0, graph.n_nodes, ROWS_AT_A_TIME):
        pointers = graph.indptr[first : first + ROWS_AT_A_TIME + 1]
        entries = slice(pointers[0], pointers[-1])
        of_row = np.repeat(of_node[first : first + ROWS_AT_A_TIME], np.diff(pointers))
        cut += graph.weights[entries][of_row != of_node[graph.indices[entries]]].sum()
    return float(cut / total) if total else 0.0


def _metis(graph: Graph, n_parts: int, seed: int) -> NDArray[np.int64]:
    try:
        import pymetis
    except ImportError as error:
        raise InputError(
            'METIS is not installed: pip install "s2gnn[parts]", or use method="random", which cuts most edges'
        ) from error
    largest = graph.weights.max() if len(graph.weights) else 1.0
    weights = np.maximum(1, np.rint(graph.weights * (_WEIGHT_LEVELS / largest))).astype(np.int64)
    adjacency = pymetis.CSRAdjacency(graph.indptr, graph.indices)
    _, of_node = pymetis.part_graph(n_parts, adjacency, eweights=weights, options=pymetis.Options(seed=seed))
    return np.asarray(of_node, dtype=np.int64)


def _without_empty(of_node: NDArray[np.int64], n_parts: int) -> NDArray[np.int64]:
    """Move one node of the largest cluster to each cluster that METIS left empty."""
    sizes = np.bincount(of_node, minlength=n_parts)
    for empty in np.flatnonzero(sizes == 0):
        largest = sizes.argmax()
        of_node[np.flatnonzero(of_node == largest)[-1]] = empty
        sizes[largest], sizes[empty] = sizes[largest] - 1, 1
    return of_node
