"""Gradients of the products with respect to the factors of S_ρ: inner products of signals at nodes and along edges."""

import torch
from torch import Tensor

from s2gnn.operators.dispatch import custom_operator
from s2gnn.operators.powers import HadamardPowers

GATHERED_AT_ONCE = 2**22  # values that plain torch gathers from edges at once


def row_products(x: Tensor, y: Tensor) -> Tensor:
    """Return ⟨x_ρ(i), y_ρ(i)⟩ for ρ = 1..α, for signals (N, α + 1, F): (N, α)."""
    if torch.is_grad_enabled():
        return _plain_row_products(x, y)
    products: Tensor = _row_products(x, y)
    return products


def _plain_row_products(x: Tensor, y: Tensor) -> Tensor:
    return (x[:, 1:] * y[:, 1:]).sum(dim=2)


@custom_operator(lambda x, _: x.new_empty(x.shape[0], x.shape[1] - 1), native=lambda *_: True, triton=lambda *_: False)
def _row_products(x: Tensor, y: Tensor) -> Tensor:
    return _plain_row_products(x, y)


def by_entries(powers: HadamardPowers, grad: Tensor, h: Tensor) -> Tensor:
    """Return Σ_ρ (±1)^ρ ρ b_ij^(ρ−1) c_ρ(i) c_ρ(j) ⟨g_ρ(i), h_ρ(j)⟩ for every stored direction (E,)."""
    compute = _plain_entries if torch.is_grad_enabled() else _hadamard_gradient
    entries: Tensor = compute(powers.indptr, powers.indices, powers.b, powers.c, powers.sign, grad, h)
    return entries


@custom_operator(
    lambda *inputs: inputs[2].new_empty(inputs[2].shape), native=lambda indptr, *_: indptr.dtype == torch.int32
)
def _hadamard_gradient(
    indptr: Tensor, indices: Tensor, b: Tensor, c: Tensor, sign: int, grad: Tensor, h: Tensor
) -> Tensor:
    HadamardPowers(indptr, indices, b, c, c, sign).checked_csr()
    return _plain_entries(indptr, indices, b, c, sign, grad, h)


def _plain_entries(indptr: Tensor, indices: Tensor, b: Tensor, c: Tensor, sign: int, grad: Tensor, h: Tensor) -> Tensor:
    powers = HadamardPowers(indptr, indices, b, c, c, sign)
    rows, columns = powers.rows(), powers.csr()[1].long()
    grad, h = c[..., None] * grad[:, 1:], c[..., None] * h[:, 1:]
    rho = torch.arange(1, h.shape[1] + 1, device=h.device)
    coefficients = (sign**rho * rho).to(h.dtype)  # (alpha,)
    at_once = max(1, GATHERED_AT_ONCE // max(1, h.shape[1] * h.shape[2]))  # some edges at a time
    parts = [b[:0]]
    for start in range(0, len(b), at_once):
        edges = slice(start, start + at_once)
        inner = (grad[rows[edges]] * h[columns[edges]]).sum(dim=2)  # (edges, alpha)
        parts.append((inner * coefficients * b[edges, None] ** (rho - 1)).sum(dim=1))
    return torch.cat(parts)
