"""Neighbour sampling for PyG's loader: some neighbours of some nodes, with all edges between them.

PyG's own `NeighborLoader` needs pyg-lib or torch-sparse; PyG's `NodeLoader` takes any sampler, and this is one that
needs neither. Subgraphs are induced, because S2-GNN needs every edge in both directions.
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
        edges: where each of the E entries stands in the data of PyG, (E,), for the attributes of edges; `None` for
            data without any.
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
        """Of the edges (2, E) of PyG's data, in any order, each in both directions."""
        rows, columns = edge_index.cpu().numpy()
        edges = np.argsort(rows, kind="stable")
        return cls(from_zero(np.bincount(rows, minlength=n_nodes)), columns[edges], sizes, edges)

    def sample_from_nodes(self, index: NodeSamplerInput, **_: Any) -> SamplerOutput:
        """The subgraph around the given nodes, which come first in it, in PyG's form."""
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
        """Not offered: links are trained on all edges at once, see `s2gnn.links`."""
        raise NotImplementedError("this sampler starts from nodes")

    def _reached(self, seeds: NDArray[np.int64], generator: np.random.Generator) -> NDArray[np.int64]:
        """The seeds and the neighbours sampled around them, ascending."""
        found = frontier = np.unique(seeds)
        for size in self.sizes:
            neighbours = self._neighbours(frontier, size, generator)
            frontier = np.setdiff1d(neighbours, found)
            found = np.union1d(found, frontier)
        return found

    def _neighbours(self, nodes: NDArray[np.int64], size: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """At most `size` neighbours of each of `nodes`, all together."""
        first, last = self._indptr[nodes].astype(np.int64), self._indptr[nodes + 1].astype(np.int64)
        entries, counts = ranges(first, last), last - first
        if size == -1:
            return self._indices[entries].astype(np.int64)
        # The first entries of every row in a random order: sorted by row, then by a random key.
        order = np.lexsort((generator.random(len(entries)), np.repeat(np.arange(len(nodes)), counts)))
        rank = np.arange(len(entries)) - np.repeat(from_zero(counts)[:-1], counts)
        return self._indices[entries[order[rank < size]]].astype(np.int64)


def _are_sizes(sizes: Any) -> bool:
    """Whether there is a number of neighbours for each of one hop or more."""
    try:
        hops = list(sizes)
    except TypeError:
        return False
    return bool(hops) and all(isinstance(size, int | np.integer) and (size >= 1 or size == -1) for size in hops)


def neighbour_loader(
    data: Data | Graph, sizes: Sequence[int], *, input_nodes: Any = None, batch_size: int = 128, **options: Any
) -> NodeLoader:
    """PyG's `NodeLoader` of induced subgraphs around batches of nodes, for `S2Conv` and every other layer.

    Args:
        data: PyG's `Data` with every edge in both directions; or a `Graph`, for the numbers `n_id` of the nodes.
        sizes: neighbours sampled at each hop, see `InducedNeighborSampler`.
        input_nodes: indices or a mask of the nodes to start from; `None` for all.
        batch_size: nodes to start from in a batch; they come first in it, and are `batch.batch_size` many.
        **options: of `torch.utils.data.DataLoader`, such as `shuffle=True`.
    """
    if isinstance(data, Graph):
        data = data.to_pyg()
    sampler = InducedNeighborSampler.of_edge_index(data.edge_index, data.num_nodes, sizes)
    return NodeLoader(data, sampler, input_nodes, batch_size=positive_integer(batch_size, "batch_size"), **options)


class Sampled(NodeBatches):
    """Batches of training nodes with neighbours sampled around them, through PyG's loader.

    Args:
        graph: the whole graph.
        sizes: neighbours sampled at each hop, see `InducedNeighborSampler`; as many hops as the network has layers.
        batch_size: training nodes in a batch.
    """

    def __init__(self, graph: Graph, sizes: Sequence[int], batch_size: int = 128) -> None:
        self.batch_size = positive_integer(batch_size, "batch_size")
        self.n_nodes = graph.n_nodes
        self._sampler = InducedNeighborSampler(graph.indptr, graph.indices, sizes)
        self.sizes = self._sampler.sizes

    def count(self, train: NDArray[np.int64]) -> int:
        """How many batches have all training nodes."""
        return ceil(len(train) / self.batch_size)

    def epoch(self, train: NDArray[np.int64]) -> Iterator[NodeBatch]:
        """All training nodes once, in batches drawn at random."""
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
