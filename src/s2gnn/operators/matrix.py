"""Differentiable products with constant matrices, and operators of such matrices."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import scipy.sparse as sp
import torch
from torch import Tensor

from s2gnn.graphs.selection import Selection
from s2gnn.operators.autograd import apply
from s2gnn.operators.csr import csr_tensor
from s2gnn.operators.graph_operator import BranchOperator
from s2gnn.operators.kernel import FLOPS_PER_GATHERED_BYTE_OF_CSR
from s2gnn.operators.shifts import Shift

# Measured on matrices of 2,000 to 20,000 rows: beyond this share of nonzeros a dense product is the faster one.
SPARSE_BELOW = 0.2


class _Product(torch.autograd.Function):
    """M h with the backward pass Mᵀ g; torch would form the transpose of a CSR tensor at every step."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, matrix: Tensor, transpose: Tensor) -> Tensor:
        ctx.matrix, ctx.transpose = matrix, transpose
        return matrix @ h

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        # Through _Product, so that it can be differentiated again.
        return apply(_Product, grad.contiguous(), ctx.transpose, ctx.matrix), None, None


@dataclass(frozen=True, eq=False)
class ConstantMatrix:
    """A constant M = F_1 ⋯ F_n, mostly of one factor. `M @ h` multiplies factor by factor and is differentiable.

    Attributes:
        factors: F_1, …, F_n, each a torch CSR tensor, or a dense one where most entries are nonzero.
        transposes: F_1ᵀ, …, F_nᵀ, made once; the same object where a transpose is one of the factors.
    """

    factors: tuple[Tensor, ...]
    transposes: tuple[Tensor, ...]

    @classmethod
    def from_scipy(cls, matrix: Any, like: Tensor, *, symmetric: bool = False) -> "ConstantMatrix":
        """Return `matrix`, a SciPy sparse matrix, in the dtype and on the device of `like`."""
        forward = as_tensor(matrix, like)
        return cls((forward,), (forward if symmetric else as_tensor(matrix.T, like),))

    def cost(self, width: int) -> float:
        """Return the cost of a product with h (columns, width), see `BranchOperator.gather_cost`."""
        return sum(
            csr_cost(factor._nnz(), factor.dtype.itemsize, width)
            if factor.layout == torch.sparse_csr
            else 2 * factor.numel() * width
            for factor in self.factors
        )

    def selected(self, selection: Selection) -> "ConstantMatrix":
        """Return the product of the rows and columns (n, n) that some nodes have in each factor, of a square matrix."""
        chosen = {tensor: _submatrix(tensor, selection) for tensor in (*self.factors, *self.transposes)}
        return ConstantMatrix(tuple(chosen[f] for f in self.factors), tuple(chosen[t] for t in self.transposes))

    def to(self, device: torch.device | str) -> "ConstantMatrix":
        """Return the same matrix on another device."""
        moved = {tensor: tensor.to(device) for tensor in (*self.factors, *self.transposes)}
        return ConstantMatrix(tuple(moved[f] for f in self.factors), tuple(moved[t] for t in self.transposes))

    def __matmul__(self, h: Tensor) -> Tensor:
        for factor, transpose in zip(reversed(self.factors), reversed(self.transposes), strict=True):
            h = apply(_Product, h, factor, transpose)
        return h


