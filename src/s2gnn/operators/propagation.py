"""The differentiable products with all S_ρ at once.

Three linear maps: `fan_out` takes one signal to α + 1, `fan_in` is its adjoint, and `branchwise` takes α + 1 signals
to α + 1 signals; S_0 is the identity. The α + 1 signals of a node are contiguous, (N, α + 1, F): a neighbour's branches
are one block of memory, and dense products treat them as one matrix.
A backward pass uses these maps again, with the transposes of S_ρ, which on an undirected graph are S_ρ themselves.
Each map is a custom operator of torch; the function of that name here computes it in plain PyTorch, see `dispatch`.
"""

from typing import Any

import torch
from torch import Tensor

from s2gnn.errors import InputError
from s2gnn.operators import kernel
from s2gnn.operators.autograd import apply, transforming
from s2gnn.operators.dispatch import custom_operator
from s2gnn.operators.gradients import by_entries, row_products
from s2gnn.operators.plain import branchwise_by_edges, products
from s2gnn.operators.powers import HadamardPowers


def fan_out(powers: HadamardPowers, h: Tensor) -> Tensor:
    """Return S_ρ h for ρ = 0..α, differentiable: h (N, F) → (N, α + 1, F)."""
    if powers.are_learned:
        return branchwise(powers, h[:, None].expand(-1, powers.c.shape[1] + 1, -1))
    return _map("fan_out", powers, h)


def fan_in(powers: HadamardPowers, g: Tensor) -> Tensor:
    """Return Σ_ρ S_ρ g_ρ, differentiable: g (N, α + 1, F) → (N, F). With transposes it is the adjoint of `fan_out`."""
    return _map("fan_in", powers, g)


def branchwise(powers: HadamardPowers, h: Tensor) -> Tensor:
    """Return S_ρ h_ρ for ρ = 0..α, differentiable: h (N, α + 1, F) → (N, α + 1, F).

    Only this map is differentiable with respect to b, c and the diagonals t (N, α); `fan_out` uses it where needed.
    """
    if powers.are_learned and h.dtype != powers.b.dtype:  # the gradient of c is a difference of rounded products
        return branchwise(powers, h.to(powers.b.dtype)).to(h.dtype)
    if transforming() and powers.are_learned:
        return branchwise_by_edges(powers, h)
    return _map("branchwise", powers, h)


def _map(name: str, powers: HadamardPowers, signal: Tensor) -> Tensor:
    if transforming():
        return apply(_LinearMap, name, *powers, signal)
    product: Tensor = _OPERATORS[name](*powers, signal)
    return product


def by_branch(h: Tensor, weight: Tensor) -> Tensor:
    """Return h_ρ W_ρ, one dense product for each branch: h (N, R, F), weight (R, F, out) → (N, R, out)."""
    return (h.transpose(0, 1) @ weight).transpose(0, 1)


def filtered(powers: HadamardPowers, h: Tensor, weight: Tensor) -> Tensor:
    """Return (S_ρ h) W_ρ for ρ = 0..α, differentiable: h (N, F), weight (α + 1, F, out) → (N, α + 1, out)."""
    if transforming() or kernel.chosen(h.device.type) == kernel.PLAIN:
        return by_branch(fan_out(powers, h), weight)
    return apply(_Filtered, h, weight, *powers)


