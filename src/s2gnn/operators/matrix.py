"""Differentiable products with constant matrices, and an operator made of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import scipy.sparse as sp
import torch
from torch import Tensor

from s2gnn.graphs.selection import Selection
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
        return _Product.apply(grad.contiguous(), ctx.transpose, ctx.matrix), None, None  # type: ignore[no-untyped-call]


@dataclass(frozen=True, eq=False)
class ConstantMatrix:
    """A constant M (rows, columns), multiplied as `M @ h` and differentiated by h only.

    Attributes:
        matrix: M as a torch CSR tensor, or as a dense one where most entries are nonzero.
        transpose: Mᵀ in the same form, made once; the same object for a symmetric M.
    """

    matrix: Tensor
    transpose: Tensor

    @classmethod
    def from_scipy(cls, matrix: Any, like: Tensor, *, symmetric: bool = False) -> "ConstantMatrix":
        """`matrix`, a SciPy sparse matrix, in the type and on the device of `like`."""
        forward = _as_tensor(matrix, like)
        return cls(forward, forward if symmetric else _as_tensor(matrix.T, like))

    @property
    def shape(self) -> torch.Size:
        """(rows, columns)."""
        return self.matrix.shape

    @property
    def dtype(self) -> torch.dtype:
        """In which products are computed."""
        return self.matrix.dtype

    @property
    def device(self) -> torch.device:
        """Where products are computed."""
        return self.matrix.device

    @property
    def n_stored(self) -> int:
        """The number of entries that a product reads."""
        return self.matrix._nnz() if self.matrix.layout == torch.sparse_csr else self.matrix.numel()

    def cost(self, width: int) -> float:
        """Of a product with h (columns, width), see `BranchOperator.gather_cost`."""
        if self.matrix.layout != torch.sparse_csr:
            return 2 * self.matrix.numel() * width
        return csr_cost(self.n_stored, self.matrix.dtype.itemsize, width)

    def selected(self, selection: Selection) -> "ConstantMatrix":
        """The rows and columns of some nodes (n, n), of a square matrix."""
        matrix = _submatrix(self.matrix, selection)
        symmetric = self.transpose is self.matrix
        return ConstantMatrix(matrix, matrix if symmetric else _submatrix(self.transpose, selection))

    def __matmul__(self, h: Tensor) -> Tensor:
        product: Tensor = _Product.apply(h, self.matrix, self.transpose)  # type: ignore[no-untyped-call]
        return product


@dataclass(frozen=True, eq=False)
class MatrixProduct:
    """A constant M = F_1 F_2 ⋯ F_n that is not formed: `M @ h` multiplies by one factor after the other.

    Attributes:
        factors: F_1, …, F_n.
    """

    factors: tuple[ConstantMatrix, ...]

    @property
    def shape(self) -> torch.Size:
        """(rows, columns)."""
        return torch.Size((self.factors[0].shape[0], self.factors[-1].shape[1]))

    @property
    def dtype(self) -> torch.dtype:
        """In which products are computed."""
        return self.factors[0].dtype

    @property
    def device(self) -> torch.device:
        """Where products are computed."""
        return self.factors[0].device

    @property
    def n_stored(self) -> int:
        """The number of entries that a product reads."""
        return sum(factor.n_stored for factor in self.factors)

    def cost(self, width: int) -> float:
        """Of a product with h (columns, width), see `BranchOperator.gather_cost`."""
        return sum(factor.cost(width) for factor in self.factors)

    def selected(self, selection: Selection) -> "MatrixProduct":
        """The product of what the factors have of some nodes (n, n)."""
        return MatrixProduct(tuple(factor.selected(selection) for factor in self.factors))

    def __matmul__(self, h: Tensor) -> Tensor:
        for factor in reversed(self.factors):
            h = factor @ h
        return h


Matrix = ConstantMatrix | MatrixProduct


class MatrixOperator(BranchOperator):
    """Any constant matrices M_1, …, M_α in place of S_1, …, S_α; one that is listed several times is multiplied once.

    Args:
        matrices: M_1, …, M_α, each (N, N).
        epsilon: the weight of the identity that they were made with.
    """

    shift: Shift = "adjacency"

    def __init__(self, matrices: Sequence[Matrix], epsilon: float = 1.0) -> None:
        self.matrices = tuple(matrices)
        self.alpha = len(self.matrices)
        self.epsilon = epsilon
        self.n_nodes = self.matrices[0].shape[0]
        self.dtype, self.device = self.matrices[0].dtype, self.matrices[0].device
        self._powers: dict[Matrix, list[int]] = {}  # where each different matrix is listed
        for rho, matrix in enumerate(self.matrices, start=1):
            self._powers.setdefault(matrix, []).append(rho)

    def stacked(self, h: Tensor) -> Tensor:
        """M_ρ h for ρ = 0..α, differentiable: h (N, F) → (N, α + 1, F)."""
        h = self.signal(h)
        products = {matrix: matrix @ h for matrix in self._powers}
        return torch.stack([h, *(products[matrix] for matrix in self.matrices)], dim=1)

    def propagate_branches(self, h: Tensor) -> Tensor:
        """M_ρ h_ρ, one input for each ρ = 0..α, differentiable: h (N, α + 1, F) → (N, α + 1, F)."""
        outputs = list(self.signal(h, branches=True).unbind(1))
        for matrix, powers in self._powers.items():
            product = matrix @ torch.cat([outputs[rho] for rho in powers], dim=1)
            for rho, output in zip(powers, torch.split(product, h.shape[2], dim=1), strict=True):
                outputs[rho] = output
        return torch.stack(outputs, dim=1)

    def gather_cost(self, width: int, *, branches: bool) -> float:
        """The cost of the products with one signal (N, width), or with one for each of the α `branches`."""
        return sum(matrix.cost(width * (len(powers) if branches else 1)) for matrix, powers in self._powers.items())

    def selected(self, selection: Selection) -> "MatrixOperator":
        """The rows and columns of some nodes, as an operator on these; nothing is normalised again."""
        chosen = {matrix: matrix.selected(selection) for matrix in self._powers}
        return MatrixOperator([chosen[matrix] for matrix in self.matrices], self.epsilon)

    def __repr__(self) -> str:
        return f"MatrixOperator(n_nodes={self.n_nodes}, alpha={self.alpha}, epsilon={self.epsilon:g})"


def csr_cost(n_stored: int, itemsize: int, width: int) -> float:
    """Of the product of a torch CSR matrix with a signal of `width`, see `BranchOperator.gather_cost`."""
    return FLOPS_PER_GATHERED_BYTE_OF_CSR * n_stored * (4 + itemsize + itemsize * width)


def _as_tensor(matrix: Any, like: Tensor) -> Tensor:
    rows, columns = matrix.shape
    if matrix.nnz > SPARSE_BELOW * rows * columns:
        return torch.from_numpy(matrix.toarray()).to(like)
    csr = sp.csr_array(matrix.tocsr(copy=True))  # the caller may change its own
    csr.sum_duplicates()
    indptr, indices = (torch.from_numpy(a).to(like.device) for a in (csr.indptr, csr.indices))
    values = torch.from_numpy(csr.data).to(like)
    return torch.sparse_csr_tensor(indptr, indices, values, size=csr.shape, check_invariants=False)


def _submatrix(matrix: Tensor, selection: Selection) -> Tensor:
    """The rows and columns (n, n) of a matrix (N, N), CSR or dense."""
    if matrix.layout != torch.sparse_csr:
        nodes = torch.from_numpy(selection.nodes).to(matrix.device)
        return matrix.index_select(0, nodes).index_select(1, nodes)
    stored = selection.stored(matrix.crow_indices().cpu().numpy(), matrix.col_indices().cpu().numpy())
    small, device, n = matrix.crow_indices().dtype, matrix.device, len(selection.nodes)
    return torch.sparse_csr_tensor(
        torch.from_numpy(stored.indptr).to(device, small),
        torch.from_numpy(stored.columns).to(device, small),
        matrix.values().index_select(0, torch.from_numpy(stored.entries).to(device)),
        size=(n, n),
        check_invariants=False,
    )
