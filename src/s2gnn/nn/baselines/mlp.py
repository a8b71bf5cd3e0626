"""MLP: a network without a graph, to measure the value of the graph."""

from torch import Tensor

from s2gnn.graphs import Graph
from s2gnn.nn.baselines.stack import LinearLayer, Stack
from s2gnn.nn.inputs import Features, sparse_if_cheaper, table
from s2gnn.operators import SparseInput


class MLP(Stack):
    """A stack of linear layers with ReLU and dropout between them; arguments and shapes are those of `Stack`.

    `forward` accepts an operator, for the common calling convention, and ignores it.
    """

    LAYER = LinearLayer

    def prepare(self, x: Features, graph: Graph | None = None) -> tuple[Tensor | SparseInput, None]:
        """Return the features (N, in_channels) as the first layer takes them, sparse where that is cheaper."""
        return sparse_if_cheaper(table(x, graph, self.in_channels), self.parameter), None