class _Filtered(torch.autograd.Function):
    """(S_ρ H) W_ρ. The backward pass recomputes S_ρ H: storing it would take α + 1 times the memory of H."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, weight: Tensor, *powers: Any) -> Tensor:
        _keep(ctx, powers, h, weight)
        return by_branch(fan_out(HadamardPowers(*powers), h), weight)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        powers, (h, weight) = _kept(ctx)
        grad = grad.to(h.dtype)
        grad_weight = None
        if ctx.needs_input_grad[1]:
            grad_weight = fan_out(powers, h).permute(1, 2, 0) @ grad.transpose(0, 1)
        by_weight = grad.new_empty(*grad.shape[:2], h.shape[1])  # G_ρ W_ρᵀ, (N, alpha + 1, F)
        for rho, branch in enumerate(weight):
            by_weight[:, rho] = grad[:, rho] @ branch.T.to(grad.dtype)  # of another type under autocast
        return fan_in(powers.transposed(), by_weight), grad_weight, *(None,) * len(powers)


class _LinearMap(torch.autograd.Function):
    """One of the three maps with constant S_ρ, for `torch.func` and forward-mode derivatives."""

    @staticmethod
    def forward(name: str, *inputs: Any) -> Tensor:
        product: Tensor = _OPERATORS[name](*inputs)
        return product

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        del output
        ctx.name, *powers, _ = inputs
        _keep(ctx, powers)
        ctx.save_for_forward(*powers[:5])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        powers, _ = _kept(ctx)
        return *(None,) * (1 + len(powers)), _map(_ADJOINT[ctx.name], powers.transposed(), grad)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        return _map(ctx.name, _kept(ctx)[0], tangents[-1])

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], name: str, *inputs: Any) -> tuple[Tensor, int]:
        """Propagate the signals of a batch as columns of one signal."""
        *factors, signal = inputs
        if any(dim is not None for dim in in_dims[1:-1]):
            raise InputError("vmap maps over the factors of an operator: pass one operator for the whole batch")
        signal = signal.movedim(in_dims[-1], -2)  # (N, ..., batch, F)
        product = _map(name, HadamardPowers(*factors), signal.flatten(-2))
        return product.view(*product.shape[:-1], info.batch_size, -1), product.ndim - 1


def _keep(ctx: Any, powers: Any, *more: Tensor) -> None:
    """Save the factors, and `more`, for a backward pass."""
    ctx.save_for_backward(*powers[:5], *more)
    ctx.sign = powers[5]


def _kept(ctx: Any) -> tuple[HadamardPowers, tuple[Tensor, ...]]:
    """Return the factors that `_keep` saved, and what was saved with them."""
    tensors = ctx.saved_tensors
    return HadamardPowers._make((*tensors[:5], ctx.sign)), tensors[5:]


def gather_cost(b: Tensor, alpha: int, device: str, width: int, *, branches: bool) -> float:
    """See `BranchOperator.gather_cost`.

    An edge costs its index, its value, α scalings and the rows that it gathers: α rows, or, of one signal in the native
    kernel, one row for all α powers.
    """
    native = kernel.chosen(device) != kernel.PLAIN
    per_byte = kernel.FLOPS_PER_GATHERED_BYTE if native else kernel.FLOPS_PER_GATHERED_BYTE_OF_CSR
    size, rows = b.element_size(), 1 if native and not branches else alpha
    return per_byte * b.shape[0] * (4 + size + size * alpha + size * width * rows)


def _branches_of(*inputs: Any) -> Tensor:
    """Return empty branches (N, α + 1, F) for `fan_out`."""
    (n, alpha), h = inputs[3].shape, inputs[-1]
    empty: Tensor = h.new_empty(n, alpha + 1, h.shape[1])
    return empty


def _has_small_indices(*inputs: Any) -> bool:
    return bool(inputs[0].dtype == torch.int32)


def _has_small_symmetric_pattern(*inputs: Any) -> bool:
    """Return the requirement of the native `fan_in`, which reads S_ρ as its transpose."""
    return _has_small_indices(*inputs) and not HadamardPowers(*inputs[:-1]).are_directed


@custom_operator(_branches_of, native=_has_small_indices)
def _fan_out(indptr: Tensor, indices: Tensor, b: Tensor, c: Tensor, t: Tensor, sign: int, h: Tensor) -> Tensor:
    powers, out = HadamardPowers(indptr, indices, b, c, t, sign), _branches_of(indptr, indices, b, c, h)
    for branch, product in enumerate(products(powers, h[:, None].expand(out.shape))):
        out[:, branch] = product
    return out


@custom_operator(lambda *inputs: inputs[-1].new_empty(inputs[-1][:, 0].shape), native=_has_small_symmetric_pattern)
def _fan_in(indptr: Tensor, indices: Tensor, b: Tensor, c: Tensor, t: Tensor, sign: int, g: Tensor) -> Tensor:
    powers = HadamardPowers(indptr, indices, b, c, t, sign)
    if powers.are_directed:
        by_branches: Tensor = _branchwise(*powers, g)
        return by_branches.sum(dim=1)
    out = g.new_zeros(len(c), g.shape[2])
    for product in products(powers, g):
        out += product
    return out


@custom_operator(lambda *inputs: inputs[-1].new_empty(inputs[-1].shape), native=_has_small_indices)
def _branchwise(indptr: Tensor, indices: Tensor, b: Tensor, c: Tensor, t: Tensor, sign: int, h: Tensor) -> Tensor:
    out = h.new_empty(h.shape)
    for branch, product in enumerate(products(HadamardPowers(indptr, indices, b, c, t, sign), h)):
        out[:, branch] = product
    return out


_OPERATORS = {name: getattr(torch.ops.s2gnn, name).default for name in ("fan_out", "fan_in", "branchwise")}
_ADJOINT = {"fan_out": "fan_in", "fan_in": "fan_out", "branchwise": "branchwise"}


def _keep_powers(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    del output
    _keep(ctx, inputs[:-1])


def _register_adjoint(forward: Any, adjoint: str) -> None:
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        powers, _ = _kept(ctx)
        return None, None, None, None, None, None, _map(adjoint, powers.transposed(), grad)

    forward.register_autograd(backward, setup_context=_keep_powers)


_register_adjoint(_fan_out, "fan_in")
_register_adjoint(_fan_in, "fan_out")


def _keep_all(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    *powers, h = inputs
    learned = any(x.requires_grad for x in powers[2:5])
    _keep(ctx, powers, *((h, output) if learned else ()))


def _branchwise_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    """Return the gradients of Y_ρ = S_ρ H_ρ, given G_ρ, with S_ρ(i, j) = ±b_ij^ρ c_ρ(i) c_ρ(j) and S_ρ(i, i) = t_ρ(i).

    With respect to H it is S_ρᵀ G_ρ, to t_ρ(i) it is ⟨G_ρ(i), H_ρ(i)⟩. c_ρ(i) scales what node i receives from its
    neighbours and sends to them: ⟨G, Y⟩ + ⟨H, Sᵀ G⟩ without the diagonals.
    """
    powers, signals = _kept(ctx)
    grad_h = branchwise(powers.transposed(), grad)
    if not signals:
        return *(None,) * len(powers), grad_h
    (h, y), c = signals, powers.c
    own = row_products(grad, h)  # (N, alpha)
    taken_and_given = row_products(grad, y) + row_products(h, grad_h) - 2 * powers.t * own
    grad_c = torch.where(c > 0, taken_and_given / c.where(c > 0, 1.0), 0.0)
    grad_b = by_entries(powers, grad, h) if ctx.needs_input_grad[2] else None
    return None, None, grad_b, grad_c, own, None, grad_h


_branchwise.register_autograd(_branchwise_backward, setup_context=_keep_all)
