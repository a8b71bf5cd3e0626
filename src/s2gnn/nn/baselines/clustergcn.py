"""ClusterGCN: a row-normalised layer with a weight of its own for the node itself (Chiang et al., 2019)."""

from itertools import pairwise
from typing import Any

import scipy.sparse as sp
from torch import Tensor, nn

from s2gnn.graphs import Graph
from s2gnn.graphs.measures import closed_neighbourhoods
from s2gnn.nn.arguments import layer_widths
from s2gnn.nn.baselines.linear import GlorotLinear
from s2gnn.nn.baselines.network import HeadName, Network
from s2gnn.nn.features import Propagated, sparse_if_cheaper, table
from s2gnn.operators import SparseInput
from s2gnn.operators.matrix import ConstantMatrix


class ClusterGCNLayer(nn.Module):
    r"""P H W_1 + H W_2 + b, with P the mean over a node and its neighbours; PyG's `ClusterGCNConv`.

    Shapes:
        - input: x (N, in_channels), dense, sparse or propagated, and P (N, N)
        - output: (N, out_channels)
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.mean = GlorotLinear(in_channels, out_channels)
        self.root = GlorotLinear(in_channels, out_channels, bias=False)

    def reset_parameters(self) -> None:
        """Draw Glorot-uniform weights, and the bias as `torch.nn.Linear` does, as in PyG."""
        self.mean.reset_parameters()
        self.root.reset_parameters()

    def forward(self, x: Tensor | SparseInput | Propagated, mean: ConstantMatrix) -> Tensor:
        """The layer's output before its activation, (N, out_channels)."""
        if isinstance(x, Propagated):
            own, averaged = x.by(mean)
            return self.mean(averaged) + self.root(own)  # type: ignore[no-any-return]
        if isinstance(x, Tensor) and self.mean.in_features <= self.mean.out_features:
            return self.mean(mean @ x) + self.root(x)  # type: ignore[no-any-return]
        return mean @ (x @ self.mean.weight.T) + x @ self.root.weight.T + self.mean.bias


class ClusterGCN(Network):
    """A stack of ClusterGCN layers on the full graph, as the paper used it: no clusters, and no edge weights.

    Args:
        in_channels: width of the node features.
        hidden_channels: width between layers.
        out_channels: number of classes.
        num_layers: number of layers, at least 1.
        dropout: probability of dropping a hidden element in training.
        head: see `Network`.

    Shapes:
        - input: x (N, in_channels) or what `prepare` gives, and P (N, N) that `prepare` gives
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
        super().__init__((ClusterGCNLayer(i, o) for i, o in pairwise(widths)), dropout, head)
        self.in_channels = widths[0]

    def prepare(self, x: Any, graph: Graph) -> tuple[Propagated | SparseInput, ConstantMatrix]:
        """X and P X, or X as a sparse matrix where P (X W_1) is cheaper, and P."""
        features = table(x, graph, self.in_channels)
        closed = closed_neighbourhoods(graph)
        mean = ConstantMatrix.from_scipy(sp.diags_array(1 / closed.sum(axis=1)) @ closed, self._parameter)
        inputs = sparse_if_cheaper(features, self._parameter, graph.n_edges)
        return Propagated((inputs, mean @ inputs), mean) if isinstance(inputs, Tensor) else inputs, mean
