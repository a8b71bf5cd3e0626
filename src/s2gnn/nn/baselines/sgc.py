"""SGC: GCN without its nonlinearities (Wu et al., 2019)."""

from torch import Tensor, nn

from s2gnn.nn.arguments import layer_widths, positive_integer
from s2gnn.nn.baselines.first_order import FirstOrderNetwork, LayerInput, powers
from s2gnn.nn.baselines.network import HeadName
from s2gnn.nn.features import Propagated
from s2gnn.operators import SobolevOperator


class SGCLayer(nn.Linear):
    r"""S^K X W + b with :math:`S = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}`.

    Shapes:
        - input: x (N, in_channels), dense, sparse or propagated, and a `SobolevOperator` with alpha=1, epsilon=1
        - output: (N, out_channels)
    """

    def __init__(self, in_channels: int, out_channels: int, K: int) -> None:
        super().__init__(in_channels, out_channels)
        self.K = K

    def forward(self, x: LayerInput, op: SobolevOperator) -> Tensor:  # type: ignore[override]
        """The logits before the head, (N, out_channels)."""
        if isinstance(x, Propagated):
            return super().forward(x.by(op)[0])
        return powers(op, x @ self.weight.T, self.K)[-1] + self.bias


class SGC(FirstOrderNetwork):
    """One linear layer on features that were propagated K = `num_layers` times.

    Args:
        in_channels: width of the node features.
        hidden_channels: accepted, for the common calling convention, and unused: there is nothing between layers.
        out_channels: number of classes.
        num_layers: the power K, at least 1.
        dropout: probability of dropping a logit in training, with the head "released".
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
        width_in, width_out = layer_widths(in_channels, hidden_channels, out_channels, 1)
        K = positive_integer(num_layers, "num_layers")
        super().__init__([SGCLayer(width_in, width_out, K)], width_in, K, dropout, head)
        self.K = K

    def _signals(self, op: SobolevOperator, x: Tensor) -> tuple[Tensor, ...]:
        return powers(op, x, self.K)[-1:]
