"""What the attention networks share: heads averaged, the softmax of edge scores, and no edge weights."""

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from s2gnn.graphs import Graph
from s2gnn.graphs.measures import closed_neighbourhoods
from s2gnn.nn.arguments import layer_widths, positive_integer
from s2gnn.nn.baselines.edges import NodePairs
from s2gnn.nn.baselines.network import HeadName, Network
from s2gnn.nn.features import sparse_if_cheaper, table
from s2gnn.operators import SparseInput

NEGATIVE_SLOPE = 0.2


class AttentionLayer(nn.Module):
    """A layer of attention with `heads` heads; parameters have the names and shapes of the PyG layer it equals.

    Shapes:
        - input: x (N, in_channels), dense or sparse, and the edges of N nodes as `NodePairs`
        - output: (N, out_channels), the mean over the heads
    """

    def __init__(self, in_channels: int, out_channels: int, heads: int) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.heads = heads

    def _by_head(self, h: Tensor) -> Tensor:
        """(N, heads · C) → (heads, N, C)."""
        return h.view(len(h), self.heads, self.out_channels).transpose(0, 1).contiguous()

    def extra_repr(self) -> str:
        """The arguments of the layer, for `repr`."""
        return f"{self.in_channels}, {self.out_channels}, heads={self.heads}"


def vectors(heads: int, channels: int) -> nn.Parameter:
    """One attention vector for each head, (1, heads, channels) as in PyG, yet to be drawn."""
    return nn.Parameter(torch.empty(1, heads, channels))


def along(h: Tensor, a: Tensor) -> Tensor:
    """aᵀ h_i of every node and head (heads, N), of signals h (heads, N, C) and attention vectors a (1, heads, C)."""
    return (h @ a[0, :, :, None])[..., 0]


class AttentionNetwork(Network):
    """A stack of attention layers with ReLU and dropout between them; a subclass names its layer.

    Args:
        in_channels: width of the node features.
        hidden_channels: width between layers, and of each head.
        out_channels: number of classes.
        num_layers: number of layers, at least 1.
        dropout: probability of dropping a hidden element in training; attention coefficients are not dropped.
        heads: number of attention heads, which are averaged.
        head: see `Network`.

    Shapes:
        - input: x (N, in_channels) and the edges as `NodePairs`, as `prepare` gives them
        - output: logits (N, out_channels)
    """

    LAYER: type[AttentionLayer]
    SELF_LOOPS = True

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        dropout: float = 0.5,
        heads: int = 1,
        head: HeadName = "plain",
    ) -> None:
        widths = layer_widths(in_channels, hidden_channels, out_channels, num_layers)
        n_heads = positive_integer(heads, "heads")
        super().__init__((self.LAYER(i, o, n_heads) for i, o in pairwise(widths)), dropout, head)
        self.in_channels = widths[0]
        self.heads = n_heads

    def prepare(self, x: Any, graph: Graph) -> tuple[Tensor | SparseInput, NodePairs]:
        """The features (N, in_channels), sparse where that is cheaper, and the edges, with self-loops or without."""
        features = table(x, graph, self.in_channels)
        pattern = closed_neighbourhoods(graph) if self.SELF_LOOPS else graph.to_scipy()
        pattern.sort_indices()
        rows, columns = (torch.from_numpy(axis.astype("int64")) for axis in pattern.tocoo().coords)
        codes = (rows * graph.n_nodes + columns).to(self._parameter.device)
        return sparse_if_cheaper(features, self._parameter), NodePairs(codes, graph.n_nodes)