class MatrixOperator(BranchOperator):
    """An operator of arbitrary constant matrices M_1, …, M_α; repeated matrices are multiplied once.

    Args:
        matrices: M_1, …, M_α, each (N, N).
        epsilon: weight of the identity in these matrices.
    """

    shift: Shift = "adjacency"

    def __init__(self, matrices: Sequence[ConstantMatrix], epsilon: float = 1.0) -> None:
        self.matrices = tuple(matrices)
        self.alpha = len(self.matrices)
        self.epsilon = epsilon
        first = self.matrices[0].factors[0]
        self.n_nodes, self.dtype, self.device = len(first), first.dtype, first.device
        self._powers: dict[ConstantMatrix, list[int]] = {}  # where each different matrix is listed
        for rho, matrix in enumerate(self.matrices, start=1):
            self._powers.setdefault(matrix, []).append(rho)

    def stacked(self, h: Tensor) -> Tensor:
        """Return M_ρ h for ρ = 0..α, differentiable: h (N, F) → (N, α + 1, F)."""
        h = self.signal(h)
        products = {matrix: matrix @ h for matrix in self._powers}
        return torch.stack([h, *(products[matrix] for matrix in self.matrices)], dim=1)

    def propagate_branches(self, h: Tensor) -> Tensor:
        """Return M_ρ h_ρ, one input for each ρ = 0..α, differentiable: h (N, α + 1, F) → (N, α + 1, F)."""
        outputs = list(self.signal(h, branches=True).unbind(1))
        for matrix, powers in self._powers.items():
            product = matrix @ torch.cat([outputs[rho] for rho in powers], dim=1)
            for rho, output in zip(powers, torch.split(product, h.shape[2], dim=1), strict=True):
                outputs[rho] = output
        return torch.stack(outputs, dim=1)

    def gather_cost(self, width: int, *, branches: bool) -> float:
        """Return the cost of the products with one signal (N, width), or with one for each of the α `branches`."""
        return sum(matrix.cost(width * (len(powers) if branches else 1)) for matrix, powers in self._powers.items())

    def selected(self, selection: Selection) -> "MatrixOperator":
        """Return the operator restricted to the rows and columns of some nodes, without renormalisation."""
        chosen = {matrix: matrix.selected(selection) for matrix in self._powers}
        return MatrixOperator([chosen[matrix] for matrix in self.matrices], self.epsilon)

    def to(self, device: torch.device | str) -> "MatrixOperator":
        """Return the same operator on another device."""
        moved = {matrix: matrix.to(device) for matrix in self._powers}
        return MatrixOperator([moved[matrix] for matrix in self.matrices], self.epsilon)

    def __repr__(self) -> str:
        return f"MatrixOperator(n_nodes={self.n_nodes}, alpha={self.alpha}, epsilon={self.epsilon:g})"


def csr_cost(n_stored: int, itemsize: int, width: int) -> float:
    """Return the cost of a torch CSR matrix times a signal of `width`, see `BranchOperator.gather_cost`."""
    return FLOPS_PER_GATHERED_BYTE_OF_CSR * n_stored * (4 + itemsize + itemsize * width)


def as_tensor(matrix: Any, like: Tensor) -> Tensor:
    """Return a SciPy sparse matrix as a CSR tensor, or as a dense one where most entries are nonzero."""
    rows, columns = matrix.shape
    if matrix.nnz > SPARSE_BELOW * rows * columns:
        return torch.from_numpy(matrix.toarray()).to(like)
    csr = sp.csr_array(matrix.tocsr(copy=True))  # the caller may change its own
    csr.sum_duplicates()
    indptr, indices = (torch.from_numpy(a).to(like.device) for a in (csr.indptr, csr.indices))
    values = torch.from_numpy(csr.data).to(like)
    return csr_tensor(indptr, indices, values, csr.shape)


def _submatrix(matrix: Tensor, selection: Selection) -> Tensor:
    """Return the rows and columns (n, n) of a matrix (N, N), CSR or dense."""
    if matrix.layout != torch.sparse_csr:
        nodes = torch.from_numpy(selection.nodes).to(matrix.device)
        return matrix.index_select(0, nodes).index_select(1, nodes)
    stored = selection.stored(matrix.crow_indices().cpu().numpy(), matrix.col_indices().cpu().numpy())
    small, device, n = matrix.crow_indices().dtype, matrix.device, len(selection.nodes)
    return csr_tensor(
        torch.from_numpy(stored.indptr).to(device, small),
        torch.from_numpy(stored.columns).to(device, small),
        matrix.values().index_select(0, torch.from_numpy(stored.entries).to(device)),
        (n, n),
    )
