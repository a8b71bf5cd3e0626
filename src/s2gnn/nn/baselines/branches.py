"""S2-GNN on matrices of the caller's choice, for the models that take the Hadamard powers away."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from s2gnn.errors import InputError
from s2gnn.graphs import Graph
from s2gnn.nn.arguments import layer_widths, probability
from s2gnn.nn.features import Propagated, sparse_if_cheaper, table
from s2gnn.nn.fusion import FusionName, make_fusion
from s2gnn.operators import SparseInput
from s2gnn.operators.matrix import Matrix
from s2gnn.operators.sobolev import check_alpha


class BranchConv(nn.Module):
    r"""The layer of S2-GNN with matrices M_1..M_α in place of S_1..S_α.

    .. math::
        B_0 = \sigma(H W_0 + b_0), \qquad B_\rho = \sigma(M_\rho H W_\rho + b_\rho), \quad \rho = 1, \ldots, \alpha,

    with σ the ReLU followed by dropout, merged as in `S2Conv`. A matrix that stands in the list several times is
    multiplied once.

    Args:
        in_channels: width of the input.
        out_channels: width of the output.
        alpha: number of matrices α ≥ 1.
        fusion: "linear" or "mlp".
        dropout: probability of dropping an element of a branch in training.

    Shapes:
        - input: x (N, in_channels), dense, sparse or propagated, and α matrices (N, N)
        - output: (N, out_channels)
        - `weight`: (α + 1, in_channels, out_channels), branch 0 first
        - `bias`: (α + 1, out_channels)
    """

    def __init__(self, in_channels: int, out_channels: int, alpha: int, fusion: FusionName, dropout: float) -> None:
        super().__init__()
        self.dropout = probability(dropout, "dropout")
        self.weight = nn.Parameter(torch.empty(alpha + 1, in_channels, out_channels))
        self.bias = nn.Parameter(torch.empty(alpha + 1, out_channels))
        self.fusion = make_fusion(fusion, alpha, out_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new parameters: Glorot-uniform weights for each branch, zero biases."""
        for branch in self.weight:
            nn.init.xavier_uniform_(branch)
        nn.init.zeros_(self.bias)
        self.fusion.reset_parameters()

    def forward(self, x: Tensor | SparseInput | Propagated, matrices: Sequence[Matrix]) -> Tensor:
        """The output (N, out_channels)."""
        branches, width_in, width_out = self.weight.shape
        if len(matrices) != branches - 1:
            raise InputError(f"there are {len(matrices)} matrices, but the layer has alpha={branches - 1}")
        if isinstance(x, Propagated):
            shifted = self._combine(x.by(matrices))
        elif isinstance(x, Tensor) and len(set(matrices)) * width_in <= len(matrices) * width_out:
            shifted = self._combine(aggregate(x, matrices))
        else:
            shifted = self._transform_first(x, matrices)
        return self.fusion(F.dropout(F.relu(shifted + self.bias), self.dropout, self.training))  # type: ignore[no-any-return]

    def _combine(self, signals: Sequence[Tensor]) -> Tensor:
        """M_ρ H W_ρ from M_ρ H, (N, α + 1, out)."""
        products = [signal @ weight for signal, weight in zip(signals, self.weight, strict=True)]
        return torch.stack(products, dim=1)

    def _transform_first(self, x: Tensor | SparseInput, matrices: Sequence[Matrix]) -> Tensor:
        """M_ρ (H W_ρ), (N, α + 1, out): the branches of one matrix side by side in one product."""
        branches, _, width = self.weight.shape
        transformed = x @ self.weight.transpose(0, 1).flatten(1)  # (N, (alpha + 1) * out)
        outputs = list(transformed.view(-1, branches, width).unbind(1))
        for matrix in dict.fromkeys(matrices):
            members = [rho for rho, other in enumerate(matrices, start=1) if other is matrix]
            product = matrix @ torch.cat([outputs[rho] for rho in members], dim=1)
            for rho, output in zip(members, torch.split(product, width, dim=1), strict=True):
                outputs[rho] = output
        return torch.stack(outputs, dim=1)


def aggregate(x: Tensor, matrices: Sequence[Matrix]) -> tuple[Tensor, ...]:
    """X and M_1 x, …, M_α x, each (N, F); a repeated matrix gives the same tensor."""
    products = {matrix: matrix @ x for matrix in dict.fromkeys(matrices)}
    return (x, *(products[matrix] for matrix in matrices))


class BranchNetwork(nn.Module):
    """A stack of `BranchConv`; a subclass gives the matrices of a graph.

    Args:
        in_channels: width of the node features.
        hidden_channels: width between layers.
        out_channels: number of classes.
        num_layers: number of layers, at least 1.
        alpha: number of branches beside the identity.
        fusion: "linear" or "mlp".
        dropout: probability of dropping an element of a branch in training.

    Shapes:
        - input: x (N, in_channels) or what `prepare` gives, and α matrices (N, N)
        - output: logits (N, out_channels)
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        alpha: int = 4,
        fusion: FusionName = "mlp",
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        check_alpha(alpha)
        widths = layer_widths(in_channels, hidden_channels, out_channels, num_layers)
        self.in_channels = widths[0]
        self.alpha = int(alpha)
        self.convs = nn.ModuleList(BranchConv(i, o, self.alpha, fusion, dropout) for i, o in pairwise(widths))

    def matrices(self, graph: Graph) -> tuple[Matrix, ...]:
        """M_1..M_α of `graph`."""
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Draw new parameters for every layer."""
        for conv in self.convs:
            conv.reset_parameters()  # type: ignore[operator]

    def prepare(self, x: Any, graph: Graph) -> tuple[Propagated | SparseInput, tuple[Matrix, ...]]:
        """X and M_ρ X, or X as a sparse matrix where M_ρ (X W_ρ) is cheaper, and the matrices."""
        features = table(x, graph, self.in_channels)
        matrices = self.matrices(graph)
        parameter = next(self.parameters())
        products_per_branch = sum(matrix.n_stored for matrix in matrices) // (self.alpha + 1)
        inputs = sparse_if_cheaper(features, parameter, products_per_branch)
        return Propagated(aggregate(inputs, matrices), matrices) if isinstance(inputs, Tensor) else inputs, matrices

    def forward(self, x: Tensor | SparseInput | Propagated, matrices: Sequence[Matrix]) -> Tensor:
        """The logits (N, out_channels)."""
        for conv in self.convs:
            x = conv(x, matrices)
        return x  # type: ignore[return-value]
