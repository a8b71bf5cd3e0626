"""Features for proteins that have none: what their interactions look like."""

import numpy as np
from numpy.typing import NDArray

from s2gnn.graphs import Graph

LEVELS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def interaction_features(graph: Graph) -> NDArray[np.float64]:
    """log(1 + number of neighbours), weighted degree, and six quantiles of the incident weights, (N, 8).

    The quantiles are those at 0, 0.2, …, 1, linear between neighbouring weights; an isolated node has zeros.
    """
    n_neighbours = np.diff(graph.indptr)
    ordered = graph.weights[np.lexsort((graph.weights, graph.rows()))]
    features = np.zeros((graph.n_nodes, 2 + len(LEVELS)))
    features[:, 0] = np.log1p(n_neighbours)
    features[:, 1] = graph.degrees
    joined = n_neighbours > 0
    first, last = graph.indptr[:-1][joined], n_neighbours[joined] - 1
    for column, level in enumerate(LEVELS, start=2):
        below = np.floor(level * last).astype(np.int64)
        share = level * last - below
        low, high = ordered[first + below], ordered[first + np.minimum(below + 1, last)]
        features[joined, column] = low + share * (high - low)
    return features
