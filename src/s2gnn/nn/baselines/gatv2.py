"""GATv2: graph attention whose ranking of neighbours depends on the node (Brody et al., 2022)."""

from s2gnn.nn.baselines.attention import AttentionNetwork


class GATv2(AttentionNetwork):
    """A stack of PyG's `GATv2Conv`: coefficients softmax_j aᵀ LeakyReLU(W_1 h_i + W_2 h_j) over j ∈ N(i) ∪ {i}.

    Arguments and shapes are those of `AttentionNetwork`.
    """

    LAYER = "GATv2Conv"
