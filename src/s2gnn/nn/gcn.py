"""GCN: the first-order network of Kipf and Welling (2017), the baseline on the same graph."""

from itertools import pairwise

from torch import Tensor, nn
from torch.nn import functional as F

from s2gnn.errors import InputError
from s2gnn.nn.arguments import layer_widths, probability
from s2gnn.operators import PreparedInput, SobolevOperator


class GCNLayer(nn.Module):
    r"""H W propagated by :math:`\tilde D^{-1/2} (A + I) \tilde D^{-1/2}`, which is S_1 at ε = 1.

    Shapes:
        - input: x (N, in_channels) or `op.prepare(x)`, and a `SobolevOperator` with alpha=1, epsilon=1
        - output: (N, out_channels)
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_channels, out_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw Glorot-uniform weights and set the bias to zero, as in PyG's `GCNConv`."""
        nn.init.xavier_uniform_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, x: Tensor | PreparedInput, op: SobolevOperator) -> Tensor:
        """The layer's output before its activation, (N, out_channels)."""
        if isinstance(x, PreparedInput) or self.linear.in_features <= self.linear.out_features:
            return self.linear(op.stacked(x)[:, 1])  # type: ignore[no-any-return]
        return op.propagate(F.linear(x, self.linear.weight))[0] + self.linear.bias


class GCN(nn.Module):
    """A stack of GCN layers with ReLU and dropout between them; the last layer gives the logits as they are.

    Args:
        in_channels: width of the node features.
        hidden_channels: width between layers.
        out_channels: number of classes.
        num_layers: number of layers, at least 1.
        dropout: probability of dropping a hidden element in training.

    Shapes:
        - input: x (N, in_channels) or `op.prepare(x)`, and a `SobolevOperator` with alpha=1, epsilon=1
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
        self.layers = nn.ModuleList(GCNLayer(i, o) for i, o in pairwise(widths))

    def reset_parameters(self) -> None:
        """Draw new parameters for every layer."""
        for layer in self.layers:
            layer.reset_parameters()  # type: ignore[operator]

    def forward(self, x: Tensor | PreparedInput, op: SobolevOperator) -> Tensor:
        """The logits (N, out_channels)."""
        if (op.alpha, op.epsilon, op.shift) != (1, 1.0, "adjacency"):
            raise InputError(
                "GCN propagates with SobolevOperator(graph, alpha=1, epsilon=1), but was given "
                f"alpha={op.alpha}, epsilon={op.epsilon:g}, shift={op.shift!r}"
            )
        *hidden, last = self.layers
        for layer in hidden:
            x = F.dropout(F.relu(layer(x, op)), self.dropout, self.training)
        return last(x, op)  # type: ignore[no-any-return]
