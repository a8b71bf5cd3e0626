"""Differentiable products with constant matrices."""

from dataclasses import dataclass
from typing import Any

import scipy.sparse as sp
import torch
from torch import Tensor

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
        # As a product of its own, so that it can be differentiated again.
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
    def n_stored(self) -> int:
        """The number of entries that a product reads."""
        return self.matrix._nnz() if self.matrix.layout == torch.sparse_csr else self.matrix.numel()

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
    def n_stored(self) -> int:
        """The number of entries that a product reads."""
        return sum(factor.n_stored for factor in self.factors)

    def __matmul__(self, h: Tensor) -> Tensor:
        for factor in reversed(self.factors):
            h = factor @ h
        return h


Matrix = ConstantMatrix | MatrixProduct


def _as_tensor(matrix: Any, like: Tensor) -> Tensor:
    rows, columns = matrix.shape
    if matrix.nnz > SPARSE_BELOW * rows * columns:
        return torch.from_numpy(matrix.toarray()).to(like)
    csr = sp.csr_array(matrix.tocsr(copy=True))  # the caller may change its own
    csr.sum_duplicates()
    indptr, indices = (torch.from_numpy(a).to(like.device) for a in (csr.indptr, csr.indices))
    values = torch.from_numpy(csr.data).to(like)
    return torch.sparse_csr_tensor(indptr, indices, values, size=csr.shape, check_invariants=False)
