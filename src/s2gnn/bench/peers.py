"""The same network the other ways it is built, to compare with: a PyG layer per branch, α torch CSR matrices."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from s2gnn.operators import SobolevOperator


def csr_matrices(op: SobolevOperator) -> list[Tensor]:
    """S_1..S_α as torch CSR tensors with int32 indices and float32 values."""
    matrices = []
    for rho in range(1, op.alpha + 1):
        S = op.matrix(rho)
        indptr, indices = (torch.from_numpy(a.astype("int32")) for a in (S.indptr, S.indices))
        values = torch.from_numpy(S.data).float()
        matrices.append(torch.sparse_csr_tensor(indptr, indices, values, size=S.shape, check_invariants=False))
    return matrices


class _SymmetricProduct(torch.autograd.Function):
    """S h with the backward pass of a symmetric S, which torch would transpose otherwise."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, S: Tensor) -> Tensor:
        ctx.S = S
        return S @ h

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.S @ grad, None


class CSRBranches(nn.Module):
    """One layer of S2-GNN with MLP fusion, a torch CSR product for each branch."""

    def __init__(self, width_in: int, width_out: int, matrices: Sequence[Tensor]) -> None:
        super().__init__()
        self.matrices = list(matrices)
        self.own = nn.Linear(width_in, width_out)
        self.branches = nn.ModuleList(nn.Linear(width_in, width_out) for _ in matrices)
        self.fusion = nn.Linear((len(self.matrices) + 1) * width_out, width_out)

    def forward(self, h: Tensor) -> Tensor:
        """The layer's output (N, width_out), dropout 0.5."""
        outputs = [self.own(h)]
        for branch, S in zip(self.branches, self.matrices, strict=True):
            product = _SymmetricProduct.apply(F.linear(h, branch.weight), S)  # type: ignore[arg-type, no-untyped-call]
            outputs.append(product + branch.bias)
        return self.fusion(torch.cat([F.dropout(F.relu(o), 0.5, self.training) for o in outputs], dim=1))  # type: ignore[no-any-return]


class GCNConvBranches(nn.Module):
    """One layer of S2-GNN with MLP fusion, PyG's `GCNConv` for each branch, as the released code has it."""

    def __init__(self, width_in: int, width_out: int, edge_index: Tensor, weights: Sequence[Tensor]) -> None:
        from torch_geometric.nn import GCNConv

        super().__init__()
        self.edge_index, self.weights = edge_index, list(weights)
        self.own = nn.Linear(width_in, width_out)
        self.branches = nn.ModuleList(
            GCNConv(width_in, width_out, normalize=False, add_self_loops=False) for _ in weights
        )
        self.fusion = nn.Linear((len(self.weights) + 1) * width_out, width_out)

    def forward(self, h: Tensor) -> Tensor:
        """The layer's output (N, width_out), dropout 0.5."""
        outputs = [self.own(h)]
        outputs += [conv(h, self.edge_index, w) for conv, w in zip(self.branches, self.weights, strict=True)]
        return self.fusion(torch.cat([F.dropout(F.relu(o), 0.5, self.training) for o in outputs], dim=1))  # type: ignore[no-any-return]


def coordinates(op: SobolevOperator) -> tuple[Tensor, list[Tensor]]:
    """PyG's edge_index (2, E + N) of S_ρ, the diagonal among it, and the values for each ρ."""
    parts = [op.matrix(rho).tocoo() for rho in range(1, op.alpha + 1)]
    edge_index = torch.stack([torch.from_numpy(axis.astype("int64")) for axis in (parts[0].row, parts[0].col)])
    return edge_index, [torch.from_numpy(part.data).float() for part in parts]
