"""Transformer: scaled dot-product attention over neighbours (Shi et al., 2021)."""

from s2gnn.nn.baselines.attention import AttentionNetwork


class Transformer(AttentionNetwork):
    """A stack of PyG's `TransformerConv`: W_1 h_i + Σ_j softmax_j((W_3 h_i)ᵀ W_4 h_j / √d) W_2 h_j over j ∈ N(i).

    Arguments and shapes are those of `AttentionNetwork`.
    """

    LAYER = "TransformerConv"
    SELF_LOOPS = False
