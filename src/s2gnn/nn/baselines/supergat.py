"""SuperGAT: attention that also learns to tell edges from pairs that are none (Kim and Oh, 2021)."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from s2gnn.errors import InputError
from s2gnn.nn.baselines.attention import NEGATIVE_SLOPE, AttentionLayer, AttentionNetwork, along, vectors
from s2gnn.nn.baselines.edges import NodePairs
from s2gnn.nn.baselines.linear import GlorotLinear
from s2gnn.nn.baselines.network import HeadName
from s2gnn.nn.baselines.non_edges import non_edges
from s2gnn.operators import SparseInput


class SuperGATLayer(AttentionLayer):
    """GAT with the scores (aᵀ W h_j + cᵀ W h_i) σ((W h_i)ᵀ W h_j); PyG's `SuperGATConv` of type MX.

    σ(·), a guess whether (i, j) is an edge, is also trained as one, by `attention_loss`. Shapes: see `AttentionLayer`.
    """

    def __init__(self, in_channels: int, out_channels: int, heads: int) -> None:
        super().__init__(in_channels, out_channels, heads)
        self.supervised = True
        self.attention_loss: Tensor | None = None
        self.lin = GlorotLinear(in_channels, heads * out_channels, bias=False)
        self.att_l = vectors(heads, out_channels)
        self.att_r = vectors(heads, out_channels)
        self.bias = nn.Parameter(self.att_l.new_empty(out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw Glorot-uniform weights and attention vectors, and set the bias to zero."""
        self.lin.reset_parameters()
        nn.init.xavier_uniform_(self.att_l[0])
        nn.init.xavier_uniform_(self.att_r[0])
        nn.init.zeros_(self.bias)

    def train(self, mode: bool = True) -> "SuperGATLayer":
        """Enter or leave training; leaving it forgets the loss of the last step."""
        self.attention_loss = self.attention_loss if mode else None
        return super().train(mode)

    def forward(self, x: Tensor | SparseInput, edges: NodePairs) -> Tensor:
        """The layer's output before its activation, (N, out_channels); in training also `attention_loss`."""
        h = self._by_head(self.lin(x))  # (heads, N, C)
        source, target = along(h, self.att_l), along(h, self.att_r)  # (heads, N)
        guesses = edges.dot(h, h)  # (heads, E)
        scores = (edges.of_columns(source) + edges.of_rows(target)) * guesses.sigmoid()
        shares = edges.softmax(F.leaky_relu(scores, NEGATIVE_SLOPE))
        if self.training and self.supervised:
            self.attention_loss = _cross_entropy(guesses, non_edges(edges).dot(h, h))
        return edges.sum(shares, h).mean(0) + self.bias


def _cross_entropy(edges: Tensor, others: Tensor) -> Tensor:
    """The cross-entropy of telling edges from others by guesses (heads, ·), averaged over the heads."""
    guesses = torch.cat([edges, others], dim=1).mean(0)
    truth = torch.arange(len(guesses), device=guesses.device) < edges.shape[1]
    return F.binary_cross_entropy_with_logits(guesses, truth.to(guesses))


class SuperGAT(AttentionNetwork):
    """A stack of `SuperGATLayer`; shapes are those of `AttentionNetwork`.

    Args:
        in_channels: width of the node features.
        hidden_channels: width between layers, and of each head.
        out_channels: number of classes.
        num_layers: number of layers, at least 1.
        dropout: probability of dropping a hidden element in training; attention coefficients are not dropped.
        heads: number of attention heads, which are averaged.
        attention_loss: weight of the self-supervised loss; the released code trains without, i.e. with 0.
        head: see `Network`.
    """

    LAYER = SuperGATLayer

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
        if not (isinstance(attention_loss, int | float) and math.isfinite(attention_loss) and attention_loss >= 0):
            raise InputError(f"attention_loss is {attention_loss!r}, but a weight is a finite number >= 0")
        self.attention_loss = float(attention_loss)
        for layer in self.layers:
            layer.supervised = self.attention_loss > 0  # type: ignore[assignment]

    def auxiliary_loss(self) -> Tensor:
        """`attention_loss` times the cross-entropy of telling edges from non-edges in the last forward pass.

        It is summed over the layers, and zero outside training.
        """
        losses = [layer.attention_loss for layer in self.layers if layer.attention_loss is not None]
        if not losses:
            return self._parameter.new_zeros(())
        return self.attention_loss * torch.stack(losses).sum()  # type: ignore[arg-type]
