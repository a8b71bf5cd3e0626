"""ClusterGCN: a row-normalised layer with a separate weight for the node itself (Chiang et al., 2019)."""

import scipy.sparse as sp
from torch import Tensor

from s2gnn.graphs import Graph
from s2gnn.graphs.measures import closed_neighbourhoods
from s2gnn.nn.baselines.filters import FilterLayer, FilterNetwork, propagate
from s2gnn.nn.baselines.stack import GlorotLinear
from s2gnn.operators import BranchOperator, GraphOperator, SparseInput
from s2gnn.operators.matrix import ConstantMatrix, MatrixOperator


class ClusterGCNLayer(FilterLayer):
    """P H W_1 + H W_2 + b, with P the mean over a node and its neighbours; PyG's `ClusterGCNConv`."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(in_channels, out_channels)
        self.mean = GlorotLinear(in_channels, out_channels)
        self.root = GlorotLinear(in_channels, out_channels, bias=False)

    def filters(self, x: Tensor, op: BranchOperator) -> tuple[Tensor, ...]:
        """Return x and P x."""
        return x, propagate(op, x)

    def combine(self, *signals: Tensor) -> Tensor:
        """Return (P x) W_1 + x W_2 + b."""
        own, averaged = signals
        combined: Tensor = self.mean(averaged) + self.root(own)
        return combined

    def transform_first(self, x: Tensor | SparseInput, op: BranchOperator) -> Tensor:
        """Return P (x W_1) + x W_2 + b."""
        return propagate(op, x @ self.mean.weight.T) + x @ self.root.weight.T + self.mean.bias


class ClusterGCN(FilterNetwork):
    """A stack of `ClusterGCNLayer` on the full graph, as the paper used it: no clusters, and no edge weights.

    Arguments and shapes are those of `Stack`.
    """

    LAYER = ClusterGCNLayer

    def operator(self, graph: Graph) -> MatrixOperator:
        """Return P."""
        closed = closed_neighbourhoods(graph)
        mean = sp.diags_array(1 / closed.sum(axis=1)) @ closed
        return MatrixOperator([ConstantMatrix.from_scipy(mean, self.parameter)])

    def accepts(self, op: GraphOperator | None) -> bool:
        """Return whether `op` has a matrix such as P."""
        return isinstance(op, MatrixOperator)
