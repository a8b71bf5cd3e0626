"""MLP: the network that sees the features only, the yardstick for what a graph adds."""

from itertools import pairwise
from typing import Any

from torch import Tensor

from s2gnn.graphs import Graph
from s2gnn.nn.arguments import layer_widths
from s2gnn.nn.baselines.linear import LinearLayer
from s2gnn.nn.baselines.network import HeadName, Network
from s2gnn.nn.features import sparse_if_cheaper, table
from s2gnn.operators import SparseInput


class MLP(Network):
    """A stack of linear layers with ReLU and dropout between them.

    Args:
        in_channels: width of the features.
        hidden_channels: width between layers.
        out_channels: number of classes.
        num_layers: number of layers, at least 1.
        dropout: probability of dropping a hidden element in training.
        head: see `Network`.

    Shapes:
        - input: x (N, in_channels); an operator is accepted, for the common calling convention, and unused
        - output: logits (N, out_channels)
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        dropout: float = 0.5,
        head: HeadName = "plain",
    ) -> None:
        widths = layer_widths(in_channels, hidden_channels, out_channels, num_layers)
        super().__init__((LinearLayer(i, o) for i, o in pairwise(widths)), dropout, head)
        self.in_channels = widths[0]

    def prepare(self, x: Any, graph: Graph | None = None) -> tuple[Tensor | SparseInput, None]:
        """The features (N, in_channels) as the first layer takes them, sparse where that is cheaper."""
        return sparse_if_cheaper(table(x, graph, self.in_channels), self._parameter), None
