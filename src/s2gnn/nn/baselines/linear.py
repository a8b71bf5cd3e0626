"""Linear layers that take sparse features too."""

from typing import Any

from torch import Tensor, nn

from s2gnn.operators import SparseInput


class LinearLayer(nn.Linear):
    """`torch.nn.Linear` that also takes a sparse input, and an operator which it does not use."""

    def forward(self, x: Tensor | SparseInput, op: Any = None) -> Tensor:
        """X W + b, (N, out_features)."""
        del op
        return super().forward(x) if isinstance(x, Tensor) else self._of_sparse(x)

    def _of_sparse(self, x: SparseInput) -> Tensor:
        product = x @ self.weight.T
        return product if self.bias is None else product + self.bias


class GlorotLinear(LinearLayer):
    """A linear layer that starts as PyG's with `weight_initializer="glorot"`."""

    def reset_parameters(self) -> None:
        """Draw Glorot-uniform weights, and the bias as `torch.nn.Linear` does."""
        super().reset_parameters()
        nn.init.xavier_uniform_(self.weight)
