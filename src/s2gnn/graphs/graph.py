"""Graph: an immutable weighted undirected graph as validated CSR arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from s2gnn.errors import InputError
from s2gnn.graphs.validation import ValidCSR, as_array, as_indices, as_weights, symmetric_csr

if TYPE_CHECKING:
    import networkx
    import torch
    from torch_geometric.data import Data

# Loops of the native kernel look a few edges ahead of an int32 counter.
LARGEST_INT32_POINTER = np.iinfo(np.int32).max - 64


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Graph:
    """A weighted undirected graph with adjacency matrix A (N, N), symmetric, non-negative, zero diagonal.

    Both directions of an edge are stored in read-only CSR arrays. Isolated nodes and graphs without edges are allowed;
    entries with weight zero are not edges. All constructors validate their input; errors name an invalid entry.

    Args:
        adjacency: SciPy sparse matrix or array A (N, N).
        sum_duplicates: sum the weights of duplicate entries instead of raising an error.
        drop_self_loops: ignore the diagonal instead of raising an error.

    Attributes:
        indptr: row pointers (N + 1,).
        indices: columns (2 n_edges,), sorted within each row.
        weights: weight of every stored direction (2 n_edges,), float64.

    Example:
        >>> g = Graph.from_edge_list([(0, 1), (1, 2)], weights=[0.5, 2.0], n_nodes=4)
        >>> g
        Graph(n_nodes=4, n_edges=2, weights in [0.5, 2])
        >>> g.degrees
        array([0.5, 2.5, 2. , 0. ])
    """

    indptr: NDArray[Any]
    indices: NDArray[Any]
    weights: NDArray[np.float64]

    def __init__(self, adjacency: Any, *, sum_duplicates: bool = False, drop_self_loops: bool = False) -> None:
        csr = adjacency
        if not isinstance(csr, ValidCSR):
            csr = symmetric_csr(adjacency, sum_duplicates=sum_duplicates, drop_self_loops=drop_self_loops)
        index_type = np.int32 if len(csr.indices) <= LARGEST_INT32_POINTER else np.int64
        arrays = {"indptr": index_type, "indices": index_type, "weights": np.float64}
        for name, dtype in arrays.items():
            values = getattr(csr, name)
            if csr.copy:  # to bytes, which NumPy cannot make writeable
                memory = np.ascontiguousarray(values, dtype=dtype).tobytes()
                values = np.frombuffer(memory, dtype=dtype, count=len(values))
            values.flags.writeable = False
            object.__setattr__(self, name, values)

    @classmethod
    def from_scipy(cls, adjacency: Any, *, sum_duplicates: bool = False, drop_self_loops: bool = False) -> Graph:
        """Create a graph from a SciPy sparse adjacency matrix (N, N), like `Graph`."""
        return cls(adjacency, sum_duplicates=sum_duplicates, drop_self_loops=drop_self_loops)

    @classmethod
    def from_edge_index(
        cls,
        edge_index: ArrayLike | torch.Tensor,
        edge_weight: ArrayLike | torch.Tensor | None = None,
        n_nodes: int | None = None,
        *,
        sum_duplicates: bool = False,
        drop_self_loops: bool = False,
    ) -> Graph:
        """Create a graph from PyG's `edge_index` (2, E), which lists both directions of every edge.

        Args:
            edge_index: integer array or tensor (2, E).
            edge_weight: (E,); default: weight 1 everywhere.
            n_nodes: number of nodes; default: one more than the largest index.
            sum_duplicates: see `Graph`.
            drop_self_loops: see `Graph`.
        """
        indices, n_nodes = as_indices(edge_index, n_nodes, "edge_index")
        if indices.ndim != 2 or indices.shape[0] != 2:
            raise InputError(f"edge_index has shape {indices.shape}, expected (2, number of edges)")
        weights = as_weights(edge_weight, indices.shape[1])
        matrix = sp.coo_array((weights, (indices[0], indices[1])), shape=(n_nodes, n_nodes))
        return cls(matrix, sum_duplicates=sum_duplicates, drop_self_loops=drop_self_loops)

    @classmethod
    def from_edge_list(
        cls,
        edges: ArrayLike | torch.Tensor,
        weights: ArrayLike | torch.Tensor | None = None,
        n_nodes: int | None = None,
        *,
        sum_duplicates: bool = False,
        drop_self_loops: bool = False,
    ) -> Graph:
        """Create a graph from a list of edges (E, 2) with every undirected edge once, in either direction.

        Args:
            edges: integer pairs (E, 2).
            weights: (E,); default: weight 1 everywhere.
            n_nodes: number of nodes; default: one more than the largest index.
            sum_duplicates: see `Graph`; (i, j) and (j, i) are the same edge.
            drop_self_loops: see `Graph`.
        """
        pairs, n_nodes = as_indices(edges, n_nodes, "edges")
        if pairs.size == 0:
            pairs = pairs.reshape(0, 2)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise InputError(f"edges has shape {pairs.shape}, expected (number of edges, 2)")
        values = as_weights(weights, len(pairs))
        loops = pairs[:, 0] == pairs[:, 1]
        low, high = pairs.min(axis=1), pairs.max(axis=1)
        rows, columns = np.concatenate([low, high[~loops]]), np.concatenate([high, low[~loops]])
        both = sp.coo_array((np.concatenate([values, values[~loops]]), (rows, columns)), shape=(n_nodes, n_nodes))
        return cls(both, sum_duplicates=sum_duplicates, drop_self_loops=drop_self_loops)

    @classmethod
    def from_pyg(cls, data: Data, *, sum_duplicates: bool = False, drop_self_loops: bool = False) -> Graph:
        """Create a graph from a PyG `Data`, with weights from `edge_weight`, a one-channel `edge_attr`, or 1."""
        if getattr(data, "edge_index", None) is None:
            raise InputError(f"a {type(data).__name__} was given, but a Data with an edge_index is needed")
        weight = getattr(data, "edge_weight", None)
        if weight is None and getattr(data, "edge_attr", None) is not None:
            weight = as_array(data.edge_attr)
            if weight.ndim == 2 and weight.shape[1] == 1:
                weight = weight[:, 0]
            if weight.ndim != 1:
                raise InputError(
                    f"edge_attr has shape {weight.shape}, but a graph has one weight per edge: "
                    "choose a channel, for instance data.edge_weight = data.edge_attr[:, 0]"
                )
        options = {"sum_duplicates": sum_duplicates, "drop_self_loops": drop_self_loops}
        return cls.from_edge_index(data.edge_index, weight, data.num_nodes, **options)

    @classmethod
    def from_networkx(
        cls,
        graph: networkx.Graph,
        weight: str = "weight",
        *,
        sum_duplicates: bool = False,
        drop_self_loops: bool = False,
    ) -> Graph:
        """Create a graph from an undirected NetworkX graph or multigraph; node i is the i-th of `list(graph.nodes)`.

        Args:
            graph: an undirected graph.
            weight: name of the edge attribute of weights; edges without it have weight 1.
            sum_duplicates: see `Graph`; applies to parallel edges of a multigraph.
            drop_self_loops: see `Graph`.
        """
        if not hasattr(graph, "is_directed"):
            raise InputError(f"a {type(graph).__name__} was given, but a NetworkX graph is needed")
        if graph.is_directed():
            raise InputError(
                "the NetworkX graph is directed: convert it with graph.to_undirected(), which keeps one weight of "
                "two opposite edges"
            )
        position = {node: i for i, node in enumerate(graph.nodes)}
        edges = [(position[u], position[v]) for u, v in graph.edges()]
        weights = np.array([value for _, _, value in graph.edges(data=weight, default=1.0)])
        options = {"sum_duplicates": sum_duplicates, "drop_self_loops": drop_self_loops}
        return cls.from_edge_list(edges, weights, len(position), **options)

    @property
    def n_nodes(self) -> int:
        """N, the number of nodes."""
        return len(self.indptr) - 1

    @property
    def n_edges(self) -> int:
        """The number of undirected edges: each pair of adjacent nodes counts once."""
        return len(self.indices) // 2

    @property
    def degrees(self) -> NDArray[np.float64]:
        """The weighted degrees, the diagonal of D = diag(A 1), (N,)."""
        return self.row_sums(self.weights)

    def row_sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Σ_j v_ij for every node i (N,), of values given per stored direction (2 n_edges,)."""
        sums: NDArray[np.float64] = self._csr(values) @ np.ones(self.n_nodes)
        return sums

    def row_maxima(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return max_j v_ij for every node i (N,), of non-negative values (2 n_edges,); 0 for an isolated node."""
        return np.asarray(self._csr(values).max(axis=1).todense()).reshape(-1)

    def _csr(self, values: NDArray[np.float64]) -> sp.csr_array:
        return sp.csr_array((values, self.indices, self.indptr), shape=(self.n_nodes,) * 2)

    def rows(self) -> NDArray[Any]:
        """Return the row of every stored direction (2 n_edges,), aligned with `indices`."""
        return np.repeat(np.arange(self.n_nodes, dtype=self.indices.dtype), np.diff(self.indptr))

    def to_scipy(self) -> sp.csr_array:
        """Return a copy of A as a SciPy CSR array (N, N)."""
        return self._csr(self.weights).copy()

    def to_edge_list(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return every undirected edge once: pairs (n_edges, 2) with i < j in row order, and weights (n_edges,)."""
        rows = self.rows()
        upper = rows < self.indices
        pairs = np.stack([rows[upper], self.indices[upper]], axis=1).astype(np.int64)
        return pairs, self.weights[upper]

    def to_pyg(self, dtype: torch.dtype | None = None) -> Data:
        """Return a PyG `Data` with `edge_index` (2, 2 n_edges), `edge_weight` and `num_nodes`.

        Args:
            dtype: type of `edge_weight`; default: `torch.get_default_dtype()`, that of new layers. float64 is exact.
        """
        import torch

        try:
            from torch_geometric.data import Data
        except ImportError as error:
            raise ImportError("to_pyg needs PyTorch Geometric: install it with pip install 's2gnn[pyg]'") from error

        edge_index = torch.from_numpy(np.stack([self.rows(), self.indices]).astype(np.int64))
        weight = torch.from_numpy(self.weights.copy()).to(dtype or torch.get_default_dtype())
        return Data(edge_index=edge_index, edge_weight=weight, num_nodes=self.n_nodes)

    def to_networkx(self) -> networkx.Graph:
        """Return a NetworkX graph on the nodes 0..N-1 with the edge attribute `weight`."""
        import networkx

        return networkx.from_scipy_sparse_array(self.to_scipy())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in ("indptr", "indices", "weights")
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Graph, (ValidCSR(self.indptr, self.indices, self.weights),)

    def __repr__(self) -> str:
        weights = f", weights in [{self.weights.min():.3g}, {self.weights.max():.3g}]" if self.n_edges else ""
        return f"Graph(n_nodes={self.n_nodes}, n_edges={self.n_edges}{weights})"
