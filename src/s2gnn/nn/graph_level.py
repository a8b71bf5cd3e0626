"""GraphClassifier: any network of the comparison, with its logits pooled over the nodes of each graph."""

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
    """The features of all nodes of a union, as a network was prepared with them; its rows are the graphs.

    Attributes:
        x: features (N, F) as the network takes them.
        union: of G graphs.
        groups: which nodes belong to which graph.
    """

    x: NetworkInput
    union: DisjointUnion
    groups: NodeGroups

    @property
    def shape(self) -> torch.Size:
        """(G, F): how many graphs, and how many features a node has."""
        return torch.Size((self.union.n_graphs, self.x.shape[1]))

    def part(self, op: GraphOperator | None, rows: ArrayLike | Tensor) -> tuple["GraphInput", GraphOperator | None]:
        """The graphs `rows` (g,) alone, and the operator `op` of all graphs on these; nothing is normalised again."""
        chosen = as_array(rows)
        x, selected = select_nodes(self.x, op, self.union.blocks(chosen))
        union = self.union.chosen(chosen)
        groups = NodeGroups.of(union.offsets, self.groups.sizes.device)
        return GraphInput(x, union, groups), None if selected is None else selected.within_graphs(groups.sizes)


class GraphClassifier(GraphNetwork):
    """A network on the nodes of many graphs, whose outputs are pooled into logits of the graphs.

    As in the code that the paper's authors released, the last layer has one channel for each class and nothing follows
    the pooling.

    Args:
        network: of `MODELS`, with C output channels.
        pooling: "mean", "sum", "max" or "attention".
        out_channels: number of classes C.

    Shapes:
        - input: what `prepare` gives for G graphs with N nodes in all
        - output: logits (G, C)
    """

    def __init__(self, network: GraphNetwork, pooling: PoolingName, out_channels: int) -> None:
        super().__init__()
        self.network = network
        self.pooling = make_pooling(pooling, out_channels)

    def prepare(self, x: Features, graph: Graph | DisjointUnion) -> tuple[GraphInput, GraphOperator | None]:
        """What the classifier is called with for node features x (N, F) on a union of graphs; made once."""
        if not isinstance(graph, DisjointUnion):
            raise InputError(f"the graphs are a {type(graph).__name__}: join them with DisjointUnion.of(graphs)")
        inputs, op = self.network.prepare(x, graph.graph)
        if isinstance(inputs, SparseInput):
            inputs = inputs.to_dense()  # nodes of many graphs have few features, and rows of these are selected
        groups = NodeGroups.of(graph.offsets, self.parameter.device)
        return GraphInput(inputs, graph, groups), None if op is None else op.within_graphs(groups.sizes)

    def forward(self, x: NetworkInput, op: GraphOperator | None = None) -> Tensor:
        """The logits (G, C)."""
        if not isinstance(x, GraphInput):
            raise InputError(f"x is a {type(x).__name__}, expected a GraphInput: call model.prepare(x, union)")
        pooled: Tensor = self.pooling(self.network(x.x, op), x.groups)
        return pooled
