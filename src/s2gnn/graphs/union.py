"""DisjointUnion: many graphs as one, with a block-diagonal adjacency matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import InitVar, dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from s2gnn.errors import InputError
from s2gnn.graphs.diffusion import diffuse
from s2gnn.graphs.graph import Graph
from s2gnn.graphs.selection import Selection, from_zero, ranges
from s2gnn.graphs.validation import as_array, as_indices
from s2gnn.progress import progress_bar


@dataclass(frozen=True, eq=False)
class DisjointUnion:
    """The disjoint union of G graphs, in order, with a block-diagonal adjacency matrix.

    A network gives the same outputs on the union as on the separate graphs, because operators of the union are also
    block-diagonal.

    Attributes:
        graph: on all N nodes.
        offsets: (G + 1,) int64; graph g has the nodes offsets[g]..offsets[g + 1] − 1, at least one.
        validated: skip the checks.

    Example:
        >>> pair, point = Graph.from_edge_list([(0, 1)]), Graph.from_edge_list([], n_nodes=1)
        >>> union = DisjointUnion.of([pair, point, pair])
        >>> union.graph, union.sizes.tolist(), union.graph_of_node.tolist()
        (Graph(n_nodes=5, n_edges=2, weights in [1, 1]), [2, 1, 2], [0, 0, 1, 2, 2])
    """

    graph: Graph
    offsets: NDArray[np.int64]
    validated: InitVar[bool] = False

    def __post_init__(self, validated: bool) -> None:
        if validated:
            return
        offsets = as_array(self.offsets)
        if offsets.ndim != 1 or offsets.dtype.kind not in "iu" or len(offsets) < 2:
            raise InputError(f"offsets has shape {offsets.shape} and dtype {offsets.dtype}, expected integers (G + 1,)")
        object.__setattr__(self, "offsets", offsets.astype(np.int64))
        if offsets[0] != 0 or offsets[-1] != self.graph.n_nodes:
            raise InputError(
                f"offsets runs from {offsets[0]} to {offsets[-1]}, expected from 0 to the {self.graph.n_nodes} nodes"
            )
        if self.sizes.min() < 1:
            raise InputError(f"graph {int(self.sizes.argmin())} has no nodes: a graph has at least one")
        ends = self.graph_of_node[self.graph.rows()], self.graph_of_node[self.graph.indices]
        across = np.flatnonzero(ends[0] != ends[1])
        if len(across):
            edge = across[0]
            raise InputError(
                f"an edge joins node {self.graph.rows()[edge]} of graph {ends[0][edge]} to node "
                f"{self.graph.indices[edge]} of graph {ends[1][edge]}: the graphs of a union are separate"
            )

    @classmethod
    def of(cls, graphs: Sequence[Graph]) -> DisjointUnion:
        """Return the union of `graphs`, in their order."""
        if not graphs:
            raise InputError("there is no graph: a union has at least one")
        matrix = sp.block_diag([graph.to_scipy() for graph in graphs], format="csr")
        return cls(Graph(matrix), from_zero([graph.n_nodes for graph in graphs]))

    @property
    def n_graphs(self) -> int:
        """G, the number of graphs."""
        return len(self.offsets) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of nodes of every graph, (G,)."""
        return np.diff(self.offsets)

    @cached_property
    def graph_of_node(self) -> NDArray[np.int64]:
        """The index of the graph of each node, (N,)."""
        return np.repeat(np.arange(self.n_graphs), self.sizes)

    def blocks(self, chosen: ArrayLike) -> Selection:
        """Return the nodes of the graphs with the distinct indices `chosen` (g,), in the given order."""
        numbers, _ = as_indices(chosen, self.n_graphs, "graphs", of="graphs")
        if numbers.ndim != 1 or not 0 < len(np.unique(numbers)) == len(numbers):
            raise InputError(f"graphs has shape {numbers.shape}, expected numbers of one or more different graphs (g,)")
        return Selection(ranges(self.offsets[numbers], self.offsets[numbers + 1]), self.graph.n_nodes)

    def chosen(self, graphs: ArrayLike) -> DisjointUnion:
        """Return the union of the graphs with these distinct indices (g,), in the given order."""
        joined = self.blocks(graphs).of_graph(self.graph)
        return DisjointUnion(joined, from_zero(self.sizes[as_array(graphs)]), validated=True)

    def __iter__(self) -> Iterator[Graph]:
        return (self.chosen([number]).graph for number in range(self.n_graphs))

    def diffused(self, teleport: float = 0.05, top: int = 15, *, progress: bool = False) -> DisjointUnion:
        """Diffuse each graph separately; see `diffuse`."""
        diffusions = []
        with progress_bar("diffusing the graphs", shown=progress) as show:
            for number, graph in enumerate(self):
                show(number / self.n_graphs)
                diffusions.append(diffuse(graph, teleport, top))
        return DisjointUnion.of(diffusions)

    def __repr__(self) -> str:
        return f"DisjointUnion({self.n_graphs} graphs, {self.graph!r})"
