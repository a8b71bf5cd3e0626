"""Edge weights for unweighted graphs: every function keeps the edges of a graph and computes new weights.

Hadamard powers of an unweighted graph are all the same, so the branches of S2-GNN do not differ. Which weights to use:

- `jaccard`: large within dense groups, small for bridges; needs no features. A good first choice.
- `adamic_adar`: similar, but common neighbours with many neighbours count less; for graphs with hubs.
- `gaussian`: large for similar features; for continuous features on comparable scales.
- `cosine`: large for features of similar direction; for counts and bags of words.
- `degree_normalized`: small for edges of hubs; also applies to weighted graphs.

`s2gnn.diffuse`, which the paper uses, also changes the edges.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from s2gnn.errors import InputError
from s2gnn.graphs.features import checked_features, products, squared_distances
from s2gnn.graphs.graph import Graph
from s2gnn.graphs.knn import Width, checked_width, gaussian_weights
from s2gnn.graphs.measures import closed_neighbourhoods


def jaccard(graph: Graph) -> Graph:
    """Return |N[i] ∩ N[j]| / |N[i] ∪ N[j]| of closed neighbourhoods N[i] = N(i) ∪ {i}, in (0, 1].

    With open neighbourhoods an edge without a common neighbour would have weight zero.
    """
    pairs, _ = graph.to_edge_list()
    i, j = pairs.T
    sizes = np.diff(graph.indptr) + 1
    common = products(closed_neighbourhoods(graph), i, j)
    return Graph.from_edge_list(pairs, common / (sizes[i] + sizes[j] - common), graph.n_nodes)


def adamic_adar(graph: Graph) -> Graph:
    """Return Σ 1/log(1 + |N(u)|) over the common u of the closed neighbourhoods, divided by the largest, in (0, 1]."""
    pairs, _ = graph.to_edge_list()
    n_neighbours = np.maximum(np.diff(graph.indptr), 1)
    rooted = closed_neighbourhoods(graph) @ sp.diags_array(1 / np.sqrt(np.log1p(n_neighbours)))
    scores = products(rooted.tocsr(), *pairs.T)
    return Graph.from_edge_list(pairs, scores / scores.max(initial=0.0), graph.n_nodes)


def gaussian(graph: Graph, X: Any, sigma: Width = "mean") -> Graph:
    """Return exp(−‖x_i − x_j‖²/σ²) of node features X (N, M), in (0, 1]; σ is a number or the mean edge length."""
    pairs, _ = graph.to_edge_list()
    lengths = np.sqrt(squared_distances(_node_features(graph, X), *pairs.T))
    width = checked_width(sigma, mean=float(lengths.sum() / max(len(lengths), 1)))
    return Graph.from_edge_list(pairs, gaussian_weights(lengths, width), graph.n_nodes)


def cosine(graph: Graph, X: Any) -> Graph:
    """Return (1 + cos of the angle between x_i and x_j)/2 of node features X (N, M), in (0, 1].

    A row of zeros has no direction; its edges have cosine 0, i.e. weight 1/2. Opposite rows have the smallest positive
    weight.
    """
    pairs, _ = graph.to_edge_list()
    cosines = products(normalize(_node_features(graph, X)), *pairs.T)
    weights = np.clip((1 + cosines) / 2, np.finfo(np.float64).tiny, 1.0)
    return Graph.from_edge_list(pairs, weights, graph.n_nodes)


def degree_normalized(graph: Graph) -> Graph:
    """Return a_ij / √(d_i d_j) with the weighted degrees d, in (0, 1]."""
    pairs, weights = graph.to_edge_list()
    root = np.sqrt(graph.degrees)
    i, j = pairs.T
    return Graph.from_edge_list(pairs, weights / (root[i] * root[j]), graph.n_nodes)


def _node_features(graph: Graph, X: Any) -> Any:
    features = checked_features(X)
    if features.shape[0] != graph.n_nodes:
        raise InputError(f"X has {features.shape[0]} rows, but the graph has {graph.n_nodes} nodes")
    return features
