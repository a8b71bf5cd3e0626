"""SGC: GCN without its nonlinearities (Wu et al., 2019)."""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from s2gnn.nn.baselines.filters import FilterLayer, FilterNetwork, powers
from s2gnn.operators import BranchOperator, SparseInput


class SGCLayer(FilterLayer):
    r"""S^K X W + b with :math:`S = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}`; PyG's `SGConv`."""

    def __init__(self, in_channels: int, out_channels: int, K: int) -> None:
        super().__init__(in_channels, out_channels)
        self.K = self.products = K
        self.weight = nn.Parameter(torch.empty(out_channels, in_channels))
        self.bias = nn.Parameter(torch.empty(out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new parameters as `torch.nn.Linear` does."""
        bound = 1 / math.sqrt(self.in_channels)
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        nn.init.uniform_(self.bias, -bound, bound)

    def filters(self, x: Tensor, op: BranchOperator) -> tuple[Tensor, ...]:
        """Return S^K x."""
        return powers(op, x, self.K)[-1:]

    def combine(self, *signals: Tensor) -> Tensor:
        """Return (S^K x) W + b."""
        (propagated,) = signals
        return F.linear(propagated, self.weight, self.bias)

    def transform_first(self, x: Tensor | SparseInput, op: BranchOperator) -> Tensor:
        """Return S^K (x W) + b."""
        return powers(op, x @ self.weight.T, self.K)[-1] + self.bias


class SGC(FilterNetwork):
    """One linear layer on features propagated K = `num_layers` times.

    Arguments and shapes: see `Stack`. `hidden_channels` is ignored, and `dropout` only has an effect with
    `head="released"`.
    """

    EPSILON = 1.0

    def new_layers(self, widths: list[int], **of_layers: Any) -> Iterable[nn.Module]:
        """Return one layer, from the first width to the last."""
        return [SGCLayer(widths[0], widths[-1], K=len(widths) - 1, **of_layers)]
