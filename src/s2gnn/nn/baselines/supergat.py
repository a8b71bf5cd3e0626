"""SuperGAT: attention that also learns to tell edges from pairs that are none (Kim and Oh, 2021)."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from s2gnn.errors import InputError
from s2gnn.nn.baselines.attention import AttentionNetwork
from s2gnn.nn.baselines.network import HeadName

NON_EDGES_PER_EDGE = 0.5


class SuperGATLayer(nn.Module):
    """PyG's `SuperGATConv`, type MX, whose non-edges are drawn by torch; PyG takes them from Python's generator.

    Shapes:
        - input: x (N, in_channels), edge_index (2, E) with self-loops, sorted by target, then source
        - output: (N, out_channels)
    """

    def __init__(self, conv: nn.Module) -> None:
        super().__init__()
        self.conv = conv
        self.supervised = True

    def reset_parameters(self) -> None:
        """Draw new parameters, as in PyG."""
        self.conv.reset_parameters()  # type: ignore[operator]

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """The layer's output before its activation, (N, out_channels)."""
        learning = self.training and self.supervised
        # The layer scores edges and non-edges only while it trains; nothing else in it depends on the mode.
        self.conv.train(learning)
        pairs = non_edges(edge_index, len(x)) if learning else None
        return self.conv(x, edge_index, pairs)  # type: ignore[no-any-return]


def non_edges(edge_index: Tensor, n_nodes: int) -> Tensor:
    """Random ordered pairs (2, about E/2) that are not in `edge_index`, which is sorted by target, then source."""
    known = edge_index[1] * n_nodes + edge_index[0]
    share = 1 - len(known) / n_nodes**2
    if share == 0:
        return edge_index[:, :0]
    wanted = math.ceil(NON_EDGES_PER_EDGE * len(known) / share)
    drawn = torch.randint(n_nodes**2, (wanted,), device=known.device)
    position = torch.searchsorted(known, drawn).clamp(max=len(known) - 1)
    drawn = drawn[known[position] != drawn]
    return torch.stack([drawn % n_nodes, drawn // n_nodes])


class SuperGAT(AttentionNetwork):
    """A stack of PyG's `SuperGATConv`: GAT's coefficients times σ((W h_i)ᵀ W h_j), a guess whether (i, j) is an edge.

    Arguments and shapes are those of `AttentionNetwork`, and

    Args:
        in_channels: width of the node features.
        hidden_channels: width between layers, and of each head.
        out_channels: number of classes.
        num_layers: number of layers, at least 1.
        dropout: probability of dropping a hidden element in training.
        heads: number of attention heads, which are averaged.
        attention_loss: weight of the self-supervised loss; the released code trains without, i.e. with 0.
        head: see `Network`.
    """

    LAYER = "SuperGATConv"

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        dropout: float = 0.5,
        heads: int = 1,
        attention_loss: float = 1.0,
        head: HeadName = "plain",
    ) -> None:
        super().__init__(in_channels, hidden_channels, out_channels, num_layers, dropout, heads, head)
        if not (attention_loss >= 0 and math.isfinite(attention_loss)):
            raise InputError(f"attention_loss is {attention_loss}, but a weight is a finite number >= 0")
        self.attention_loss = float(attention_loss)
        for layer in self.layers:
            layer.supervised = self.attention_loss > 0  # type: ignore[assignment]

    @classmethod
    def _layer(cls, width_in: int, width_out: int, heads: int) -> nn.Module:
        return SuperGATLayer(super()._layer(width_in, width_out, heads))

    def auxiliary_loss(self) -> Tensor:
        """`attention_loss` times the cross-entropy of telling edges from non-edges in the last forward pass.

        It is summed over the layers, and zero outside training.
        """
        if not (self.training and self.attention_loss > 0):
            return self._parameter.new_zeros(())
        losses: list[Any] = [layer.conv.get_attention_loss() for layer in self.layers]  # type: ignore[union-attr, operator]
        return self.attention_loss * torch.stack(losses).sum()
