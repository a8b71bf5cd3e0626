"""GCN: the first-order network of Kipf and Welling (2017)."""

from torch import Tensor, nn

from s2gnn.nn.baselines.filters import FilterLayer, FilterNetwork, propagate
from s2gnn.operators import BranchOperator, SparseInput


class GCNLayer(FilterLayer):
    r"""S H W + b with :math:`S = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}`, which is S_1 at ε = 1; PyG's `GCNConv`."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(in_channels, out_channels)
        self.linear = nn.Linear(in_channels, out_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw Glorot-uniform weights and set the bias to zero."""
        nn.init.xavier_uniform_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def filters(self, x: Tensor, op: BranchOperator) -> tuple[Tensor, ...]:
        """Return S x."""
        return (propagate(op, x),)

    def combine(self, *signals: Tensor) -> Tensor:
        """Return (S x) W + b."""
        (propagated,) = signals
        combined: Tensor = self.linear(propagated)
        return combined

    def transform_first(self, x: Tensor | SparseInput, op: BranchOperator) -> Tensor:
        """Return S (x W) + b."""
        return propagate(op, x @ self.linear.weight.T) + self.linear.bias


class GCN(FilterNetwork):
    """A stack of `GCNLayer`; arguments and shapes are those of `Stack`."""

    LAYER = GCNLayer
    EPSILON = 1.0
