"""Limit the number of threads of a computation."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits


@contextmanager
def computing_with(threads: int) -> Iterator[None]:
    """Use at most this many threads inside the block, in torch, BLAS and OpenMP."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with threadpool_limits(threads):
            yield
    finally:
        torch.set_num_threads(before)
