"""Selection of nodes: induced subgraphs, and the corresponding blocks of operators."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from s2gnn.errors import InputError
from s2gnn.graphs.graph import Graph
from s2gnn.graphs.validation import ValidCSR, as_indices


@dataclass(frozen=True, eq=False)
class StoredEntries:
    """The entries of a CSR matrix (N, N) in the rows and columns of n selected nodes.

    Attributes:
        entries: positions in the arrays of the matrix, (e,) int64.
        indptr: row pointers of the submatrix (n, n), (n + 1,) int64.
        columns: columns of the submatrix, (e,) int64.
    """

    entries: NDArray[np.int64]
    indptr: NDArray[np.int64]
    columns: NDArray[np.int64]

    def of_graph(self, graph: Graph) -> Graph:
        """Return the subgraph of the selected nodes, given their entries in `graph`."""
        return Graph(ValidCSR(self.indptr, self.columns, graph.weights[self.entries]))


@dataclass(frozen=True, eq=False)
class Selection:
    """Different nodes of a graph, and the principal submatrices that belong to them.

    Attributes:
        nodes: (n,) int64, ascending within each component of the graph.
        n_nodes: N, of the whole graph.
    """

    nodes: NDArray[np.int64]
    n_nodes: int

    @classmethod
    def of(cls, nodes: ArrayLike, n_nodes: int) -> "Selection":
        """Return the `nodes` (n,), in any order and each once, of a graph with `n_nodes`."""
        numbers, _ = as_indices(nodes, n_nodes, "nodes")
        chosen = np.unique(numbers)
        if numbers.ndim != 1 or not 0 < len(chosen) == len(numbers):
            raise InputError(f"nodes has shape {numbers.shape}, expected one or more different nodes (n,)")
        return cls(chosen, n_nodes)

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        """The position of every node among the selected ones, −1 if it is not selected, (N,)."""
        places = np.full(self.n_nodes, -1)
        places[self.nodes] = np.arange(len(self.nodes))
        return places

    def stored(self, indptr: NDArray[Any], indices: NDArray[Any]) -> StoredEntries:
        """Return the entries between selected nodes of a CSR matrix (N, N), given by pointers and columns, in order."""
        first, last = indptr[self.nodes].astype(np.int64), indptr[self.nodes + 1].astype(np.int64)
        entries = ranges(first, last)
        columns = self._places[indices[entries]]
        inside = columns >= 0
        before = from_zero(inside)  # entries that stay, before each
        return StoredEntries(entries[inside], before[from_zero(last - first)], columns[inside])

    def of_graph(self, graph: Graph) -> Graph:
        """Return the graph of the chosen nodes and of the edges between them."""
        return self.stored(graph.indptr, graph.indices).of_graph(graph)


def induced_subgraph(graph: Graph, nodes: ArrayLike) -> Graph:
    """Return the subgraph induced by the given nodes (n,), renumbered in ascending order.

    Example:
        >>> path = Graph.from_edge_list([(0, 1), (1, 2), (2, 3)], weights=[0.5, 2.0, 1.0])
        >>> induced_subgraph(path, [3, 1, 2])
        Graph(n_nodes=3, n_edges=2, weights in [1, 2])
    """
    return Selection.of(nodes, graph.n_nodes).of_graph(graph)


def from_zero(lengths: ArrayLike) -> NDArray[np.int64]:
    """Return 0, and the sums of the first lengths: (n,) → (n + 1,)."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def ranges(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return starts[0], …, ends[0] − 1, starts[1], … in one array."""
    lengths = ends - starts
    before = np.cumsum(lengths) - lengths
    places: NDArray[np.int64] = np.arange(lengths.sum()) + np.repeat(starts - before, lengths)
    return places
