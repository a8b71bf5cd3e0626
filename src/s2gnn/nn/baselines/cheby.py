"""Cheby: Chebyshev polynomials of the Laplacian (Defferrard et al., 2016)."""

from itertools import pairwise

import torch
from torch import Tensor, nn

from s2gnn.nn.arguments import layer_widths, positive_integer
from s2gnn.nn.baselines.first_order import FirstOrderNetwork, LayerInput, propagate
from s2gnn.nn.baselines.network import HeadName
from s2gnn.nn.features import Propagated
from s2gnn.operators import SobolevOperator, SparseInput


class ChebyLayer(nn.Module):
    r"""Σ_k T_k(L̂) H W_k + b, k = 0..K − 1, with L̂ = Δ − I = −D^-1/2 A D^-1/2: the largest eigenvalue is taken as 2.

    Shapes:
        - input: x (N, in_channels), dense, sparse or propagated, and a `SobolevOperator` with alpha=1, epsilon=0
        - output: (N, out_channels)
        - `weight`: (K, in_channels, out_channels)
        - `bias`: (out_channels,)
    """

    def __init__(self, in_channels: int, out_channels: int, K: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(K, in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw Glorot-uniform weights and set the bias to zero, as in PyG's `ChebConv`."""
        for weight in self.weight:
            nn.init.xavier_uniform_(weight)
        nn.init.zeros_(self.bias)

    def forward(self, x: LayerInput, op: SobolevOperator) -> Tensor:
        """The layer's output before its activation, (N, out_channels)."""
        K, width_in, width_out = self.weight.shape
        if isinstance(x, Propagated):
            return self._combine(x.by(op))
        if isinstance(x, Tensor) and width_in <= width_out:
            return self._combine(chebyshev(op, x, K))
        return self._clenshaw(x, op)

    def _combine(self, signals: tuple[Tensor, ...]) -> Tensor:
        out: Tensor = self.bias
        for signal, weight in zip(signals, self.weight, strict=True):
            out = torch.addmm(out, signal, weight)
        return out

    def _clenshaw(self, x: Tensor | SparseInput, op: SobolevOperator) -> Tensor:
        """The same sum by Clenshaw's recurrence b_k = X W_k + 2 L̂ b_{k+1} − b_{k+2}: products of the output's width."""
        first, *others = (x @ weight for weight in self.weight)
        later: Tensor | None = None  # b_{k+1}
        last: Tensor | None = None  # b_{k+2}
        for term in reversed(others):
            later, last = _step(op, term, later, last, 2), later
        return _step(op, first, later, last, 1) + self.bias


def chebyshev(op: SobolevOperator, h: Tensor, K: int) -> tuple[Tensor, ...]:
    """T_0(L̂) h, …, T_{K−1}(L̂) h for L̂ = −S_1, by T_k = 2 L̂ T_{k−1} − T_{k−2}; each (N, F)."""
    signals = [h]
    if K > 1:
        signals.append(-propagate(op, h))
    for _ in range(2, K):
        signals.append(-2 * propagate(op, signals[-1]) - signals[-2])
    return tuple(signals)


def _step(op: SobolevOperator, term: Tensor, later: Tensor | None, last: Tensor | None, factor: int) -> Tensor:
    """X W_k + factor · L̂ later − last, where what is missing is zero."""
    if later is not None:
        term = term - factor * propagate(op, later)
    return term if last is None else term - last


class Cheby(FirstOrderNetwork):
    """A stack of Chebyshev layers with ReLU and dropout between them.

    Args:
        in_channels: width of the node features.
        hidden_channels: width between layers.
        out_channels: number of classes.
        num_layers: number of layers, at least 1.
        dropout: probability of dropping a hidden element in training.
        K: number of polynomials; a layer reaches K − 1 hops, and K = 1 is an MLP.
        head: see `Network`.

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
        K: int = 2,
        head: HeadName = "plain",
    ) -> None:
        widths = layer_widths(in_channels, hidden_channels, out_channels, num_layers)
        K = positive_integer(K, "K")
        layers = (ChebyLayer(i, o, K) for i, o in pairwise(widths))
        super().__init__(layers, widths[0], (K - 1) / K, dropout, head)
        self.K = K

    def _signals(self, op: SobolevOperator, x: Tensor) -> tuple[Tensor, ...]:
        return chebyshev(op, x, self.K)
