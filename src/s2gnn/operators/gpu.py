"""The products of `propagation` and the passes of `activation` on a GPU, by Triton kernels.

Propagation: a program sums up to `SPLIT` neighbours of one node for a block of features. The powers of an edge's
value are formed in registers, for `POWERS` powers at a time, so that for α ≤ 8 an edge is read once. Nodes with more
neighbours are split among programs; their partial sums are added in a fixed order by a second kernel, so that results
are deterministic. Sums are in float32, or in float64 for signals in float64; offsets are 64-bit.

The same code runs on CPU tensors in Triton's interpreter, with `TRITON_INTERPRET=1`, which is how it is tested without
a GPU.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from s2gnn.operators import gpu_kernels as kernels

SPLIT = 512  # neighbours of a node that one program sums
BLOCK_E = 4  # of these at a time
MAX_POWERS = 8  # powers at a time
BLOCK = 512  # elements of a program of the element-wise kernels
BLOCK_ROWS = 64  # rows whose gradients a program of `combine_backward` adds

OPTIONS = {"num_warps": 4, "enable_fp_fusion": True}  # of every kernel

KINDS = {"fan_out": 0, "fan_in": 1, "branchwise": 2}


def propagate(
    name: str, indptr: Tensor, indices: Tensor, b: Tensor, c: Tensor, t: Tensor, sign: int, x: Tensor, out: Tensor
) -> None:
    """Fill `out` with the product called `name`: "fan_out", "fan_in" or "branchwise" of `propagation`."""
    (n, alpha), features, kind = c.shape, x.shape[-1], KINDS[name]
    if out.numel() == 0:
        return
    chunks = Chunks(indptr, len(indices))
    powers = powers_at_once(alpha)
    results = 1 if name == "fan_in" else -(-alpha // powers) * powers
    exact = torch.float64 if x.dtype == torch.float64 else torch.float32
    partial = torch.empty(chunks.slots, results, features, dtype=exact, device=x.device)
    block = feature_block(features)
    shape = {
        "KIND": kind, "ALPHA": alpha, "POWERS": powers, "DIAGONALS": t.ndim == 2,
        "BLOCK_F": block, "ACCUMULATED": tl.float64 if exact == torch.float64 else tl.float32, **OPTIONS,
    }  # fmt: skip
    blocks = triton.cdiv(features, block)
    kernels.sum_neighbours[(chunks.count, blocks)](
        indptr, indices, b, c, t, chunks.row, chunks.first, chunks.slot, x, out, partial, n, features, **shape,
        SIGN=sign, SPLIT=SPLIT, BLOCK_E=BLOCK_E,
    )  # fmt: skip
    if chunks.slots:
        kernels.add_partial_sums[(n, blocks)](c, t, chunks.first, chunks.slot, x, out, partial, features, **shape)


def hadamard_gradient(
    indptr: Tensor, indices: Tensor, b: Tensor, c: Tensor, sign: int, grad: Tensor, h: Tensor, out: Tensor
) -> None:
    """Fill `out` (E,) with Σ_ρ (±1)^ρ ρ b_ij^(ρ−1) c_ρ(i) c_ρ(j) ⟨g_ρ(i), h_ρ(j)⟩, signals (N, α + 1, F)."""
    if out.numel() == 0:
        return
    chunks, features = Chunks(indptr, len(indices)), h.shape[2]
    kernels.gradient_of_entries[(chunks.count,)](
        indptr, indices, b, c, chunks.row, chunks.first, grad, h, out, len(c), features,
        ALPHA=c.shape[1], SIGN=sign, BLOCK_F=feature_block(features), SPLIT=SPLIT, BLOCK_E=4 * BLOCK_E,
        ACCUMULATED=tl.float64 if h.dtype == torch.float64 else tl.float32, **OPTIONS,
    )  # fmt: skip


def activate(x: Tensor, bias: Tensor, drop: float, key: int, out: Tensor) -> None:
    """Fill `out` (N, R, F) with dropout(ReLU(x + bias)); the columns of `x` are contiguous."""
    if out.numel() == 0:
        return
    kernels.activate[(triton.cdiv(out.numel(), BLOCK),)](
        x, bias, out, out.numel(), x.shape[1], x.shape[2], x.stride(0), x.stride(1), *_dropout(drop, key),
        DROPS=drop > 0, BLOCK=BLOCK, **OPTIONS,
    )  # fmt: skip


def activate_backward(grad: Tensor, y: Tensor, drop: float, out: Tensor) -> None:
    """Fill `out` with the gradient by the input of `activate`, whose result was `y`; all contiguous."""
    if out.numel() == 0:
        return
    kernels.activate_backward[(triton.cdiv(out.numel(), BLOCK),)](
        grad, y, out, out.numel(), 1 / (1 - drop), BLOCK=BLOCK, **OPTIONS,
    )  # fmt: skip


def combine(x: Tensor, bias: Tensor, mu: Tensor, drop: float, key: int, out: Tensor) -> None:
    """Fill `out` (N, F) with Σ_ρ μ_ρ dropout(ReLU(x_ρ + b_ρ)); the columns of `x` are contiguous."""
    if out.numel() == 0:
        return
    kernels.combine[(triton.cdiv(out.numel(), BLOCK),)](
        x, bias, mu, out, out.numel(), x.shape[2], x.stride(0), x.stride(1), *_dropout(drop, key),
        BRANCHES=x.shape[1], DROPS=drop > 0, BLOCK=BLOCK, **OPTIONS,
    )  # fmt: skip


def combine_backward(
    x: Tensor, bias: Tensor, mu: Tensor, grad: Tensor, drop: float, key: int, grad_x: Tensor
) -> tuple[Tensor, Tensor]:
    """Fill `grad_x` (N, R, F), and return the gradients by bias (R, F) and mu (R,)."""
    rows, branches, columns = x.shape
    block = feature_block(columns)
    blocks = triton.cdiv(rows, BLOCK_ROWS), branches, triton.cdiv(columns, block)
    by_bias, by_mu = bias.new_zeros(blocks[0], branches, columns), mu.new_zeros(blocks)
    if grad_x.numel():
        kernels.combine_backward[blocks](
            x, bias, mu, grad, grad_x, by_bias, by_mu, rows, columns, x.stride(0), x.stride(1), *_dropout(drop, key),
            DROPS=drop > 0, BLOCK_F=block, ROWS=BLOCK_ROWS, **OPTIONS,
        )  # fmt: skip
    return by_bias.sum(dim=0), by_mu.sum(dim=(0, 2))


class Chunks:
    """The neighbours of all nodes in chunks of at most `SPLIT`, found on the device, without waiting for it.

    Attributes:
        count: upper bound of the number of chunks.
        row: the node of every chunk (count,); N for those beyond the last.
        first: the first chunk of every node (N + 1,).
        slot: where the partial sums of a node with several chunks are stored (N + 1,).
        slots: upper bound of the number of partial sums.
    """

    def __init__(self, indptr: Tensor, nnz: int) -> None:
        counts = ((indptr.diff() + SPLIT - 1) // SPLIT).clamp(min=1)
        self.first = _exclusive_sums(counts)
        self.slot = _exclusive_sums(counts * (counts > 1))
        self.count = len(counts) + nnz // SPLIT
        self.slots = 2 * (nnz // SPLIT)
        places = torch.arange(self.count, device=indptr.device)
        self.row = torch.searchsorted(self.first[1:], places, right=True)


def _exclusive_sums(counts: Tensor) -> Tensor:
    return torch.cat((counts.new_zeros(1, dtype=torch.int64), counts.cumsum(0)))


def powers_at_once(alpha: int) -> int:
    """Number of powers that a program holds: a power of two, at most `MAX_POWERS`."""
    return min(MAX_POWERS, _power_of_two(alpha))


def feature_block(features: int) -> int:
    """Number of features of a program: a power of two, at most 64."""
    return min(64, max(16, _power_of_two(features)))


def _power_of_two(number: int) -> int:
    return 1 << (number - 1).bit_length()


def _dropout(drop: float, key: int) -> tuple[int, int, float]:
    """The threshold and the key as signed 32-bit numbers with the same bits, and the scale of what is kept."""
    return _signed(int(drop * 2**32)), _signed(key), 1 / (1 - drop)


def _signed(bits: int) -> int:
    return bits - 2**32 if bits >= 2**31 else bits
