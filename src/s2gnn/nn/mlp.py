"""MLP: the network that sees the features only, the yardstick for what a graph adds."""

from itertools import pairwise

from torch import Tensor, nn
from torch.nn import functional as F

from s2gnn.nn.arguments import layer_widths, probability
from s2gnn.operators import SobolevOperator


class MLP(nn.Module):
    """A stack of linear layers with ReLU and dropout between them.

    Args:
        in_channels: width of the features.
        hidden_channels: width between layers.
        out_channels: number of classes.
        num_layers: number of layers, at least 1.
        dropout: probability of dropping a hidden element in training.

    Shapes:
        - input: x (N, in_channels); an operator is accepted, for the common calling convention, and unused
        - output: logits (N, out_channels)
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.dropout = probability(dropout, "dropout")
        widths = layer_widths(in_channels, hidden_channels, out_channels, num_layers)
        self.layers = nn.ModuleList(nn.Linear(i, o) for i, o in pairwise(widths))

    def reset_parameters(self) -> None:
        """Draw new parameters for every layer."""
        for layer in self.layers:
            layer.reset_parameters()  # type: ignore[operator]

    def forward(self, x: Tensor, op: SobolevOperator | None = None) -> Tensor:
        """The logits (N, out_channels)."""
        del op
        *hidden, last = self.layers
        for layer in hidden:
            x = F.dropout(F.relu(layer(x)), self.dropout, self.training)
        return last(x)  # type: ignore[no-any-return]
