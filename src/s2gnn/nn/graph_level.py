"""GraphClassifier: any network with its outputs pooled over the nodes of each graph."""

from dataclasses import dataclass

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from s2gnn.errors import InputError
from s2gnn.graphs import DisjointUnion, Graph
from s2gnn.graphs.validation import as_array
from s2gnn.nn.inputs import Features, NetworkInput, select_nodes
from s2gnn.nn.network import GraphNetwork
from s2gnn.nn.pooling import NodeGroups, PoolingName, make_pooling
from s2gnn.operators import GraphOperator, SparseInput


@dataclass(frozen=True, eq=False)
class GraphInput:
    """The prepared features of all nodes of a disjoint union; indexing selects graphs.

    Attributes:
        x: prepared features (N, F).
        union: the disjoint union of G graphs.
        groups: assignment of nodes to graphs.
    """

    x: NetworkInput
    union: DisjointUnion
    groups: NodeGroups

    @property
    def shape(self) -> torch.Size:
        """(G, F): number of graphs, and of features per node."""
        return torch.Size((self.union.n_graphs, self.x.shape[1]))

    def part(self, op: GraphOperator | None, rows: ArrayLike | Tensor) -> tuple["GraphInput", GraphOperator | None]:
        """Select the graphs `rows` (g,) and the corresponding blocks of the operator `op`, without renormalisation."""
        chosen = as_array(rows)
        x, selected = select_nodes(self.x, op, self.union.blocks(chosen))
        union = self.union.chosen(chosen)
        groups = NodeGroups.of(union.offsets, self.groups.sizes.device)
        return GraphInput(x, union, groups), None if selected is None else selected.within_graphs(groups.sizes)


class GraphClassifier(GraphNetwork):
    """Pools the node outputs of a network into logits of graphs.

    As in the authors' code, the last layer has one channel per class, and no layer follows the pooling.

    Args:
        network: one of `MODELS`, with C output channels.
        pooling: "mean", "sum", "max" or "attention".
        out_channels: number of classes C.

    Shapes:
        - input: the result of `prepare` for G graphs with N nodes in total
        - output: logits (G, C)
    """

    def __init__(self, network: GraphNetwork, pooling: PoolingName, out_channels: int) -> None:
        super().__init__()
        self.network = network
        self.pooling = make_pooling(pooling, out_channels)

    def prepare(self, x: Features, graph: Graph | DisjointUnion) -> tuple[GraphInput, GraphOperator | None]:
        """Prepare node features x (N, F) on a union of graphs once; returns the arguments of `forward`."""
        if not isinstance(graph, DisjointUnion):
            raise InputError(f"the graphs are a {type(graph).__name__}: join them with DisjointUnion.of(graphs)")
        inputs, op = self.network.prepare(x, graph.graph)
        if isinstance(inputs, SparseInput):
            inputs = inputs.to_dense()  # nodes of many graphs have few features, and rows of these are selected
        groups = NodeGroups.of(graph.offsets, self.parameter.device)
        return GraphInput(inputs, graph, groups), None if op is None else op.within_graphs(groups.sizes)

    def forward(self, x: NetworkInput, op: GraphOperator | None = None) -> Tensor:
        """Return the logits (G, C)."""
        if not isinstance(x, GraphInput):
            raise InputError(f"x is a {type(x).__name__}, expected a GraphInput: call model.prepare(x, union)")
        pooled: Tensor = self.pooling(self.network(x.x, op), x.groups)
        return pooled
