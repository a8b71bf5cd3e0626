"""CSR tensors of torch."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


@contextmanager
def no_beta_warning() -> Iterator[None]:
    """Ignore the warning that CSR tensors are in beta, which torch emits for the first one of a process."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        yield


def csr_tensor(indptr: Tensor, indices: Tensor, values: Tensor, size: tuple[int, int]) -> Tensor:
    """Return a CSR tensor of a valid pattern."""
    with no_beta_warning():
        return torch.sparse_csr_tensor(indptr, indices, values, size=size, check_invariants=False)
