"""Measures of graphs: homophily, components, sparsity."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from s2gnn.errors import InputError
from s2gnn.graphs.graph import Graph
from s2gnn.graphs.selection import induced_subgraph
from s2gnn.graphs.validation import as_array


def node_homophily(graph: Graph, y: ArrayLike) -> float:
    """Return the share of a node's neighbours that have its label, averaged over nodes.

    This is the mean of |{j ∈ N(i): y_j = y_i}| / |N(i)| over the nodes i with neighbours, or `nan` if there are none.
    On a graph without isolated nodes it equals PyG's `homophily(method="node")`, which counts isolated nodes as zero.

    Args:
        graph: a graph on N nodes; its weights are ignored.
        y: labels (N,).
    """
    agree = _same_label(graph, y)
    n_neighbours = np.diff(graph.indptr)
    joined = n_neighbours > 0
    if not joined.any():
        return float("nan")
    return float(np.mean(graph.row_sums(agree)[joined] / n_neighbours[joined]))


def edge_homophily(graph: Graph, y: ArrayLike) -> float:
    """Return the share of edges between nodes of the same label; `nan` for a graph without edges.

    Args:
        graph: a graph on N nodes; its weights are ignored.
        y: labels (N,).
    """
    agree = _same_label(graph, y)
    return float(np.mean(agree)) if len(agree) else float("nan")


def largest_component(graph: Graph) -> tuple[Graph, NDArray[np.int64]]:
    """Return the largest connected component as a graph, and its node indices (n,) in `graph`.

    Ties go to the smallest node index.
    """
    _, component = connected_components(graph.to_scipy(), directed=False)
    nodes = np.flatnonzero(component == np.argmax(np.bincount(component)))
    return induced_subgraph(graph, nodes), nodes


def closed_neighbourhoods(graph: Graph) -> sp.csr_array:
    """Return the 0/1 matrix (N, N) of N[i] = N(i) ∪ {i}."""
    pattern = graph.to_scipy()
    pattern.data = np.ones_like(pattern.data)
    return (pattern + sp.eye_array(graph.n_nodes, format="csr")).tocsr()


def sparsity(graph: Graph, rho: int = 1) -> float:
    """Return the share of zeros, in %, in the sparsity pattern of the matrix power (L + εI)^ρ for ε > 0.

    An entry (i, j) is zero if j is more than ρ hops away from i. The Hadamard power (L + εI)^(ρ) has the sparsity of
    ρ = 1 for every ρ. Columns are counted in blocks, without an N×N array.
    """
    if not isinstance(rho, int | np.integer) or rho < 1:
        raise InputError(f"rho is {rho!r}, but the power must be an integer >= 1")
    n = graph.n_nodes
    pattern = closed_neighbourhoods(graph).astype(np.float32)
    width = max(1, min(n, 2**24 // n))
    reached = 0
    for start in range(0, n, width):
        columns = np.arange(start, min(start + width, n))
        block = np.zeros((n, len(columns)), dtype=np.float32)
        block[columns, columns - start] = 1
        for _ in range(rho):
            block = (pattern @ block > 0).astype(np.float32)
        reached += int(np.count_nonzero(block))
    return 100 * (1 - reached / n**2)


def _same_label(graph: Graph, y: ArrayLike) -> NDArray[np.float64]:
    """Return 1 for every stored direction between nodes of the same label, 0 for the others."""
    labels = as_array(y)
    if labels.shape != (graph.n_nodes,):
        raise InputError(f"y has shape {labels.shape}, but the graph has {graph.n_nodes} nodes")
    missing = [label is None or label != label for label in labels.tolist()]
    if any(missing):
        raise InputError(f"y[{missing.index(True)}] is missing: homophily needs a label for every node")
    same: NDArray[np.float64] = (labels[graph.rows()] == labels[graph.indices]).astype(np.float64)
    return same
