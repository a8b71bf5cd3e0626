"""SGC: GCN without its nonlinearities (Wu et al., 2019)."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from s2gnn.nn.arguments import positive_integer
from s2gnn.nn.baselines.filters import FilterLayer, FilterNetwork, powers
from s2gnn.nn.baselines.stack import HeadName
from s2gnn.operators import BranchOperator, SparseInput


class SGCLayer(FilterLayer):
    r"""S^K X W + b with :math:`S = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}`; PyG's `SGConv`."""

    def __init__(self, in_channels: int, out_channels: int, K: int) -> None:
        super().__init__(in_channels, out_channels)
        self.K = K
        self.weight = nn.Parameter(torch.empty(out_channels, in_channels))
        self.bias = nn.Parameter(torch.empty(out_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new parameters as `torch.nn.Linear` does."""
        bound = 1 / math.sqrt(self.in_channels)
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        nn.init.uniform_(self.bias, -bound, bound)

    @property
    def products(self) -> float:
        """K: S is multiplied K times."""
        return self.K

    def filters(self, x: Tensor, op: BranchOperator) -> tuple[Tensor, ...]:
        """S^K x."""
        return powers(op, x, self.K)[-1:]

    def combine(self, *signals: Tensor) -> Tensor:
        """(S^K x) W + b."""
        (propagated,) = signals
        return F.linear(propagated, self.weight, self.bias)

    def transform_first(self, x: Tensor | SparseInput, op: BranchOperator) -> Tensor:
        """S^K (x W) + b."""
        return powers(op, x @ self.weight.T, self.K)[-1] + self.bias


class SGC(FilterNetwork):
    """One linear layer on features that were propagated K = `num_layers` times; shapes are those of `Stack`.

    Args:
        in_channels: width of the node features.
        hidden_channels: accepted, for the common calling convention, and unused: there is nothing between layers.
        out_channels: number of classes.
        num_layers: the power K, at least 1.
        dropout: probability of dropping a logit in training, with the head "released".
        head: see `Stack`.
    """

    LAYER = SGCLayer
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
        K = positive_integer(num_layers, "num_layers")
        super().__init__(in_channels, hidden_channels, out_channels, 1, dropout, head, K=K)
