"""The shift operators of a graph, and their normalised Hadamard powers in a form that cannot overflow."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from s2gnn.errors import InputError
from s2gnn.graphs import Graph

Shift = Literal["adjacency", "laplacian", "normalized_adjacency", "normalized_laplacian"]


@dataclass(frozen=True)
class ShiftMatrix:
    """M = S + εI of a shift S, split into its parts; the pattern is that of the graph.

    Attributes:
        magnitudes: |M_ij| of every stored direction i ≠ j, (2 n_edges,).
        sign: +1 or −1, the common sign of the off-diagonal entries.
        diagonal: M_ii ≥ 0, (N,).
    """

    magnitudes: NDArray[np.float64]
    sign: int
    diagonal: NDArray[np.float64]


def check_shift(shift: str) -> None:
    """Raise unless `shift` is the name of a shift operator."""
    if shift not in get_args(Shift):
        raise InputError(f"shift is {shift!r}, but it must be one of {', '.join(get_args(Shift))}")


def shift_matrix(graph: Graph, epsilon: float, shift: Shift) -> ShiftMatrix:
    """S + εI for S one of A, L = D − A, A_N = D^-1/2 A D^-1/2 or Δ = I − A_N.

    An isolated node has the diagonal entry ε in all four; the normalised Laplacian takes Δ_ii = 0 there.
    """
    check_shift(shift)
    degrees = graph.degrees
    magnitudes = graph.weights
    if shift.startswith("normalized"):
        root = np.sqrt(degrees)
        magnitudes = magnitudes / (root[graph.rows()] * root[graph.indices])
    on_diagonal = {
        "adjacency": np.zeros(graph.n_nodes),
        "laplacian": degrees,
        "normalized_adjacency": np.zeros(graph.n_nodes),
        "normalized_laplacian": (degrees > 0).astype(np.float64),
    }[shift]
    return ShiftMatrix(magnitudes, -1 if shift.endswith("laplacian") else 1, on_diagonal + epsilon)


def with_diagonal(graph: Graph, values: NDArray[np.float64], diagonal: NDArray[np.float64]) -> sp.csr_array:
    """CSR (N, N) of values given per stored direction and a diagonal (N,); zeros are stored, the pattern is kept."""
    n = graph.n_nodes
    rows = np.concatenate([graph.rows(), np.arange(n)])
    columns = np.concatenate([graph.indices, np.arange(n)])
    order = np.lexsort((columns, rows))
    data = np.concatenate([values, diagonal])[order]
    return sp.csr_array((data, columns[order], graph.indptr + np.arange(n + 1)), shape=(n, n))


@dataclass(frozen=True)
class HadamardFactors:
    """The factors of S_ρ = D_ρ^-1/2 M^(ρ) D_ρ^-1/2 for ρ = 1..α, every one of magnitude at most 1.

    With m_i = max(M_ii, max_j |M_ij|), the plain |M_ij|^ρ / √(d_ρ(i) d_ρ(j)) over- and underflows for
    weights far from 1; dividing row and column by m first leaves

        S_ρ(i, j) = sign^ρ · b_ij^ρ · c_ρ(i) · c_ρ(j),      S_ρ(i, i) = t_i^ρ · c_ρ(i)².

    Attributes:
        b: |M_ij| / √(m_i m_j) of every stored direction, (2 n_edges,).
        c: (Σ_j (|M_ij| / m_i)^ρ)^-1/2, the sum taken with the diagonal, (N, α).
        t: M_ii / m_i, (N,).
        sign: the common sign of the off-diagonal entries of M.
    """

    b: NDArray[np.float64]
    c: NDArray[np.float64]
    t: NDArray[np.float64]
    sign: int

    def are_identical(self) -> bool:
        """Whether all S_ρ are the same because every power of b and t is; not asked of a graph without edges."""
        if len(self.b) == 0 or self.sign < 0:
            return False
        return bool(
            np.allclose(self.b, 1, rtol=0, atol=1e-12) and np.all(np.minimum(self.t, np.abs(1 - self.t)) < 1e-12)
        )


def hadamard_factors(graph: Graph, alpha: int, epsilon: float, shift: Shift) -> HadamardFactors:
    """The factors of the α normalised Hadamard powers of `graph`, in float64."""
    matrix = shift_matrix(graph, epsilon, shift)
    m = np.maximum(matrix.diagonal, graph.row_maxima(matrix.magnitudes))
    m[m == 0] = 1.0  # an isolated node at ε = 0: its row of S_ρ is zero whatever the scale
    rows = graph.rows()
    relative = matrix.magnitudes / m[rows]
    t = matrix.diagonal / m
    root = np.sqrt(m)
    c = np.empty((graph.n_nodes, alpha))
    power = np.ones_like(relative)
    for rho in range(1, alpha + 1):
        power = power * relative
        degree = graph.row_sums(power) + t**rho
        c[:, rho - 1] = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    return HadamardFactors(matrix.magnitudes / (root[rows] * root[graph.indices]), c, t, matrix.sign)
