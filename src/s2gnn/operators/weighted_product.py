"""The product with the Hadamard powers of a symmetric matrix, differentiable by its entries too."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from s2gnn.operators.edge_factors import EdgePattern
from s2gnn.operators.propagation import HadamardPowers, branchwise

GATHERED_AT_ONCE = 2**22  # values


def weighted_products(powers: HadamardPowers, pattern: EdgePattern, h: Tensor) -> Tensor:
    """`branchwise` with a gradient by the entries `powers.b` too: h (N, α + 1, F) → (N, α + 1, F).

    The powers are those of a matrix B that is not normalised: c is one, t is zero. The gradient takes O(E α F) and no
    dense matrix.
    """
    if not (torch.is_grad_enabled() and powers.b.requires_grad):
        return branchwise(powers, h)
    product: Tensor = _Products.apply(powers.b, h, powers, pattern)  # type: ignore[no-untyped-call]
    return product


class _Products(torch.autograd.Function):
    """`weighted_products`; the gradient by h is the same map again, because B is symmetric."""

    @staticmethod
    def forward(ctx: Any, b: Tensor, h: Tensor, powers: HadamardPowers, pattern: EdgePattern) -> Tensor:
        ctx.save_for_backward(b, h)
        ctx.powers, ctx.pattern = replace(powers, b=b.detach()), pattern
        return branchwise(ctx.powers, h)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        b, h = ctx.saved_tensors
        powers = replace(ctx.powers, b=b)
        grad_b = _by_entries(powers, ctx.pattern, grad, h) if ctx.needs_input_grad[0] else None
        grad_h = weighted_products(powers, ctx.pattern, grad) if ctx.needs_input_grad[1] else None
        return grad_b, grad_h, None, None


def _by_entries(powers: HadamardPowers, pattern: EdgePattern, grad: Tensor, h: Tensor) -> Tensor:
    """Σ_ρ (±1)^ρ ρ b_ij^(ρ−1) ⟨g_ρ(i), h_ρ(j)⟩ of every stored direction (E,), some edges at a time."""
    grad, h = grad[:, 1:], h[:, 1:]
    rho = torch.arange(1, h.shape[1] + 1, device=h.device)
    coefficients = (powers.sign**rho * rho).to(h.dtype)  # (alpha,)
    at_once = max(1, GATHERED_AT_ONCE // max(1, h.shape[1] * h.shape[2]))
    parts = []
    for start in range(0, len(powers.b), at_once):
        edges = slice(start, start + at_once)
        inner = (grad[pattern.rows[edges]] * h[pattern.columns[edges]]).sum(dim=2)  # (edges, alpha)
        parts.append((inner * coefficients * powers.b[edges, None] ** (rho - 1)).sum(dim=1))
    return torch.cat(parts) if parts else torch.zeros_like(powers.b)
