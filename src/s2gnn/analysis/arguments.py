"""The forms in which functions of this package take graphs and orders."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from s2gnn.errors import InputError
from s2gnn.graphs import Graph
from s2gnn.graphs.validation import as_array

GraphLike: TypeAlias = Graph | ArrayLike | sp.sparray | sp.spmatrix
"""A `Graph`, or its adjacency matrix (N, N)."""


def as_graph(graph: GraphLike) -> Graph:
    """Return `graph`, or the graph of an adjacency matrix."""
    if isinstance(graph, Graph):
        return graph
    return Graph(graph if sp.issparse(graph) else sp.csr_array(as_array(graph)))


def as_adjacency(graph: GraphLike) -> NDArray[np.float64]:
    """Return the dense adjacency matrix (N, N); a matrix that is not one of a graph is left to the caller."""
    matrix: Any = graph.to_scipy() if isinstance(graph, Graph) else graph
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else as_array(matrix), dtype=np.float64)


def as_orders(orders: Sequence[int]) -> tuple[int, ...]:
    """Return orders ρ as a non-empty tuple of integers of at least 1; one order may be given as an integer."""
    given = (orders,) if isinstance(orders, int | np.integer) else tuple(orders)
    if not given or any(not isinstance(order, int | np.integer) or order < 1 for order in given):
        raise InputError(f"orders is {given}, but a power here is an integer >= 1, and one is needed")
    return tuple(map(int, given))
