"""Decoders: from the embeddings of two nodes to the logit of an edge; symmetric in the two nodes."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from torch import Tensor, nn
from torch.nn import functional as F

from s2gnn.nn.arguments import positive_integer, probability

DecoderName = Literal["dot", "mlp"]


class DotDecoder(nn.Module):
    """The dot product ⟨z_i, z_j⟩ (Kipf and Welling, 2016), without parameters.

    Args:
        in_channels: width of the embeddings; unused, for compatibility with `MLPDecoder`.

    Shapes:
        - input: the embeddings of the first ends (P, in_channels) and of the second ends (P, in_channels)
        - output: logits (P,)
    """

    def __init__(self, in_channels: int) -> None:
        super().__init__()
        self.in_channels = positive_integer(in_channels, "in_channels")

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Return the logits (P,)."""
        return (first * second).sum(dim=1)


class MLPDecoder(nn.Module):
    """A hidden layer on the elementwise product z_i ∘ z_j.

    Args:
        in_channels: width of the embeddings.
        hidden_channels: width of the hidden layer; default: the width of the embeddings.
        dropout: probability of dropping a hidden element in training.

    Shapes:
        - input: the embeddings of the first ends (P, in_channels) and of the second ends (P, in_channels)
        - output: logits (P,)
    """

    def __init__(self, in_channels: int, hidden_channels: int | None = None, dropout: float = 0.0) -> None:
        super().__init__()
        self.in_channels = positive_integer(in_channels, "in_channels")
        width = self.in_channels if hidden_channels is None else positive_integer(hidden_channels, "hidden_channels")
        self.hidden = nn.Linear(self.in_channels, width)
        self.out = nn.Linear(width, 1)
        self.dropout = probability(dropout, "dropout")

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """Return the logits (P,)."""
        h = F.dropout(F.relu(self.hidden(first * second)), self.dropout, self.training)  # (P, hidden_channels)
        logits: Tensor = self.out(h)[:, 0]
        return logits


DECODERS: Mapping[DecoderName, type[DotDecoder] | type[MLPDecoder]] = MappingProxyType(
    {"dot": DotDecoder, "mlp": MLPDecoder}
)
