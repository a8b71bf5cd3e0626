"""GraphClassifier: any network of the comparison, with its logits pooled over the nodes of each graph."""

from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from s2gnn.errors import InputError
from s2gnn.graphs import DisjointUnion
from s2gnn.graphs.validation import as_array
from s2gnn.nn.auxiliary import auxiliary_loss
from s2gnn.nn.baselines.edges import NodePairs
from s2gnn.nn.models import hyperparameters, make_model
from s2gnn.nn.pooling import NodeGroups, PoolingName, make_pooling
from s2gnn.nn.selection import select_nodes
from s2gnn.operators import SparseInput


@dataclass(frozen=True, eq=False)
class GraphInput:
    """The features of all nodes of a union, as a network was prepared with them; its rows are the graphs.

    Attributes:
        x: features (N, F) as the network takes them.
        union: of G graphs.
        groups: which nodes belong to which graph.
    """

    x: Any
    union: DisjointUnion
    groups: NodeGroups

    @property
    def shape(self) -> torch.Size:
        """(G, F): how many graphs, and how many features a node has."""
        return torch.Size((self.union.n_graphs, self.x.shape[1]))

    def part(self, op: Any, rows: ArrayLike | Tensor) -> tuple["GraphInput", Any]:
        """The graphs `rows` (g,) alone, and the operator `op` of all graphs on these; nothing is normalised anew."""
        chosen = as_array(rows)
        x, selected = select_nodes(self.x, op, self.union.blocks(chosen))
        union = self.union.chosen(chosen)
        groups = NodeGroups.of(union.offsets, self.groups.sizes.device)
        return GraphInput(x, union, groups), _within_graphs(selected, groups)


class GraphClassifier(nn.Module):
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

    def __init__(self, network: nn.Module, pooling: PoolingName, out_channels: int) -> None:
        super().__init__()
        self.network = network
        self.pooling = make_pooling(pooling, out_channels)

    def reset_parameters(self) -> None:
        """Draw new parameters for the network and the pooling."""
        self.network.reset_parameters()  # type: ignore[operator]
        if hasattr(self.pooling, "reset_parameters"):
            self.pooling.reset_parameters()  # type: ignore[operator]

    def prepare(self, x: Any, union: DisjointUnion) -> tuple[GraphInput, Any]:
        """What the classifier is called with for node features x (N, F) on a union; made once, for all epochs."""
        if not isinstance(union, DisjointUnion):
            raise InputError(f"the graphs are a {type(union).__name__}: join them with DisjointUnion.of(graphs)")
        inputs, op = self.network.prepare(x, union.graph)  # type: ignore[operator]
        if isinstance(inputs, SparseInput):
            inputs = inputs.to_dense()  # nodes of many graphs have few features, and rows of these are to be chosen
        groups = NodeGroups.of(union.offsets, next(self.parameters()).device)
        return GraphInput(inputs, union, groups), _within_graphs(op, groups)

    def forward(self, x: GraphInput, op: Any = None) -> Tensor:
        """The logits (G, C)."""
        return self.pooling(self.network(x.x, op), x.groups)  # type: ignore[no-any-return]

    def auxiliary_loss(self) -> Tensor:
        """That of the network in its last forward pass; zero for a network that has none."""
        return auxiliary_loss(self.network)


def _within_graphs(op: Any, groups: NodeGroups) -> Any:
    """An operator of a union that knows its graphs, where that matters: SuperGAT draws pairs of nodes of one graph."""
    return op.within(groups) if isinstance(op, NodePairs) else op


def make_graph_model(
    name: str, in_channels: int, out_channels: int, *, pooling: PoolingName = "mean", **given: Any
) -> GraphClassifier:
    """The model called `name` for graphs.

    Args:
        name: one of `MODELS`.
        in_channels: width of the node features.
        out_channels: number of classes.
        pooling: "mean", "sum", "max" or "attention".
        **given: of `hyperparameters(name)`, see `make_model`.
    """
    unknown = [key for key in given if key not in hyperparameters(name)]
    if unknown:
        allowed = ", ".join((*hyperparameters(name), "pooling"))
        raise InputError(f"{name} has no hyperparameter {unknown[0]!r}: allowed are {allowed}")
    return GraphClassifier(make_model(name, in_channels, out_channels, **given), pooling, out_channels)
