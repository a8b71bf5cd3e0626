"""The differentiable products with all S_ρ at once.

Three linear maps: `fan_out` takes one signal to α + 1, `fan_in` is its adjoint, and `branchwise` takes α + 1 signals
to as many; S_0 is the identity. The α + 1 signals of a node lie side by side, (N, α + 1, F): a neighbour's branches
are one stretch of memory, and dense products see them as one matrix.
Every S_ρ is symmetric, so a backward pass uses these maps again and no transpose is formed. Each map is registered with
`torch.library` and computed by the native kernel or, where there is none, on plain torch.
"""

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from s2gnn.operators import kernel
from s2gnn.operators.autograd import apply

with warnings.catch_warnings():
    # torch warns once per process that CSR tensors are in beta; trigger the warning here, where it is ignored.
    warnings.simplefilter("ignore")
    torch.sparse_csr_tensor(
        torch.tensor([0, 0]), torch.tensor([], dtype=torch.int64), torch.tensor([]), size=(1, 1),
        check_invariants=False,
    )  # fmt: skip

GATHERED_AT_ONCE = 2**22  # values that plain torch gathers from edges at once
CACHED_ROWS = 2**23  # bytes of rows that the native kernel accesses at random in one pass over the edges


class HadamardPowers(NamedTuple):
    """`HadamardFactors` as tensors, with the CSR pattern of the graph.

    Attributes:
        indptr: (N + 1,) int32.
        indices: (E,) int32, E stored directions.
        b: (E,).
        c: (N, α).
        t: (N,), with S_ρ(i, i) = t_i^ρ c_ρ(i)²; or (N, α), the diagonals themselves.
        sign: +1 or −1.
    """

    indptr: Tensor
    indices: Tensor
    b: Tensor
    c: Tensor
    t: Tensor
    sign: int

    @property
    def are_learned(self) -> bool:
        """Whether gradients by b, c or t are asked for."""
        return torch.is_grad_enabled() and any(x.requires_grad for x in (self.b, self.c, self.t))


def fan_out(powers: HadamardPowers, h: Tensor) -> Tensor:
    """S_ρ h for ρ = 0..α, differentiable: h (N, F) → (N, α + 1, F)."""
    if powers.are_learned:
        return branchwise(powers, h[:, None].expand(-1, powers.c.shape[1] + 1, -1))
    product: Tensor = _fan_out(*powers, h)
    return product


def fan_in(powers: HadamardPowers, g: Tensor) -> Tensor:
    """Σ_ρ S_ρ g_ρ, the adjoint of `fan_out`, differentiable: g (N, α + 1, F) → (N, F)."""
    product: Tensor = _fan_in(*powers, g)
    return product


def branchwise(powers: HadamardPowers, h: Tensor) -> Tensor:
    """S_ρ h_ρ for ρ = 0..α, its own adjoint, differentiable: h (N, α + 1, F) → (N, α + 1, F).

    Only this map is differentiable with respect to b, c and the diagonals t (N, α); `fan_out` uses it where needed.
    """
    product: Tensor = _branchwise(*powers, h)
    return product


def by_branch(h: Tensor, weight: Tensor) -> Tensor:
    """h_ρ W_ρ, one dense product for each branch: h (N, R, F), weight (R, F, out) → (N, R, out)."""
    return (h.transpose(0, 1) @ weight).transpose(0, 1)


def filtered(powers: HadamardPowers, h: Tensor, weight: Tensor) -> Tensor:
    """(S_ρ h) W_ρ for ρ = 0..α, differentiable: h (N, F), weight (α + 1, F, out) → (N, α + 1, out)."""
    if kernel.chosen(h.device.type) == kernel.PLAIN:
        return by_branch(fan_out(powers, h), weight)
    return apply(_Filtered, h, weight, *powers)


