"""Sparse node features, multiplied by a layer's weights as a sparse matrix."""

import copy

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from s2gnn.errors import InputError
from s2gnn.graphs.validation import with_valid_indices
from s2gnn.operators.matrix import ConstantMatrix


class SparseInput:
    """A constant sparse input X (N, F), such as bag-of-words features.

    `x @ weight` is differentiable with respect to the weight, and computed in the dtype of X also under autocast.

    Args:
        x: SciPy sparse matrix or array (N, F) of finite values.
        dtype: torch.float32 or torch.float64.
    """

    def __init__(self, x: sp.sparray | sp.spmatrix, dtype: torch.dtype = torch.float32) -> None:
        csr = sp.csr_array(with_valid_indices(x))
        if not np.isfinite(csr.data).all():
            raise InputError("x has values that are not finite: replace or drop them before training")
        self.shape = torch.Size(csr.shape)
        self.nnz = int(csr.nnz)
        self.dtype = dtype
        self._matrix = ConstantMatrix.from_scipy(csr, torch.empty(0, dtype=dtype))

    @property
    def device(self) -> torch.device:
        """Where products are computed."""
        return self._matrix.factors[0].device

    def to(self, device: torch.device | str) -> "SparseInput":
        """Return the same features on another device."""
        moved = copy.copy(self)
        moved._matrix = self._matrix.to(device)
        return moved

    def __matmul__(self, weight: Tensor) -> Tensor:
        """Return X weight, differentiable: (F, O) → (N, O)."""
        if not torch.is_autocast_enabled(weight.device.type):
            return self._matrix @ weight
        with torch.autocast(weight.device.type, enabled=False):
            return self._matrix @ weight.to(self.dtype)

    def rows(self, chosen: Tensor) -> "SparseInput":
        """Return the rows `chosen` (n,) of X, (n, F)."""
        (matrix,) = self._matrix.factors
        if matrix.layout != torch.sparse_csr:
            dense = matrix.index_select(0, chosen.to(matrix.device)).cpu()
            return SparseInput(sp.csr_array(dense.numpy()), self.dtype).to(self.device)
        arrays = (matrix.values(), matrix.col_indices(), matrix.crow_indices())
        csr = sp.csr_array(tuple(array.cpu().numpy() for array in arrays), shape=tuple(self.shape))
        return SparseInput(csr[chosen.cpu().numpy()], self.dtype).to(self.device)

    def to_dense(self) -> Tensor:
        """Return X as a dense tensor (N, F)."""
        return self._matrix.factors[0].to_dense()

    def __repr__(self) -> str:
        return f"SparseInput({self.shape[0]}, {self.shape[1]}, nnz={self.nnz}, dtype={self.dtype})"
