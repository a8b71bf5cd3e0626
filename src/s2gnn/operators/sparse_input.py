"""Sparse node features, kept sparse in the product with a layer's weights."""

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from s2gnn.errors import InputError


class SparseInput:
    """A constant sparse input X (N, F), for bag-of-words features and the like.

    `x @ weight` is differentiable by the weight. X and its transpose are both stored by rows, so that neither pass
    forms one.

    Args:
        x: SciPy sparse matrix or array (N, F) of finite values.
        dtype: torch.float32 or torch.float64.
    """

    def __init__(self, x: sp.sparray | sp.spmatrix, dtype: torch.dtype = torch.float32) -> None:
        matrix = sp.csr_array(x)
        if not np.isfinite(matrix.data).all():
            raise InputError("x has values that are not finite: replace or drop them before training")
        matrix.sum_duplicates()
        self.shape = torch.Size(matrix.shape)
        self.nnz = int(matrix.nnz)
        self.dtype = dtype
        self._rows = _csr_tensor(matrix, dtype)
        self._columns = _csr_tensor(matrix.T.tocsr(), dtype)

    @property
    def device(self) -> torch.device:
        """Where products are computed."""
        return self._rows.device

    def __matmul__(self, weight: Tensor) -> Tensor:
        """X weight, differentiable: (F, O) → (N, O)."""
        return _Product.apply(weight, self._rows, self._columns)  # type: ignore[no-any-return, no-untyped-call]

    def to_dense(self) -> Tensor:
        """X as a dense tensor (N, F)."""
        return self._rows.to_dense()

    def __repr__(self) -> str:
        return f"SparseInput({self.shape[0]}, {self.shape[1]}, nnz={self.nnz}, dtype={self.dtype})"


class _Product(torch.autograd.Function):
    """X W for a constant sparse X of which the transpose is at hand."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        ctx.save_for_backward(rows, columns)
        return rows @ weight

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        rows, columns = ctx.saved_tensors
        return _Product.apply(grad.contiguous(), columns, rows), None, None  # type: ignore[no-untyped-call]


def _csr_tensor(matrix: sp.csr_array, dtype: torch.dtype) -> Tensor:
    return torch.sparse_csr_tensor(
        torch.from_numpy(matrix.indptr.astype(np.int32)),
        torch.from_numpy(matrix.indices.astype(np.int32)),
        torch.from_numpy(matrix.data).to(dtype),
        size=matrix.shape,
        check_invariants=False,
    )
