"""The graph of PyG's `edge_index`, built at every call of a layer."""

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from s2gnn.errors import AsymmetricGraphError
from s2gnn.graphs import Graph
from s2gnn.graphs.graph import LARGEST_INT32_POINTER
from s2gnn.graphs.validation import ValidCSR, as_weights, relative_rounding
from s2gnn.operators import kernel

ASYMMETRIC = -2  # what the native pass returns for valid edges of a directed graph


def graph_of_edge_index(
    edge_index: Tensor, edge_weight: ArrayLike | Tensor | None, n_nodes: int, *, details: bool = True
) -> tuple[Graph, NDArray[np.integer]]:
    """Build the undirected graph of an `edge_index`; also returns the index of the pair of each entry (E,).

    Pairs are numbered as in `Graph.to_edge_list`. Repeated edges are summed; self-loops and edges of weight zero are
    dropped and have pair −1. Computed in one native pass; input that it does not support, including invalid input, is
    passed to `Graph.from_edge_index`.

    Raises:
        AsymmetricGraphError: if the graph is directed; with `details` it names an edge, which takes longer.
        InputError: if the edges are not those of a graph.
    """
    native = kernel.native_variant(edge_index.device.type)
    is_list = edge_index.dtype == torch.int64 and edge_index.ndim == 2 and len(edge_index) == 2
    if native is not None and is_list and max(edge_index.shape[1], n_nodes) <= LARGEST_INT32_POINTER and n_nodes > 0:
        count = edge_index.shape[1]
        ends = kernel.array(edge_index.contiguous())
        weights = None if edge_weight is None else as_weights(edge_weight, count)
        real = np.float64 if weights is None or weights.dtype.kind != "f" else weights.dtype
        indptr, indices, pairs = (np.empty(size, np.int32) for size in (n_nodes + 1, count, count))
        values = np.empty(count)
        given = None if weights is None else np.ascontiguousarray(weights, np.float64)
        arrays = (indptr, indices, values, pairs)
        stored = native[0].csr_of_edges(ends[0], ends[1], given, relative_rounding(real), *arrays)
        if stored >= 0:
            return Graph(ValidCSR(indptr, indices[:stored], values[:stored], copy=False)), pairs
        if stored == ASYMMETRIC and not details:
            raise AsymmetricGraphError("the graph is not symmetric: an edge has no reverse of the same weight")
    graph = Graph.from_edge_index(edge_index, edge_weight, n_nodes, sum_duplicates=True, drop_self_loops=True)
    low, high = graph.to_edge_list()[0].T
    entries = np.sort(edge_index.cpu().numpy().astype(np.int64), axis=0)
    codes, named = low * n_nodes + high, entries[0] * n_nodes + entries[1]
    return graph, np.where(np.isin(named, codes), np.searchsorted(codes, named), -1)
