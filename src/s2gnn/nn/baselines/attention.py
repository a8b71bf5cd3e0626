"""Base classes of the attention networks: averaged heads, softmax over edge scores, no edge weights."""

import torch
from torch import Tensor, nn

from s2gnn.graphs import Graph
from s2gnn.nn.baselines.edges import NodePairs
from s2gnn.nn.baselines.stack import Stack
from s2gnn.nn.inputs import Features, sparse_if_cheaper, table
from s2gnn.nn.network import reset
from s2gnn.operators import GraphOperator, SparseInput
from s2gnn.ranges import DEPTH

NEGATIVE_SLOPE = 0.2


class AttentionLayer(nn.Module):
    """An attention layer with `heads` heads, whose parameters have the names and shapes of the equivalent PyG layer.

    Shapes:
        - input: x (N, in_channels), dense or sparse, and the edges of N nodes as `NodePairs`
        - output: (N, out_channels), the mean over the heads
    """

    def __init__(self, in_channels: int, out_channels: int, *, heads: int = 1) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.heads = DEPTH.checked(heads, "heads")

    def reset_parameters(self) -> None:
        """Draw the linear maps, then Glorot-uniform attention vectors (1, heads, C), and set the bias to zero."""
        for linear in self.children():
            reset(linear)
        for parameter in self.parameters(recurse=False):
            if parameter.ndim == 3:
                nn.init.xavier_uniform_(parameter[0])
            else:
                nn.init.zeros_(parameter)

    def _by_head(self, h: Tensor) -> Tensor:
        """Return (N, heads · C) → (N, heads, C)."""
        return h.view(len(h), self.heads, self.out_channels)

    def extra_repr(self) -> str:
        """Return the arguments of the layer, for `repr`."""
        return f"{self.in_channels}, {self.out_channels}, heads={self.heads}"


def vectors(heads: int, channels: int) -> nn.Parameter:
    """Return one uninitialised attention vector for each head, (1, heads, channels) as in PyG."""
    return nn.Parameter(torch.empty(1, heads, channels))


def end_scores(h: Tensor, own: Tensor, neighbour: Tensor, edges: NodePairs, slope: float) -> Tensor:
    """Return LeakyReLU(ownᵀ h_i + neighbourᵀ h_j) of pairs (heads, E), for h (N, heads, C), vectors (1, heads, C)."""
    of_own, of_neighbour = ((h * a).sum(-1, keepdim=True) for a in (own, neighbour))  # (N, heads, 1)
    return edges.additive(of_own, of_neighbour, h.new_ones(h.shape[1], 1), slope)


class AttentionNetwork(Stack):
    """A stack of attention layers; further arguments and shapes are those of `Stack`.

    Args:
        hidden_channels: width between layers, and of each head.
        dropout: probability of dropping a hidden element in training; attention coefficients are not dropped.
        heads: number of attention heads, which are averaged; default 1.
    """

    SELF_LOOPS = True

    def prepare(self, x: Features, graph: Graph) -> tuple[Tensor | SparseInput, NodePairs]:
        """Return the features (N, in_channels), sparse where that is cheaper, and edges with or without self-loops."""
        features = sparse_if_cheaper(table(x, graph, self.in_channels), self.parameter)
        return features, NodePairs.of(graph, self_loops=self.SELF_LOOPS, device=self.parameter.device)

    def accepts(self, op: GraphOperator | None) -> bool:
        """Return whether `op` has edges to attend along."""
        return isinstance(op, NodePairs)
