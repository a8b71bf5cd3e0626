"""Triton implementations of the custom operators of `propagation`, `gradients` and `activation` for GPUs.

Propagation: a program sums one chunk of neighbours of a node, see `chunks`, for a block of features. The powers of an
edge's value are formed in registers, for `POWERS` powers at a time, so that for α ≤ 8 an edge is read once. The partial
sums of a node with several chunks are added in a fixed order by a second kernel, so that results are deterministic.
Signals are float32, or stored in half precision and summed in float32; or float64. Offsets are 64-bit.

Functions take contiguous inputs, then the tensors to fill, see `dispatch`. The same code runs on CPU tensors in
Triton's interpreter, with `TRITON_INTERPRET=1`, which is how it is tested without a GPU.
"""

from functools import partial

import torch
import triton
import triton.language as tl
from torch import Tensor

from s2gnn.operators import chunks
from s2gnn.operators import gpu_kernels as kernels
from s2gnn.operators.powers import HadamardPowers

BLOCK_E = 4  # neighbours of a chunk that are processed at a time
MAX_POWERS = 8  # powers that are computed at a time
BLOCK = 512  # elements of a program of the element-wise kernels
BLOCK_ROWS = 64  # rows whose gradients a program of `combine_backward` adds

OPTIONS = {"num_warps": 4, "enable_fp_fusion": True}  # of every kernel

FAN_OUT, FAN_IN, BRANCHWISE = 0, 1, 2


