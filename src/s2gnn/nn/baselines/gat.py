"""GAT: graph attention (Veličković et al., 2018)."""

from torch import Tensor, nn

from s2gnn.nn.baselines.attention import NEGATIVE_SLOPE, AttentionLayer, AttentionNetwork, end_scores, vectors
from s2gnn.nn.baselines.edges import NodePairs
from s2gnn.nn.baselines.stack import GlorotLinear
from s2gnn.operators import SparseInput


class GATLayer(AttentionLayer):
    """Σ_j p_ij W h_j + b over j ∈ N(i) ∪ {i}, with p_i = softmax_j LeakyReLU(aᵀ W h_j + cᵀ W h_i); PyG's `GATConv`.

    Shapes: see `AttentionLayer`.
    """

    def __init__(self, in_channels: int, out_channels: int, *, heads: int = 1) -> None:
        super().__init__(in_channels, out_channels, heads=heads)
        self.lin = GlorotLinear(in_channels, heads * out_channels, bias=False)
        self.att_src = vectors(heads, out_channels)
        self.att_dst = vectors(heads, out_channels)
        self.bias = nn.Parameter(self.att_src.new_empty(out_channels))
        self.reset_parameters()

    def forward(self, x: Tensor | SparseInput, edges: NodePairs) -> Tensor:
        """Return the layer's output before its activation, (N, out_channels)."""
        h = self._by_head(self.lin(x))  # (N, heads, C)
        scores = end_scores(h, self.att_dst, self.att_src, edges, NEGATIVE_SLOPE)  # (heads, E)
        return edges.attend(scores, h) + self.bias


class GAT(AttentionNetwork):
    """A stack of `GATLayer`; arguments and shapes are those of `AttentionNetwork`."""

    LAYER = GATLayer
