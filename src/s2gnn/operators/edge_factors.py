"""The factors of Hadamard powers in torch, differentiable with respect to ε and the edge weights."""

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from s2gnn.graphs import Graph
from s2gnn.operators import kernel
from s2gnn.operators.autograd import transforming
from s2gnn.operators.chunks import with_chunks
from s2gnn.operators.shifts import Shift

LARGEST_SCALE = 1e18  # its square is a float32


@dataclass(frozen=True, eq=False)
class EdgePattern:
    """The sparsity pattern of a graph: E stored directions of n_edges pairs.

    Attributes:
        indptr: (N + 1,), of the CSR pattern.
        indices: (E,), of the CSR pattern.
        pairs: (E,), the position of the undirected pair of every stored direction in `Graph.to_edge_list`; in a
            directed graph, where every edge has its own weight, the positions 0..E−1.
        pointers: `indptr` as `HadamardPowers` stores it, on a GPU followed by chunks; for a directed graph, `indptr`.
    """

    indptr: Tensor
    indices: Tensor
    pairs: Tensor
    pointers: Tensor

    def to(self, device: torch.device | str) -> "EdgePattern":
        """Copy the pattern to another device."""
        return EdgePattern.undirected(*(part.to(device) for part in (self.indptr, self.indices, self.pairs)))

    @classmethod
    def of(cls, graph: Graph, device: torch.device | str) -> "EdgePattern":
        """Return the pattern of `graph`."""
        native = kernel.native_variant("cpu")
        if native is not None and graph.indptr.dtype == np.int32:
            pairs = np.empty_like(graph.indices)
            native[0].number_pairs(graph.indptr, graph.indices, pairs)
        else:
            rows, stored = graph.rows(), np.arange(len(graph.indices))
            shape = (graph.n_nodes,) * 2
            reverse = sp.csr_array((stored, graph.indices, graph.indptr), shape=shape).T.tocsr().data
            upper = rows < graph.indices
            pairs = np.cumsum(upper) - 1
            pairs = np.where(upper, pairs, pairs[reverse]).astype(graph.indices.dtype)
        arrays = (torch.tensor(array, device=device) for array in (graph.indptr, graph.indices, pairs))
        return cls.undirected(*arrays)

    @classmethod
    def undirected(cls, indptr: Tensor, indices: Tensor, pairs: Tensor) -> "EdgePattern":
        """Return the pattern of undirected pairs."""
        return cls(indptr, indices, pairs, with_chunks(indptr, len(indptr) - 1, len(indices)))

    @classmethod
    def directed(cls, indptr: Tensor, indices: Tensor) -> "EdgePattern":
        """Return the pattern of directed edges, each of which has its own weight."""
        numbers = torch.arange(indices.shape[0], dtype=indices.dtype, device=indices.device)
        return cls(indptr, indices, numbers, indptr)

    def positions(self) -> tuple[Tensor, Tensor]:
        """Return the row and the column of every stored direction, (E,) int64."""
        nodes, count = torch.arange(self.indptr.shape[0] - 1, device=self.indptr.device), self.indices.shape[0]
        return nodes.repeat_interleave(self.indptr.diff(), output_size=count), self.indices.long()


@dataclass(frozen=True, eq=False)
class EdgeFactors:
    """The part of S_ρ that does not depend on ε, for a shift with the off-diagonal entries ± M_ij, M_ij ≥ 0.

    With ℓ_i = max_j M_ij, or 1 where that is zero,

        M_ij^ρ = b_ij^ρ (ℓ_i ℓ_j)^(ρ/2),      Σ_j M_ij^ρ = q_ρ(i) ℓ_i^ρ,

    and b and q are between 0 and 1 and between 0 and the number of neighbours. S_ρ does not depend on ℓ, so ℓ
    is treated as a constant in derivatives.

    Attributes:
        b: (E,), in the dtype of products; the rest is float64.
        q: (N, α).
        largest: ℓ, (N,).
        diagonal: M_ii of the shift itself, ε not added, (N,).
        sign: +1 or −1, the common sign of the off-diagonal entries.
    """

    b: Tensor
    q: Tensor
    largest: Tensor
    diagonal: Tensor
    sign: int


def edge_factors(
    pattern: EdgePattern, weights: Tensor, alpha: int, shift: Shift, dtype: torch.dtype = torch.float64
) -> EdgeFactors:
    """Compute the factors for float64 `weights` of undirected pairs (n_edges,) or of directed edges (E,), in O(E α).

    They are differentiable and computed in float64; b is stored as `dtype`.
    """
    traced = torch.compiler.is_compiling() or transforming()
    native = not traced and kernel.native_variant(weights.device.type) and pattern.indptr.dtype == torch.int32
    compute = _NativeFactors.apply if native else _plain_factors
    b, q, largest, diagonal = compute(weights, pattern, alpha, shift, dtype)
    return EdgeFactors(b, q, largest, diagonal, sign_of(shift))


def sign_of(shift: Shift) -> int:
    """Return the common sign of the off-diagonal entries of a shift."""
    return -1 if shift.endswith("laplacian") else 1


