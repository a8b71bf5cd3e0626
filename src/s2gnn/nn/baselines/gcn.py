"""GCN: the first-order network of Kipf and Welling (2017), the baseline on the same graph."""

from itertools import pairwise

from torch import Tensor, nn

from s2gnn.nn.arguments import layer_widths
from s2gnn.nn.baselines.first_order import FirstOrderNetwork, LayerInput, propagate
from s2gnn.nn.baselines.network import HeadName
from s2gnn.nn.features import Propagated
from s2gnn.operators import SobolevOperator


class GCNLayer(nn.Module):
    r"""H W propagated by :math:`\tilde D^{-1/2} (A + I) \tilde D^{-1/2}`, which is S_1 at ε = 1.

    Shapes:
        - input: x (N, in_channels), dense, sparse or propagated, and a `SobolevOperator` with alpha=1, epsilon=1
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

    def forward(self, x: LayerInput, op: SobolevOperator) -> Tensor:
        """The layer's output before its activation, (N, out_channels)."""
        if isinstance(x, Propagated):
            return self.linear(x.by(op)[0])  # type: ignore[no-any-return]
        if isinstance(x, Tensor) and self.linear.in_features <= self.linear.out_features:
            return self.linear(propagate(op, x))  # type: ignore[no-any-return]
        return propagate(op, x @ self.linear.weight.T) + self.linear.bias


class GCN(FirstOrderNetwork):
    """A stack of GCN layers with ReLU and dropout between them.

    Args:
        in_channels: width of the node features.
        hidden_channels: width between layers.
        out_channels: number of classes.
        num_layers: number of layers, at least 1.
        dropout: probability of dropping a hidden element in training.
        head: see `Network`.

    Shapes:
        - input: x (N, in_channels) or what `prepare` gives, and a `SobolevOperator` with alpha=1, epsilon=1
        - output: logits (N, out_channels)
    """

    EPSILON = 1.0

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        dropout: float = 0.5,
        head: HeadName = "plain",
    ) -> None:
        widths = layer_widths(in_channels, hidden_channels, out_channels, num_layers)
        super().__init__((GCNLayer(i, o) for i, o in pairwise(widths)), widths[0], 1, dropout, head)

    def _signals(self, op: SobolevOperator, x: Tensor) -> tuple[Tensor, ...]:
        return (propagate(op, x),)
