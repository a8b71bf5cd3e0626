"""Transformer: scaled dot-product attention over neighbours (Shi et al., 2021)."""

import math

from torch import Tensor

from s2gnn.nn.baselines.attention import AttentionLayer, AttentionNetwork
from s2gnn.nn.baselines.edges import NodePairs
from s2gnn.nn.baselines.stack import LinearLayer
from s2gnn.operators import SparseInput


class TransformerLayer(AttentionLayer):
    """H W + b + Σ_j p_ij v_j over j ∈ N(i), with p_i = softmax_j q_iᵀ k_j / √C; PyG's `TransformerConv`.

    Queries q, keys k and values v are linear in H. Shapes: see `AttentionLayer`.
    """

    def __init__(self, in_channels: int, out_channels: int, *, heads: int = 1) -> None:
        super().__init__(in_channels, out_channels, heads=heads)
        self.lin_key = LinearLayer(in_channels, heads * out_channels)
        self.lin_query = LinearLayer(in_channels, heads * out_channels)
        self.lin_value = LinearLayer(in_channels, heads * out_channels)
        self.lin_skip = LinearLayer(in_channels, out_channels)

    def forward(self, x: Tensor | SparseInput, edges: NodePairs) -> Tensor:
        """Return the layer's output before its activation, (N, out_channels)."""
        query, key, value = (self._by_head(linear(x)) for linear in (self.lin_query, self.lin_key, self.lin_value))
        scores = edges.dot(query / math.sqrt(self.out_channels), key)  # (heads, E)
        attended: Tensor = edges.attend(scores, value) + self.lin_skip(x)
        return attended


class Transformer(AttentionNetwork):
    """A stack of `TransformerLayer`; arguments and shapes are those of `AttentionNetwork`."""

    LAYER = TransformerLayer
    SELF_LOOPS = False
