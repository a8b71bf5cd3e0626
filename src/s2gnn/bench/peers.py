"""The same products and layers the other ways: a PyG layer per branch, α matrices of torch or of torch_sparse."""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from s2gnn.operators import SobolevOperator
from s2gnn.operators.matrix import ConstantMatrix

Product = Callable[[Tensor], Tensor]  # (N, F) → (N, F)


def csr_matrices(op: SobolevOperator, powers: int | None = None) -> list[Tensor]:
    """S_1..S_α, or the first few `powers`, as torch CSR tensors with int32 indices and float32 values."""
    matrices = []
    for rho in range(1, (powers or op.alpha) + 1):
        S = op.matrix(rho)
        indptr, indices = (torch.from_numpy(a.astype("int32")) for a in (S.indptr, S.indices))
        values = torch.from_numpy(S.data).float()
        matrices.append(torch.sparse_csr_tensor(indptr, indices, values, size=S.shape, check_invariants=False))
    return matrices


def csr_products(op: SobolevOperator, powers: int | None = None) -> list[Product]:
    """The maps h → S_ρ h for ρ = 1..α, or the first few `powers`, with torch CSR matrices, differentiable."""
    return [ConstantMatrix(S, S).__matmul__ for S in csr_matrices(op, powers)]


def sparse_tensor_products(op: SobolevOperator) -> list[Product]:
    """The maps h → S_ρ h for ρ = 1..α by torch_sparse, differentiable; an ImportError where it is missing."""
    from torch_sparse import SparseTensor, matmul

    products: list[Product] = []
    for rho in range(1, op.alpha + 1):
        S = op.matrix(rho)
        rowptr, col = (torch.from_numpy(a.astype("int64")) for a in (S.indptr, S.indices))
        value = torch.from_numpy(S.data).float()
        matrix = SparseTensor(rowptr=rowptr, col=col, value=value, sparse_sizes=S.shape, is_sorted=True)
        products.append(partial(matmul, matrix))
    return products


def gcnconv_products(op: SobolevOperator) -> list[Product]:
    """The maps h → S_ρ h for ρ = 1..α by the messages of PyG's `GCNConv`; an ImportError where PyG is missing."""
    from torch_geometric.nn import GCNConv

    edge_index, weights = coordinates(op)
    conv = GCNConv(1, 1, normalize=False, add_self_loops=False)

    def product(w: Tensor, h: Tensor) -> Tensor:
        return conv.propagate(edge_index, x=h, edge_weight=w)  # type: ignore[no-any-return]

    return [partial(product, w) for w in weights]


class ProductBranches(nn.Module):
    """One layer of S2-GNN with MLP fusion, a sparse product for each branch."""

    def __init__(self, width_in: int, width_out: int, products: Sequence[Product]) -> None:
        super().__init__()
        self.products = list(products)
        self.own = nn.Linear(width_in, width_out)
        self.branches = nn.ModuleList(nn.Linear(width_in, width_out) for _ in products)
        self.fusion = nn.Linear((len(self.products) + 1) * width_out, width_out)

    def forward(self, h: Tensor) -> Tensor:
        """The layer's output (N, width_out), dropout 0.5."""
        outputs = [self.own(h)]
        for branch, product in zip(self.branches, self.products, strict=True):
            outputs.append(product(F.linear(h, branch.weight)) + branch.bias)  # type: ignore[arg-type, operator]
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
    first = op.matrix(1).tocoo()
    edge_index = torch.stack([torch.from_numpy(axis.astype("int64")) for axis in (first.row, first.col)])
    values = [first.data, *(op.matrix(rho).data for rho in range(2, op.alpha + 1))]
    return edge_index, [torch.from_numpy(v).float() for v in values]
