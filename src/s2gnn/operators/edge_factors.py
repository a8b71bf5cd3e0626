"""The factors of Hadamard powers in torch, differentiable by ε and by the edge weights."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from s2gnn.graphs import Graph
from s2gnn.operators.shifts import Shift

LARGEST_SCALE = 1e18  # its square is a float32


@dataclass(frozen=True, eq=False)
class EdgePattern:
    """Which nodes are joined; E stored directions of n_edges pairs.

    Attributes:
        indptr: (N + 1,), of the CSR pattern.
        indices: (E,), of the CSR pattern.
        rows: (E,) int64, the row of every stored direction.
        columns: (E,) int64, its column.
        pairs: (E,) int64, the position of its undirected pair in `Graph.to_edge_list`.
    """

    indptr: Tensor
    indices: Tensor
    rows: Tensor
    columns: Tensor
    pairs: Tensor

    @classmethod
    def of(cls, graph: Graph, device: torch.device | str) -> "EdgePattern":
        """The pattern of `graph`."""
        rows, columns = graph.rows(), graph.indices
        stored = np.arange(len(rows))
        reverse = sp.csr_array((stored, columns, graph.indptr), shape=(graph.n_nodes,) * 2).T.tocsr().data
        upper = rows < columns
        pairs = np.cumsum(upper) - 1
        pairs = np.where(upper, pairs, pairs[reverse])
        csr = (torch.tensor(array, device=device) for array in (graph.indptr, columns))
        return cls(*csr, *(torch.tensor(array, dtype=torch.int64, device=device) for array in (rows, columns, pairs)))

    @property
    def n_nodes(self) -> int:
        """N."""
        return len(self.indptr) - 1

    def row_sums(self, values: Tensor) -> Tensor:
        """Σ_j v_ij for every node (N,), of values given per stored direction (E,)."""
        return values.new_zeros(self.n_nodes).index_add(0, self.rows, values)

    def row_maxima(self, values: Tensor) -> Tensor:
        """max_j v_ij for every node (N,), of non-negative values (E,); 0 for an isolated node."""
        return values.new_zeros(self.n_nodes).scatter_reduce(0, self.rows, values, "amax")


@dataclass(frozen=True, eq=False)
class EdgeFactors:
    """The part of S_ρ that does not depend on ε, for a shift with the off-diagonal entries ± M_ij, M_ij ≥ 0.

    With ℓ_i = max_j M_ij, or 1 where that is zero,

        M_ij^ρ = b_ij^ρ (ℓ_i ℓ_j)^(ρ/2),      Σ_j M_ij^ρ = q_ρ(i) ℓ_i^ρ,

    and b and q are between 0 and 1 and between 0 and the number of neighbours. What ℓ is makes no difference to S_ρ, so
    that it counts as a constant in derivatives.

    Attributes:
        b: (E,).
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


def edge_factors(pattern: EdgePattern, weights: Tensor, alpha: int, shift: Shift) -> EdgeFactors:
    """The factors for float64 `weights` (n_edges,) of the undirected pairs, differentiable, in O(E α)."""
    magnitudes = weights[pattern.pairs]  # (E,)
    degrees = pattern.row_sums(magnitudes)
    joined = degrees > 0
    if shift.startswith("normalized"):
        root = degrees.where(joined, 1.0).sqrt()
        magnitudes = magnitudes / (root[pattern.rows] * root[pattern.columns])
    largest = pattern.row_maxima(magnitudes.detach())
    largest = largest.where(largest > 0, 1.0)
    root = largest.sqrt()
    relative = magnitudes / largest[pattern.rows]
    power, sums = torch.ones_like(relative), []
    for _ in range(alpha):
        power = power * relative
        sums.append(pattern.row_sums(power))
    on_diagonal = {"laplacian": degrees, "normalized_laplacian": joined.to(degrees.dtype)}
    return EdgeFactors(
        magnitudes / (root[pattern.rows] * root[pattern.columns]),
        torch.stack(sums, dim=1),
        largest,
        on_diagonal.get(shift, torch.zeros_like(degrees)),
        -1 if shift.endswith("laplacian") else 1,
    )


def scalings(factors: EdgeFactors, epsilon: Tensor) -> tuple[Tensor, Tensor]:
    r"""The factors c and p (N, α) of S_ρ at ε, a float64 scalar, differentiable by ε and by the factors, in O(N α).

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
    # Above 1 only where all weights of a node are zero; then b is zero too.
    scale = ((factors.largest / m)[:, None] ** (rho / 2)).clamp(max=LARGEST_SCALE)
    degrees = own_power + factors.q * scale**2
    positive = degrees > 0
    degrees = degrees.where(positive, 1.0)
    return scale * degrees.rsqrt() * positive, own_power / degrees
