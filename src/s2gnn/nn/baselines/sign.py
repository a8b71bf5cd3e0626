"""SIGN: several powers of the normalised adjacency matrix side by side (Frasca et al., 2020)."""

from itertools import pairwise

import torch
from torch import Tensor, nn

from s2gnn.errors import InputError
from s2gnn.nn.arguments import layer_widths, positive_integer
from s2gnn.nn.baselines.first_order import FirstOrderNetwork, LayerInput, powers, propagate
from s2gnn.nn.baselines.linear import LinearLayer
from s2gnn.nn.features import Propagated
from s2gnn.operators import SobolevOperator, SparseInput


class SIGNLayer(nn.Module):
    r"""[A_N X W_1 + b_1, A_N² X W_2 + b_2, …] with :math:`A_N = D^{-1/2} A D^{-1/2}`: no self-loops, no identity.

    Shapes:
        - input: x (N, in_channels), dense, sparse or propagated, and a `SobolevOperator` with alpha=1, epsilon=0
        - output: (N, powers · out_channels)
    """

    def __init__(self, in_channels: int, out_channels: int, powers: int) -> None:
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(in_channels, out_channels) for _ in range(powers))

    def reset_parameters(self) -> None:
        """Draw new parameters for every power."""
        for linear in self.linears:
            linear.reset_parameters()  # type: ignore[operator]

    def forward(self, x: LayerInput, op: SobolevOperator) -> Tensor:
        """The outputs of all powers side by side, before the activation, (N, powers · out_channels)."""
        if isinstance(x, SparseInput):
            return self._transform_first(x, op)
        signals = x.by(op) if isinstance(x, Propagated) else powers(op, x, len(self.linears))
        return torch.cat([linear(signal) for linear, signal in zip(self.linears, signals, strict=True)], dim=1)

    def _transform_first(self, x: SparseInput, op: SobolevOperator) -> Tensor:
        """A_N^k (X W_k): each product takes the powers still to come, side by side."""
        remaining = x @ torch.cat([linear.weight for linear in self.linears]).T  # type: ignore[misc]
        outputs = []
        for linear in self.linears:
            remaining = propagate(op, remaining)
            width = linear.out_features
            outputs.append(remaining[:, :width] + linear.bias)  # type: ignore[operator]
            remaining = remaining[:, width:]
        return torch.cat(outputs, dim=1)


class SIGN(FirstOrderNetwork):
    """One linear layer for each power of the normalised adjacency matrix, then linear layers on all of them.

    The released code leaves the logits of SIGN, alone among its baselines, as they are; so there is no `head`.

    Args:
        in_channels: width of the node features.
        hidden_channels: width of each power, and between further layers.
        out_channels: number of classes.
        num_layers: number of layers, at least 2; the released code has 2.
        dropout: probability of dropping a hidden element in training.
        powers: the highest power K ≥ 1; the powers are 1..K.

    Shapes:
        - input: x (N, in_channels) or what `prepare` gives, and a `SobolevOperator` with alpha=1, epsilon=0
        - output: logits (N, out_channels)
    """

    EPSILON = 0.0

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        dropout: float = 0.5,
        powers: int = 2,
    ) -> None:
        widths = layer_widths(in_channels, hidden_channels, out_channels, num_layers)
        if len(widths) < 3:
            raise InputError(f"num_layers is {num_layers}, but SIGN has at least 2: the powers, and what reads them")
        K = positive_integer(powers, "powers")
        behind = [K * widths[1], *widths[2:]]
        layers = [SIGNLayer(widths[0], widths[1], K), *(LinearLayer(i, o) for i, o in pairwise(behind))]
        super().__init__(layers, widths[0], (K + 1) / 2, dropout, "plain")
        self.K = K

    def _signals(self, op: SobolevOperator, x: Tensor) -> tuple[Tensor, ...]:
        return powers(op, x, self.K)
