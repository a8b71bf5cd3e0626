"""Cheby: Chebyshev polynomials of the Laplacian (Defferrard et al., 2016)."""

import torch
from torch import Tensor, nn

from s2gnn.nn.baselines.filters import FilterLayer, FilterNetwork, propagate
from s2gnn.operators import BranchOperator, SparseInput
from s2gnn.ranges import DEPTH


class ChebyLayer(FilterLayer):
    r"""Σ_k T_k(L̂) H W_k + b, k = 0..K − 1, with L̂ = Δ − I = −D^-1/2 A D^-1/2; PyG's `ChebConv`.

    The largest eigenvalue of Δ is taken as 2.

    Shapes:
        - `weight`: (K, in_channels, out_channels)
        - `bias`: (out_channels,)
    """

    def __init__(self, in_channels: int, out_channels: int, *, K: int = 2) -> None:
        super().__init__(in_channels, out_channels)
        K = DEPTH.checked(K, "K")
        self.products = (K - 1) / K  # all polynomials but the first multiply once
        self.weight = nn.Parameter(torch.empty(K, in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw Glorot-uniform weights and set the bias to zero."""
        for weight in self.weight:
            nn.init.xavier_uniform_(weight)
        nn.init.zeros_(self.bias)

    def filters(self, x: Tensor, op: BranchOperator) -> tuple[Tensor, ...]:
        """Return T_0(L̂) x, …, T_{K−1}(L̂) x, by T_k = 2 L̂ T_{k−1} − T_{k−2}."""
        signals = [x]
        if len(self.weight) > 1:
            signals.append(-propagate(op, x))
        for _ in range(2, len(self.weight)):
            signals.append(-2 * propagate(op, signals[-1]) - signals[-2])
        return tuple(signals)

    def combine(self, *signals: Tensor) -> Tensor:
        """Return Σ_k (T_k(L̂) x) W_k + b."""
        out: Tensor = self.bias
        for signal, weight in zip(signals, self.weight, strict=True):
            out = torch.addmm(out, signal, weight)
        return out

    def transform_first(self, x: Tensor | SparseInput, op: BranchOperator) -> Tensor:
        """Return the same sum by Clenshaw's recurrence b_k = x W_k + 2 L̂ b_{k+1} − b_{k+2}, in the output's width."""
        first, *others = (x @ weight for weight in self.weight)
        later: Tensor | None = None  # b_{k+1}
        last: Tensor | None = None  # b_{k+2}
        for term in reversed(others):
            later, last = _step(op, term, later, last, 2), later
        return _step(op, first, later, last, 1) + self.bias


def _step(op: BranchOperator, term: Tensor, later: Tensor | None, last: Tensor | None, factor: int) -> Tensor:
    """Return x W_k + factor · L̂ later − last, where what is missing is zero."""
    if later is not None:
        term = term - factor * propagate(op, later)
    return term if last is None else term - last


class Cheby(FilterNetwork):
    """A stack of `ChebyLayer`; further arguments and shapes are those of `Stack`.

    Args:
        K: number of polynomials, default 2; a layer reaches K − 1 hops, and K = 1 is an MLP.
    """

    LAYER = ChebyLayer
    EPSILON = 0.0
