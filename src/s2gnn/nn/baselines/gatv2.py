"""GATv2: graph attention whose ranking of neighbours depends on the node (Brody et al., 2022)."""

from torch import Tensor, nn

from s2gnn.nn.baselines.attention import NEGATIVE_SLOPE, AttentionLayer, AttentionNetwork, vectors
from s2gnn.nn.baselines.edges import NodePairs
from s2gnn.nn.baselines.stack import GlorotLinear
from s2gnn.operators import SparseInput


class GATv2Layer(AttentionLayer):
    """Σ_j p_ij l_j + b over j ∈ N(i) ∪ {i}, with p_i = softmax_j aᵀ LeakyReLU(r_i + l_j); PyG's `GATv2Conv`.

    l = H W_l + b_l and r = H W_r + b_r. Shapes: see `AttentionLayer`.
    """

    def __init__(self, in_channels: int, out_channels: int, *, heads: int = 1) -> None:
        super().__init__(in_channels, out_channels, heads=heads)
        self.lin_l = GlorotLinear(in_channels, heads * out_channels)
        self.lin_r = GlorotLinear(in_channels, heads * out_channels)
        self.att = vectors(heads, out_channels)
        self.bias = nn.Parameter(self.att.new_empty(out_channels))
        self.reset_parameters()

    def forward(self, x: Tensor | SparseInput, edges: NodePairs) -> Tensor:
        """Return the layer's output before its activation, (N, out_channels)."""
        neighbour, own = self._by_head(self.lin_l(x)), self._by_head(self.lin_r(x))  # (N, heads, C)
        scores = edges.additive(own, neighbour, self.att[0], NEGATIVE_SLOPE)  # (heads, E)
        return edges.attend(scores, neighbour) + self.bias


class GATv2(AttentionNetwork):
    """A stack of `GATv2Layer`; arguments and shapes are those of `AttentionNetwork`."""

    LAYER = GATv2Layer
