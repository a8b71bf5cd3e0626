"""GAT: graph attention (Veličković et al., 2018)."""

from s2gnn.nn.baselines.attention import AttentionNetwork


class GAT(AttentionNetwork):
    """A stack of PyG's `GATConv`: coefficients softmax_j LeakyReLU(aᵀ[W h_i, W h_j]) over j ∈ N(i) ∪ {i}.

    Arguments and shapes are those of `AttentionNetwork`.
    """

    LAYER = "GATConv"
