"""A neighbour sampler for PyG's `NodeLoader` that returns induced subgraphs.

Unlike PyG's `NeighborLoader` it needs neither pyg-lib nor torch-sparse. Subgraphs are induced, because S2-GNN needs
every edge in both directions.
"""

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from s2gnn.errors import InputError
from s2gnn.graphs import Graph
from s2gnn.graphs.selection import Selection, from_zero, ranges
from s2gnn.nn.arguments import positive_integer
from s2gnn.nn.parts import NodeBatch, NodeBatches

try:
    from torch_geometric.data import Data
    from torch_geometric.loader import NodeLoader
    from torch_geometric.sampler import BaseSampler, NodeSamplerInput, SamplerOutput
except ImportError as error:
    raise ImportError("neighbour sampling needs PyTorch Geometric: pip install 's2gnn[pyg]'") from error


class InducedNeighborSampler(BaseSampler):  # type: ignore[misc]
    """Samples neighbours hop by hop, without replacement, and keeps all edges between the nodes found.

    Args:
        indptr: row pointers of the adjacency in CSR form, every edge in both directions, (N + 1,).
        indices: its columns, (E,); neither array is copied.
        sizes: maximum number of neighbours of every node of the previous hop; −1 takes all.
        edges: position of each of the E entries in the `edge_index` of PyG's data, (E,), to select edge attributes;
            `None` for data without them.
    """

    def __init__(
        self,
        indptr: NDArray[Any],
        indices: NDArray[Any],
        sizes: Sequence[int],
        edges: NDArray[np.int64] | None = None,
    ) -> None:
        if not _are_sizes(sizes):
            raise InputError(f"sizes is {sizes!r}, but it must be neighbours of each hop, such as (10, 5); -1 for all")
        self.sizes = tuple(map(int, sizes))
        self.n_nodes = len(indptr) - 1
        self._indptr, self._indices, self._edges = indptr, indices, edges

    @classmethod
    def of_edge_index(cls, edge_index: Tensor, n_nodes: int, sizes: Sequence[int]) -> "InducedNeighborSampler":
        """Create a sampler from an `edge_index` (2, E) of PyG with every edge in both directions."""
        rows, columns = edge_index.cpu().numpy()
        edges = np.argsort(rows, kind="stable")
        return cls(from_zero(np.bincount(rows, minlength=n_nodes)), columns[edges], sizes, edges)

    def sample_from_nodes(self, index: NodeSamplerInput, **_: Any) -> SamplerOutput:
        """Sample the subgraph around the given nodes, which are its first nodes."""
        seeds = index.node.numpy()
        found = self._reached(seeds, np.random.default_rng(int(torch.randint(2**62, ()))))
        selection = Selection(found, self.n_nodes)
        stored = selection.stored(self._indptr, self._indices)
        others = np.setdiff1d(found, seeds, assume_unique=True)
        nodes = np.concatenate([seeds, others])
        place = np.argsort(nodes)  # ascending node → its place in `nodes`
        rows = np.repeat(np.arange(len(found)), np.diff(stored.indptr))
        return SamplerOutput(
            node=torch.from_numpy(nodes),
            row=torch.from_numpy(place[rows]),
            col=torch.from_numpy(place[stored.columns]),
            edge=None if self._edges is None else torch.from_numpy(self._edges[stored.entries]),
            metadata=(index.input_id, index.time),
        )

    def sample_from_edges(self, *_: Any, **__: Any) -> SamplerOutput:
        """Raise an error: `s2gnn.links` trains on all edges at once."""
        raise NotImplementedError("this sampler starts from nodes")

    def _reached(self, seeds: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
        """Return the seed nodes and their sampled neighbours, ascending."""
        found = frontier = np.unique(seeds)
        for size in self.sizes:
            neighbors = self._neighbors(frontier, size, generator)
            frontier = np.setdiff1d(neighbors, found)
            found = np.union1d(found, frontier)
        return found

    def _neighbors(self, nodes: NDArray[np.int64], size: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """Sample at most `size` neighbours of each of `nodes`."""
        first, last = self._indptr[nodes].astype(np.int64), self._indptr[nodes + 1].astype(np.int64)
        entries, counts = ranges(first, last), last - first
        if size == -1:
            return self._indices[entries].astype(np.int64)
        # The first entries of every row in a random order: sorted by row, then by a random key.
        order = np.lexsort((generator.random(len(entries)), np.repeat(np.arange(len(nodes)), counts)))
        rank = np.arange(len(entries)) - np.repeat(from_zero(counts)[:-1], counts)
        return self._indices[entries[order[rank < size]]].astype(np.int64)


def _are_sizes(sizes: Any) -> bool:
    """Return whether `sizes` is a non-empty sequence of numbers of neighbours."""
    try:
        hops = list(sizes)
    except TypeError:
        return False
    return bool(hops) and all(isinstance(size, int | np.integer) and (size >= 1 or size == -1) for size in hops)


def neighbor_loader(
    data: Data | Graph, sizes: Sequence[int], *, input_nodes: Any = None, batch_size: int = 128, **options: Any
) -> NodeLoader:
    """Create a `NodeLoader` of PyG that samples induced subgraphs around batches of nodes.

    Args:
        data: PyG's `Data` with every edge in both directions; or a `Graph`, whose batches have node indices `n_id`.
        sizes: numbers of neighbours sampled at each hop, see `InducedNeighborSampler`.
        input_nodes: indices or mask of the seed nodes; `None` for all.
        batch_size: number of seed nodes per batch; they are the first `batch.batch_size` nodes of a batch.
        **options: options of `torch.utils.data.DataLoader`, e.g. `shuffle=True`.
    """
    if isinstance(data, Graph):
        data = data.to_pyg()
    sampler = InducedNeighborSampler.of_edge_index(data.edge_index, data.num_nodes, sizes)
    return NodeLoader(data, sampler, input_nodes, batch_size=positive_integer(batch_size, "batch_size"), **options)


class Sampled(NodeBatches):
    """Batches of training nodes with neighbours sampled around them, through PyG's loader.

    Args:
        graph: the whole graph.
        sizes: numbers of neighbours sampled at each hop, see `InducedNeighborSampler`; one hop per layer.
        batch_size: number of training nodes per batch.
    """

    def __init__(self, graph: Graph, sizes: Sequence[int], batch_size: int = 128) -> None:
        self.batch_size = positive_integer(batch_size, "batch_size")
        self.n_nodes = graph.n_nodes
        self._sampler = InducedNeighborSampler(graph.indptr, graph.indices, sizes)
        self.sizes = self._sampler.sizes

    def count(self, train: NDArray[np.int64]) -> int:
        """Return the number of batches of an epoch."""
        return ceil(len(train) / self.batch_size)

    def epoch(self, train: NDArray[np.int64]) -> Iterator[NodeBatch]:
        """Yield all training nodes once, in random batches."""
        loader = NodeLoader(
            Data(num_nodes=self.n_nodes),
            self._sampler,
            torch.from_numpy(train),
            batch_size=self.batch_size,
            shuffle=True,
        )
        for batch in loader:
            order = torch.argsort(batch.n_id)
            yield NodeBatch(batch.n_id[order].numpy(), (order < batch.batch_size).numpy())

    def __repr__(self) -> str:
        return f"Sampled({self.sizes} neighbours of {self.n_nodes} nodes, batch_size={self.batch_size})"