def _propagate(
    kind: int, indptr: Tensor, indices: Tensor, b: Tensor, c: Tensor, t: Tensor, sign: int, x: Tensor, out: Tensor
) -> None:
    """Fill `out` with one of the three maps of `propagation`."""
    if out.numel() == 0:
        return
    (n, alpha), features, most = c.shape, x.shape[-1], len(b) // chunks.SPLIT
    table = HadamardPowers(indptr, indices, b, c, t, sign).chunks()
    powers = powers_at_once(alpha)
    results = 1 if kind == FAN_IN else -(-alpha // powers) * powers
    exact = torch.float64 if x.dtype == torch.float64 else torch.float32
    partial_sums = torch.empty(2 * most, results, features, dtype=exact, device=x.device)
    block = feature_block(features)
    shape = {
        "KIND": kind, "ALPHA": alpha, "POWERS": powers, "DIAGONALS": t.ndim == 2,
        "BLOCK_F": block, "ACCUMULATED": tl.float64 if exact == torch.float64 else tl.float32, **OPTIONS,
    }  # fmt: skip
    blocks = triton.cdiv(features, block)
    kernels.sum_neighbours[(n + most, blocks)](
        indptr, indices, b, c, t, table, x, out, partial_sums, n, features, **shape,
        SIGN=sign, SPLIT=chunks.SPLIT, BLOCK_E=BLOCK_E,
    )  # fmt: skip
    if most:
        kernels.add_partial_sums[(most, blocks)](c, t, table[n + most :], x, out, partial_sums, n, features, **shape)


fan_out = partial(_propagate, FAN_OUT)
fan_in = partial(_propagate, FAN_IN)
branchwise = partial(_propagate, BRANCHWISE)


def hadamard_gradient(
    indptr: Tensor, indices: Tensor, b: Tensor, c: Tensor, sign: int, grad: Tensor, h: Tensor, out: Tensor
) -> None:
    """Fill `out` (E,) with Σ_ρ (±1)^ρ ρ b_ij^(ρ−1) c_ρ(i) c_ρ(j) ⟨g_ρ(i), h_ρ(j)⟩, signals (N, α + 1, F)."""
    if out.numel() == 0:
        return
    table, features = HadamardPowers(indptr, indices, b, c, c, sign).chunks(), h.shape[2]
    kernels.gradient_of_entries[(len(c) + len(b) // chunks.SPLIT,)](
        indptr, indices, b, c, table, grad, h, out, len(c), features,
        ALPHA=c.shape[1], SIGN=sign, BLOCK_F=feature_block(features), SPLIT=chunks.SPLIT, BLOCK_E=4 * BLOCK_E,
        ACCUMULATED=tl.float64 if h.dtype == torch.float64 else tl.float32, **OPTIONS,
    )  # fmt: skip


def activate(x: Tensor, bias: Tensor, key: int, drop: float, out: Tensor) -> None:
    """Fill `out` (N, R, F) with dropout(ReLU(x + bias)); of `x` only the columns are contiguous."""
    if out.numel() == 0:
        return
    kernels.activate[(triton.cdiv(out.numel(), BLOCK),)](
        x, bias, out, out.numel(), x.shape[1], x.shape[2], x.stride(0), x.stride(1), *_dropout(drop, key),
        DROPS=drop > 0, BLOCK=BLOCK, **OPTIONS,
    )  # fmt: skip


def activate_backward(grad: Tensor, y: Tensor, drop: float, out: Tensor) -> None:
    """Fill `out` with the gradient with respect to the input of `activate`, whose result was `y`."""
    if out.numel() == 0:
        return
    kernels.activate_backward[(triton.cdiv(out.numel(), BLOCK),)](
        grad, y, out, out.numel(), 1 / (1 - drop), BLOCK=BLOCK, **OPTIONS,
    )  # fmt: skip


def combine(x: Tensor, bias: Tensor, mu: Tensor, key: int, drop: float, out: Tensor) -> None:
    """Fill `out` (N, F) with Σ_ρ μ_ρ dropout(ReLU(x_ρ + b_ρ)); of `x` only the columns are contiguous."""
    if out.numel() == 0:
        return
    kernels.combine[(triton.cdiv(out.numel(), BLOCK),)](
        x, bias, mu, out, out.numel(), x.shape[2], x.stride(0), x.stride(1), *_dropout(drop, key),
        BRANCHES=x.shape[1], DROPS=drop > 0, BLOCK=BLOCK, **OPTIONS,
    )  # fmt: skip


def combine_backward(
    x: Tensor, bias: Tensor, mu: Tensor, grad: Tensor, key: int, drop: float,
    grad_x: Tensor, grad_bias: Tensor, grad_mu: Tensor,
) -> None:  # fmt: skip
    """Fill the gradients of `combine` by x (N, R, F), bias (R, F) and mu (R,); of `x` only the columns are contiguous.

    Each program adds those by bias and mu over `BLOCK_ROWS` rows, so that their sum has a fixed order.
    """
    rows, branches, columns = x.shape
    block = feature_block(columns)
    blocks = triton.cdiv(rows, BLOCK_ROWS), branches, triton.cdiv(columns, block)
    by_bias, by_mu = (x.new_zeros(size, dtype=torch.float32) for size in ((blocks[0], branches, columns), blocks))
    if grad_x.numel():
        kernels.combine_backward[blocks](
            x, bias, mu, grad, grad_x, by_bias, by_mu, rows, columns, x.stride(0), x.stride(1), *_dropout(drop, key),
            DROPS=drop > 0, BLOCK_F=block, ROWS=BLOCK_ROWS, **OPTIONS,
        )  # fmt: skip
    grad_bias.copy_(by_bias.sum(dim=0))
    grad_mu.copy_(by_mu.sum(dim=(0, 2)))


def powers_at_once(alpha: int) -> int:
    """Return the number of powers that a program computes: a power of two, at most `MAX_POWERS`."""
    return min(MAX_POWERS, _power_of_two(alpha))


def feature_block(features: int) -> int:
    """Return the number of features of a program: a power of two, at most 64."""
    return min(64, max(16, _power_of_two(features)))


def _power_of_two(number: int) -> int:
    return 1 << (number - 1).bit_length()


def _dropout(drop: float, key: int) -> tuple[int, int, float]:
    """Return the threshold and the key as signed 32-bit integers with the same bits, and the scale of kept elements."""
    return _signed(int(drop * 2**32)), _signed(key), 1 / (1 - drop)


def _signed(bits: int) -> int:
    return bits - 2**32 if bits >= 2**31 else bits
