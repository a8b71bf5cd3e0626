"""Numbers that describe a graph."""

import numpy as np
from numpy.typing import ArrayLike

from s2gnn.errors import InputError
from s2gnn.graphs.graph import Graph
from s2gnn.graphs.validation import as_array


def node_homophily(graph: Graph, y: ArrayLike) -> float:
    """The mean over nodes of the share of a node's neighbours that have its label.

    H = 1/N Σ_i |{j ∈ N(i): y_j = y_i}| / |N(i)|. An isolated node counts with share zero, as in PyG.

    Args:
        graph: N nodes; its weights play no part.
        y: labels (N,).
    """
    labels = as_array(y)
    if labels.shape != (graph.n_nodes,):
        raise InputError(f"y has shape {labels.shape}, but the graph has {graph.n_nodes} nodes")
    agree = (labels[graph.rows()] == labels[graph.indices]).astype(np.float64)
    n_neighbours = np.maximum(np.diff(graph.indptr), 1)
    return float(np.mean(graph.row_sums(agree) / n_neighbours))
