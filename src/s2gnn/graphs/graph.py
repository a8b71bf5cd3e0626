"""Graph: a weighted undirected graph as CSR arrays, validated once and immutable from then on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from s2gnn.errors import InputError
from s2gnn.graphs.validation import as_array, as_node_indices, as_weights, symmetric_csr

if TYPE_CHECKING:
    import networkx
    import torch
    from torch_geometric.data import Data

# Loops of the native kernel look a few edges ahead of an int32 counter.
LARGEST_INT32_POINTER = np.iinfo(np.int32).max - 64


class Graph:
    """A weighted undirected graph G with adjacency matrix A (N, N), symmetric, non-negative, zero diagonal.

    Both directions of an edge are stored, in CSR form with float64 weights. Isolated nodes and graphs
    without edges are legal; a stored weight of zero is no edge. All constructors validate their input and name
    an offending entry.

    Args:
        adjacency: SciPy sparse matrix or array A (N, N).
        sum_duplicates: add up the weights of duplicate entries; otherwise they are an error.
        drop_self_loops: ignore the diagonal; otherwise a self-loop is an error.

    Example:
        >>> g = Graph.from_edge_list([(0, 1), (1, 2)], weights=[0.5, 2.0], n_nodes=4)
        >>> g
        Graph(n_nodes=4, n_edges=2, weights in [0.5, 2])
        >>> g.degrees
        array([0.5, 2.5, 2. , 0. ])
    """

    __slots__ = ("_indices", "_indptr", "_weights")
    _indptr: NDArray[Any]
    _indices: NDArray[Any]
    _weights: NDArray[np.float64]

    def __init__(self, adjacency: Any, *, sum_duplicates: bool = False, drop_self_loops: bool = False) -> None:
        csr = symmetric_csr(adjacency, sum_duplicates=sum_duplicates, drop_self_loops=drop_self_loops)
        self._set(csr.indptr, csr.indices, csr.data, copy=True)
        if not np.isfinite(self.degrees).all():
            node = int(np.flatnonzero(~np.isfinite(self.degrees))[0])
            raise InputError(f"the weights of node {node} add up to infinity: scale the weights down")

    @classmethod
    def _trusted(
        cls, indptr: NDArray[Any], indices: NDArray[Any], weights: NDArray[np.float64], *, copy: bool = True
    ) -> Graph:
        """The graph of CSR arrays that are known to be valid.

        Without `copy` it keeps the arrays of another graph, such as those in memory that processes share.
        """
        graph = cls.__new__(cls)
        graph._set(indptr, indices, weights, copy=copy)
        return graph

    def _set(self, indptr: NDArray[Any], indices: NDArray[Any], weights: NDArray[np.float64], *, copy: bool) -> None:
        index_type = np.int32 if len(indices) <= LARGEST_INT32_POINTER else np.int64
        arrays = {"_indptr": (indptr, index_type), "_indices": (indices, index_type), "_weights": (weights, np.float64)}
        for name, (values, dtype) in arrays.items():
            if copy:  # to bytes, which NumPy cannot make writeable
                memory = np.ascontiguousarray(values, dtype=dtype).tobytes()
                values = np.frombuffer(memory, dtype=dtype, count=len(values))
            values.flags.writeable = False
            object.__setattr__(self, name, values)

    @classmethod
    def from_scipy(cls, adjacency: Any, *, sum_duplicates: bool = False, drop_self_loops: bool = False) -> Graph:
        """The graph of a SciPy sparse adjacency matrix (N, N); the same as calling `Graph`."""
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
        """The graph of PyG's `edge_index` (2, E), which lists both directions of every edge.

        Args:
            edge_index: integer array or tensor (2, E).
            edge_weight: (E,); default: weight 1 everywhere.
            n_nodes: number of nodes; default: one more than the largest index.
            sum_duplicates: see `Graph`.
            drop_self_loops: see `Graph`.
        """
        indices, n_nodes = as_node_indices(edge_index, n_nodes, "edge_index")
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
        """The graph of a list of edges (E, 2) with every undirected edge once, in either direction.

        Args:
            edges: integer pairs (E, 2).
            weights: (E,); default: weight 1 everywhere.
            n_nodes: number of nodes; default: one more than the largest index.
            sum_duplicates: see `Graph`; (i, j) and (j, i) are the same edge.
            drop_self_loops: see `Graph`.
        """
        pairs, n_nodes = as_node_indices(edges, n_nodes, "edges")
        if pairs.size == 0:
            pairs = pairs.reshape(0, 2)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise InputError(f"edges has shape {pairs.shape}, expected (number of edges, 2)")
        values = as_weights(weights, len(pairs))
        loops = pairs[:, 0] == pairs[:, 1]
        low, high = pairs.min(axis=1), pairs.max(axis=1)
        both = sp.coo_array(
            (
                np.concatenate([values, values[~loops]]),
                (np.concatenate([low, high[~loops]]), np.concatenate([high, low[~loops]])),
            ),
            shape=(n_nodes, n_nodes),
        )
        return cls(both, sum_duplicates=sum_duplicates, drop_self_loops=drop_self_loops)

    @classmethod
    def from_pyg(cls, data: Data, *, sum_duplicates: bool = False, drop_self_loops: bool = False) -> Graph:
        """The graph of a PyG `Data`: weights from `edge_weight`, else a one-channel `edge_attr`, else 1."""
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
        return cls.from_edge_index(
            data.edge_index,
            weight,
            data.num_nodes,
            sum_duplicates=sum_duplicates,
            drop_self_loops=drop_self_loops,
        )

    @classmethod
    def from_networkx(
        cls,
        graph: networkx.Graph,
        weight: str = "weight",
        *,
        sum_duplicates: bool = False,
        drop_self_loops: bool = False,
    ) -> Graph:
        """The graph of an undirected NetworkX graph or multigraph; node i is the i-th of `list(graph.nodes)`.

        Args:
            graph: undirected.
            weight: the edge attribute that holds the weight; an edge without it has weight 1.
            sum_duplicates: see `Graph`; for the parallel edges of a multigraph.
            drop_self_loops: see `Graph`.
        """
        if graph.is_directed():
            raise InputError(
                "the NetworkX graph is directed: convert it with graph.to_undirected(), which keeps one weight of "
                "two opposite edges"
            )
        position = {node: i for i, node in enumerate(graph.nodes)}
        edges = [(position[u], position[v]) for u, v in graph.edges()]
        weights = np.array([attributes.get(weight, 1.0) for _, _, attributes in graph.edges(data=True)])
        return cls.from_edge_list(
            np.array(edges, dtype=np.int64).reshape(-1, 2),
            weights,
            len(position),
            sum_duplicates=sum_duplicates,
            drop_self_loops=drop_self_loops,
        )

    @property
    def n_nodes(self) -> int:
        """N, the number of nodes."""
        return len(self._indptr) - 1

    @property
    def n_edges(self) -> int:
        """The number of undirected edges: each pair of joined nodes counts once."""
        return len(self._indices) // 2

    @property
    def indptr(self) -> NDArray[Any]:
        """CSR row pointers (N + 1,), read-only."""
        return self._indptr

    @property
    def indices(self) -> NDArray[Any]:
        """CSR column indices (2 n_edges,), sorted within each row, read-only."""
        return self._indices

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weight of every stored direction (2 n_edges,), aligned with `indices`, read-only."""
        return self._weights

    @property
    def degrees(self) -> NDArray[np.float64]:
        """The weighted degrees, the diagonal of D = diag(A 1), (N,)."""
        return self.row_sums(self._weights)

    def row_sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Σ_j v_ij for every node i (N,), of values given per stored direction (2 n_edges,)."""
        sums: NDArray[np.float64] = self._csr(values) @ np.ones(self.n_nodes)
        return sums

    def row_maxima(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """max_j v_ij for every node i (N,), of non-negative values (2 n_edges,); 0 for an isolated node."""
        return np.asarray(self._csr(values).max(axis=1).todense()).reshape(-1)

    def _csr(self, values: NDArray[np.float64]) -> sp.csr_array:
        return sp.csr_array((values, self._indices, self._indptr), shape=(self.n_nodes,) * 2)

    def rows(self) -> NDArray[Any]:
        """The row of every stored direction (2 n_edges,), aligned with `indices`."""
        return np.repeat(np.arange(self.n_nodes, dtype=self._indices.dtype), np.diff(self._indptr))

    def to_scipy(self) -> sp.csr_array:
        """A copy of A as a SciPy CSR array (N, N)."""
        return sp.csr_array(
            (self._weights.copy(), self._indices.copy(), self._indptr.copy()), shape=(self.n_nodes,) * 2
        )

    def to_edge_list(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Every undirected edge once: pairs (n_edges, 2) with i < j in row order, and weights (n_edges,)."""
        rows = self.rows()
        upper = rows < self._indices
        pairs = np.stack([rows[upper], self._indices[upper]], axis=1).astype(np.int64)
        return pairs, self._weights[upper]

    def to_pyg(self, dtype: torch.dtype | None = None) -> Data:
        """A PyG `Data` with `edge_index` (2, 2 n_edges), `edge_weight` and `num_nodes`.

        Args:
            dtype: of `edge_weight`; default: float64, which `from_pyg` reads back exactly. PyG layers on
                float32 features need `dtype=torch.float32`.
        """
        import torch

        try:
            from torch_geometric.data import Data
        except ImportError as error:
            raise ImportError("to_pyg needs PyTorch Geometric: install it with pip install 's2gnn[pyg]'") from error

        edge_index = torch.from_numpy(np.stack([self.rows(), self._indices]).astype(np.int64))
        weight = torch.from_numpy(self._weights.copy()).to(dtype or torch.float64)
        return Data(edge_index=edge_index, edge_weight=weight, num_nodes=self.n_nodes)

    def to_networkx(self) -> networkx.Graph:
        """A NetworkX graph on the nodes 0..N-1 with the edge attribute `weight`."""
        import networkx

        graph = networkx.Graph()
        graph.add_nodes_from(range(self.n_nodes))
        pairs, weights = self.to_edge_list()
        graph.add_weighted_edges_from(zip(*pairs.T.tolist(), weights.tolist(), strict=True))
        return graph

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return (
            np.array_equal(self._indptr, other._indptr)
            and np.array_equal(self._indices, other._indices)
            and np.array_equal(self._weights, other._weights)
        )

    __hash__ = None  # type: ignore[assignment]

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Graph is immutable: build a new one instead of setting {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Graph is immutable: {name!r} cannot be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        return Graph._trusted, (self._indptr, self._indices, self._weights)

    def __repr__(self) -> str:
        weights = ""
        if self.n_edges:
            weights = f", weights in [{self._weights.min():.3g}, {self._weights.max():.3g}]"
        return f"Graph(n_nodes={self.n_nodes}, n_edges={self.n_edges}{weights})"
