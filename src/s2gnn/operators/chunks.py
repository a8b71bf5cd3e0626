"""Split the neighbours of all nodes into chunks of similar length, one for each program of a GPU kernel."""

import torch
from torch import Tensor

from s2gnn.operators import kernel

SPLIT = 512  # neighbours of a node that one program sums


def with_chunks(indptr: Tensor, n: int, nnz: int) -> Tensor:
    """Append the flattened chunks to row pointers if Triton is the kernel; otherwise return them unchanged.

    Args:
        indptr: (N + 1,), or those of several patterns, concatenated.
        n: number of nodes N.
        nnz: number of entries of each pattern.
    """
    if kernel.chosen(indptr.device.type) != kernel.TRITON or n == 0:
        return indptr
    return torch.cat([indptr, *(chunks(pattern, nnz).flatten() for pattern in indptr.view(-1, n + 1))])


def chunks(indptr: Tensor, nnz: int) -> Tensor:
    """Compute chunks of at most `SPLIT` neighbours, and the nodes with several, without synchronising with the device.

    Args:
        indptr: (N + 1,), N ≥ 1.
        nnz: number of entries.

    Returns:
        N + 2⌊nnz / SPLIT⌋ rows of three integers. First one row for each chunk: its node, its first entry, and where
        its partial sum is stored, or −1 if the chunk covers the whole node. Then one row for each node with several
        chunks: the node, where its first partial sum is stored, and their number. Unused rows have the node N.
    """
    n, most = indptr.shape[0] - 1, nnz // SPLIT  # of a node with k > 1 chunks, k − 1 are full
    counts = ((indptr.diff() + SPLIT - 1) // SPLIT).clamp(min=1).long()
    is_split = counts > 1
    first, slot = _exclusive_sums(counts), _exclusive_sums(counts * is_split)
    places = torch.arange(n + most, device=indptr.device)
    node = torch.searchsorted(first[1:], places, right=True)
    known = node.clamp(max=n - 1)
    number = places - first[known]
    sums = torch.where(is_split[known], slot[known] + number, -1)
    by_chunk = torch.stack([node, indptr[known] + number * SPLIT, sums], dim=1)
    split = torch.searchsorted(is_split.cumsum(0), places[:most] + 1)
    known = split.clamp(max=n - 1)
    by_node = torch.stack([split, slot[known], counts[known]], dim=1)
    return torch.cat([by_chunk, by_node]).to(indptr.dtype)


def _exclusive_sums(counts: Tensor) -> Tensor:
    return torch.cat((counts.new_zeros(1), counts.cumsum(0)))