def _plain_factors(
    weights: Tensor, pattern: EdgePattern, alpha: int, shift: Shift, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    n, (rows, columns) = pattern.indptr.shape[0] - 1, pattern.positions()
    entries, diagonal = shift_entries(weights.index_select(0, pattern.pairs.long()), rows, columns, n, shift)
    b, q, largest = entry_factors(entries, rows, columns, n, alpha)
    return b.to(dtype), q, largest, diagonal


def shift_entries(weights: Tensor, rows: Tensor, columns: Tensor, n: int, shift: Shift) -> tuple[Tensor, Tensor]:
    """Return M_ij of every entry (E,) and M_ii (N,) of a shift, for `weights` (E,) of A; differentiable.

    Degrees are row sums. With entries j → i in row i they are sums over incoming edges, and of a directed graph the
    normalised shifts have no entry where one of the two nodes has none, as in `gcn_norm` of PyTorch Geometric.
    """
    degrees = weights.new_zeros(n).index_add(0, rows, weights)
    joined = degrees > 0
    if shift.startswith("normalized"):
        root = degrees.where(joined, 1.0).sqrt()
        unreached = ~joined.index_select(0, columns) & (weights > 0)  # sources without incoming edges
        weights = weights.masked_fill(unreached, 0.0) / (root.index_select(0, rows) * root.index_select(0, columns))
    diagonal = {"laplacian": degrees, "normalized_laplacian": joined.to(degrees.dtype)}
    return weights, diagonal.get(shift, torch.zeros_like(degrees))


def entry_factors(entries: Tensor, rows: Tensor, columns: Tensor, n: int, alpha: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the factors b (E,), q (N, α) and ℓ (N,) of `EdgeFactors`, for entries M_ij ≥ 0 (E,); differentiable.

    Of a directed graph ℓ_i is the largest entry of row and column i.
    """
    magnitudes = entries.detach()
    largest = magnitudes.new_zeros(n).scatter_reduce(0, rows, magnitudes, "amax")
    largest = largest.scatter_reduce(0, columns, magnitudes, "amax")
    largest = largest.where(largest > 0, 1.0)
    of_row, of_column = largest.index_select(0, rows), largest.index_select(0, columns)
    relative = entries / of_row
    power, sums = torch.ones_like(relative), []
    for _ in range(alpha):
        power = power * relative
        sums.append(entries.new_zeros(n).index_add(0, rows, power))
    return entries / (of_row.sqrt() * of_column.sqrt()), torch.stack(sums, dim=1), largest


class _NativeFactors(torch.autograd.Function):
    """`_plain_factors` in one native pass over the edges, and one for its gradient."""

    @staticmethod
    def forward(
        ctx: Any, weights: Tensor, pattern: EdgePattern, alpha: int, shift: Shift, dtype: torch.dtype
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        n = len(pattern.indptr) - 1
        b, q = weights.new_empty(len(pattern.indices), dtype=dtype), weights.new_empty(n, alpha)
        largest, diagonal = weights.new_empty(n), weights.new_empty(n)
        _native().edge_factors(*_edges(pattern, weights, shift), *map(kernel.array, (b, q, largest, diagonal)))
        ctx.mark_non_differentiable(largest)
        ctx.save_for_backward(weights, largest)
        ctx.arguments = pattern, alpha, shift, dtype
        return b, q, largest, diagonal

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        weights, largest = ctx.saved_tensors
        pattern, _, shift, _ = ctx.arguments
        if torch.is_grad_enabled():  # for a second derivative
            outputs = zip(_plain_factors(weights, *ctx.arguments), grads, strict=True)
            used, by = zip(*((output, grad) for output, grad in outputs if output.requires_grad), strict=True)
            return torch.autograd.grad(used, weights, by, create_graph=True)[0], None, None, None, None
        grad = torch.empty_like(weights)
        by_b, by_q, _, by_diagonal = grads
        given = (kernel.array(x.contiguous()) for x in (largest, by_b, by_q, by_diagonal))
        _native().edge_factors_backward(*_edges(pattern, weights, shift), *given, kernel.array(grad))
        return grad, None, None, None, None


def _native() -> Any:
    return kernel.native_module()


def _edges(pattern: EdgePattern, weights: Tensor, shift: Shift) -> tuple[Any, ...]:
    """Return the first arguments of the native functions."""
    arrays = (pattern.indptr, pattern.indices, pattern.pairs, weights.contiguous())
    return *map(kernel.array, arrays), get_args(Shift).index(shift)


def scalings(factors: EdgeFactors, epsilon: Tensor) -> tuple[Tensor, Tensor]:
    r"""Compute the factors c and p (N, α) of S_ρ at ε, a float64 scalar, differentiable in O(N α).

    :math:`S_\rho(i, j) = \pm b_{ij}^\rho\, c_\rho(i)\, c_\rho(j)` and :math:`S_\rho(i, i) = p_\rho(i)`: ε decides how
    much of its own signal a node keeps, and how much it takes from and gives to all its neighbours alike. Row and
    column are divided by :math:`m_i = \max(M_{ii}, \max_j M_{ij})` first, so that no power leaves [0, 1] and a degree
    is at least 1; or 0, for an isolated node at ε = 0, whose row is zero.
    """
    rho = torch.arange(1, factors.q.shape[1] + 1, dtype=factors.q.dtype, device=factors.q.device)
    own = factors.diagonal + epsilon  # (N,)
    has_neighbours = factors.q[:, 0].detach() > 0
    m = torch.where(has_neighbours, torch.maximum(own.detach(), factors.largest), own.detach())
    m = m.where(m > 0, 1.0)
    own_power = (own / m)[:, None] ** rho
    # Above 1 only where all weights of a node are zero, then b is zero too; or, of a directed graph, where a node has
    # no incoming edge.
    scale = ((factors.largest / m)[:, None] ** (rho / 2)).clamp(max=LARGEST_SCALE)
    degrees = own_power + factors.q * scale**2
    positive = degrees > 0
    degrees = degrees.where(positive, 1.0)
    return scale * degrees.rsqrt() * positive, own_power / degrees
