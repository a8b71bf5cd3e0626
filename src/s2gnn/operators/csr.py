"""CSR tensors of torch."""

import warnings

import torch
from torch import Tensor


def csr_tensor(indptr: Tensor, indices: Tensor, values: Tensor, size: tuple[int, int]) -> Tensor:
    """Return a CSR tensor of a valid pattern, without the warning that torch emits once that they are in beta."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(indptr, indices, values, size=size, check_invariants=False)