class _Filtered(torch.autograd.Function):
    """(S_ρ H) W_ρ. The backward pass computes S_ρ H again: keeping it takes α + 1 times the memory of H."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, weight: Tensor, *powers: Any) -> Tensor:
        ctx.save_for_backward(h, weight, *powers[:-1])
        ctx.sign = powers[-1]
        return by_branch(fan_out(HadamardPowers(*powers), h), weight)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        h, weight, *tensors = ctx.saved_tensors
        powers, grad = HadamardPowers._make((*tensors, ctx.sign)), grad.to(h.dtype)
        grad_weight = None
        if ctx.needs_input_grad[1]:
            grad_weight = fan_out(powers, h).permute(1, 2, 0) @ grad.transpose(0, 1)
        by_weight = grad.new_empty(*grad.shape[:2], h.shape[1])  # G_ρ W_ρᵀ, (N, alpha + 1, F)
        for rho, branch in enumerate(weight):
            by_weight[:, rho] = grad[:, rho] @ branch.T
        return fan_in(powers, by_weight), grad_weight, *(None,) * 6


def gather_cost(b: Tensor, alpha: int, device: str, width: int, *, branches: bool) -> float:
    """See `BranchOperator.gather_cost`.

    An edge costs its index, its value, α scalings and the rows that it gathers: α rows, or, of one signal in the native
    kernel, one row for all α powers.
    """
    native = kernel.chosen(device) != kernel.PLAIN
    per_byte = kernel.FLOPS_PER_GATHERED_BYTE if native else kernel.FLOPS_PER_GATHERED_BYTE_OF_CSR
    size, rows = b.element_size(), 1 if native and not branches else alpha
    return per_byte * len(b) * (4 + size + size * alpha + size * width * rows)


@torch.library.custom_op("s2gnn::fan_out", mutates_args=())
def _fan_out(indptr: Tensor, indices: Tensor, b: Tensor, c: Tensor, t: Tensor, sign: int, h: Tensor) -> Tensor:
    out = h.new_empty(len(c), c.shape[1] + 1, h.shape[1])
    powers = HadamardPowers(indptr, indices, b, c, t, sign)
    if not _run_natively("fan_out", powers, h, out):
        for branch, product in enumerate(_products(powers, h[:, None].expand(out.shape))):
            out[:, branch] = product
    return out


@torch.library.custom_op("s2gnn::fan_in", mutates_args=())
def _fan_in(indptr: Tensor, indices: Tensor, b: Tensor, c: Tensor, t: Tensor, sign: int, g: Tensor) -> Tensor:
    out = g.new_empty(len(c), g.shape[2])
    powers = HadamardPowers(indptr, indices, b, c, t, sign)
    if not _run_natively("fan_in", powers, g, out):
        out.zero_()
        for product in _products(powers, g):
            out += product
    return out


@torch.library.custom_op("s2gnn::branchwise", mutates_args=())
def _branchwise(indptr: Tensor, indices: Tensor, b: Tensor, c: Tensor, t: Tensor, sign: int, h: Tensor) -> Tensor:
    out = h.new_empty(h.shape)
    powers = HadamardPowers(indptr, indices, b, c, t, sign)
    if not _run_natively("branchwise", powers, h, out):
        for branch, product in enumerate(_products(powers, h)):
            out[:, branch] = product
    return out


_fan_out.register_fake(
    lambda *inputs: inputs[-1].new_empty(inputs[-1].shape[0], inputs[3].shape[1] + 1, inputs[-1].shape[1])
)
_fan_in.register_fake(lambda *inputs: inputs[-1].new_empty(inputs[-1].shape[0], inputs[-1].shape[2]))
_branchwise.register_fake(lambda *inputs: inputs[-1].new_empty(inputs[-1].shape))


def _keep_powers(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    del output
    *tensors, sign, _ = inputs
    ctx.save_for_backward(*tensors)
    ctx.sign = sign


def _register_adjoint(forward: Any, adjoint: Any) -> None:
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return (None,) * 6 + (adjoint(*ctx.saved_tensors, ctx.sign, grad),)

    forward.register_autograd(backward, setup_context=_keep_powers)


_register_adjoint(_fan_out, _fan_in)
_register_adjoint(_fan_in, _fan_out)


def _keep_all(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    *tensors, ctx.sign, h = inputs
    learned = any(x.requires_grad for x in tensors[2:])
    ctx.save_for_backward(*tensors, *((h, output) if learned else ()))


def _branchwise_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    """The gradients of Y_ρ = S_ρ H_ρ, given G_ρ, with S_ρ(i, j) = ±b_ij^ρ c_ρ(i) c_ρ(j) and S_ρ(i, i) = t_ρ(i).

    By H it is S_ρ G_ρ, by t_ρ(i) it is ⟨G_ρ(i), H_ρ(i)⟩. c_ρ(i) scales what node i takes from its neighbours and what
    it gives them, ⟨G, Y⟩ + ⟨H, S G⟩ without the diagonals.
    """
    *tensors, h, y = ctx.saved_tensors if len(ctx.saved_tensors) > 5 else (*ctx.saved_tensors, None, None)
    powers = HadamardPowers._make((*tensors, ctx.sign))
    grad_h = branchwise(powers, grad)
    if h is None:
        return *(None,) * 6, grad_h
    c = powers.c
    own = _row_products(grad, h)  # (N, alpha)
    taken_and_given = _row_products(grad, y) + _row_products(h, grad_h) - 2 * powers.t * own
    grad_c = torch.where(c > 0, taken_and_given / c.where(c > 0, 1.0), 0.0)
    grad_b = _by_entries(powers, grad, h) if ctx.needs_input_grad[2] else None
    return None, None, grad_b, grad_c, own, None, grad_h


_branchwise.register_autograd(_branchwise_backward, setup_context=_keep_all)


def _row_products(x: Tensor, y: Tensor) -> Tensor:
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


def _by_entries(powers: HadamardPowers, grad: Tensor, h: Tensor) -> Tensor:
    """Σ_ρ (±1)^ρ ρ b_ij^(ρ−1) c_ρ(i) c_ρ(j) ⟨g_ρ(i), h_ρ(j)⟩ of every stored direction (E,)."""
    indptr, indices, b, c, _, sign = powers
    if torch.is_grad_enabled():
        return _plain_entries(indptr, indices, b, c, sign, grad, h)
    entries: Tensor = _entries_operator(indptr, indices, b, c, sign, grad, h)
    return entries


@torch.library.custom_op("s2gnn::hadamard_gradient", mutates_args=())
def _entries_operator(
    indptr: Tensor, indices: Tensor, b: Tensor, c: Tensor, sign: int, grad: Tensor, h: Tensor
) -> Tensor:
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
    nodes = torch.arange(len(c), device=h.device)
    rows, columns = nodes.repeat_interleave(indptr.diff()), indices.long()
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


def _run_natively(name: str, powers: HadamardPowers, signal: Tensor, out: Tensor) -> bool:
    """Fill `out` with the native kernel, if one applies; return whether one did."""
    native = kernel.native_variant(signal.device.type)
    if native is None or powers.indptr.dtype != torch.int32:
        return False
    module, variant = native
    arrays = (kernel.array(factor.contiguous()) for factor in powers[:-1])
    signals = (kernel.array(signal.contiguous()), kernel.array(out))
    getattr(module, name)(variant, *arrays, powers.sign, torch.get_num_threads(), CACHED_ROWS, *signals)
    return True


def _products(powers: HadamardPowers, inputs: Tensor) -> Iterator[Tensor]:
    """Yield S_ρ H_ρ (N, F) for ρ = 0..α, of inputs H (N, α + 1, F), on plain torch.

    b^ρ is computed branch by branch: one array of E floats, not α.
    """
    indptr, indices, b, c, t, sign = powers
    own, *others = inputs.unbind(1)
    yield own
    power = torch.ones_like(b)
    for rho, h in enumerate(others, start=1):
        power = power * b
        scale = c[:, rho - 1, None]  # (N, 1)
        hadamard = torch.sparse_csr_tensor(indptr, indices, power, size=(len(c), len(c)), check_invariants=False)
        neighbours = scale * (hadamard @ (scale * h))  # (N, F)
        own_weight = t[:, rho - 1, None] if t.ndim == 2 else t[:, None] ** rho * scale**2
        yield sign**rho * neighbours + own_weight * h
