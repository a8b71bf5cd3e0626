"""Gradients of the products by the factors of S_ρ: inner products of signals at nodes and along edges."""

import torch
from torch import Tensor

from s2gnn.operators import kernel
from s2gnn.operators.powers import HadamardPowers

GATHERED_AT_ONCE = 2**22  # values that plain torch gathers from edges at once


def row_products(x: Tensor, y: Tensor) -> Tensor:
    """⟨x_ρ(i), y_ρ(i)⟩ for ρ = 1..α, of signals (N, α + 1, F), (N, α)."""
    if torch.is_grad_enabled():
        return _plain_row_products(x, y)
    products: Tensor = _row_products_operator(x, y)
    return products


def _plain_row_products(x: Tensor, y: Tensor) -> Tensor:
    return (x[:, 1:] * y[:, 1:]).sum(dim=2)


@torch.library.custom_op("s2gnn::row_products", mutates_args=())
def _row_products_operator(x: Tensor, y: Tensor) -> Tensor:
    native = kernel.native_variant(x.device.type)
    if native is None:
        return _plain_row_products(x, y)
    module, variant = native
    nodes = torch.arange(len(x) + 1, dtype=torch.int32).numpy()
    out = x.new_empty(x.shape[1], len(x))
    arrays = (kernel.array(signal.contiguous()) for signal in (x, y))
    module.dot(variant, nodes, nodes[:-1], nodes[:-1], torch.get_num_threads(), *arrays, kernel.array(out))
    return out[1:].T.contiguous()


_row_products_operator.register_fake(lambda x, _: x.new_empty(x.shape[0], x.shape[1] - 1))


def by_entries(powers: HadamardPowers, grad: Tensor, h: Tensor) -> Tensor:
    """Σ_ρ (±1)^ρ ρ b_ij^(ρ−1) c_ρ(i) c_ρ(j) ⟨g_ρ(i), h_ρ(j)⟩ of every stored direction (E,)."""
    (indptr, indices), b, c, sign = powers.csr(), powers.b, powers.c, powers.sign
    if torch.is_grad_enabled():
        return _plain_entries(indptr, indices, b, c, sign, grad, h)
    entries: Tensor = _entries_operator(indptr, indices, b, c, sign, grad, h)
    return entries


@torch.library.custom_op("s2gnn::hadamard_gradient", mutates_args=())
def _entries_operator(
    indptr: Tensor, indices: Tensor, b: Tensor, c: Tensor, sign: int, grad: Tensor, h: Tensor
) -> Tensor:
    if (gpu := kernel.triton_module(h.device.type)) is not None:
        out = b.new_empty(b.shape)
        b, c, grad, h = (x.contiguous() for x in (b, c, grad, h))
        gpu.hadamard_gradient(indptr, indices, b, c, sign, grad, h, out)
        return out
    native = kernel.native_variant(h.device.type)
    if native is None or indptr.dtype != torch.int32:
        return _plain_entries(indptr, indices, b, c, sign, grad, h)
    module, variant = native
    out = b.new_empty(b.shape)
    csr, values = map(kernel.array, (indptr, indices)), (x.contiguous() for x in (b, c, grad, h))
    arrays = (*map(kernel.array, values), kernel.array(out))
    module.hadamard_gradient(variant, *csr, torch.get_num_threads(), sign, *arrays)
    return out


_entries_operator.register_fake(lambda *inputs: inputs[2].new_empty(inputs[2].shape))


def _plain_entries(indptr: Tensor, indices: Tensor, b: Tensor, c: Tensor, sign: int, grad: Tensor, h: Tensor) -> Tensor:
    rows, columns = HadamardPowers(indptr, indices, b, c, c, sign).rows(), indices.long()
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
