"""The shift operators of a graph, and their normalised Hadamard powers in a form that cannot overflow."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from s2gnn.graphs import Graph
from s2gnn.graphs.validation import check_choice
from s2gnn.operators import kernel

Shift = Literal["adjacency", "laplacian", "normalized_adjacency", "normalized_laplacian"]
ROUNDING = 1e-12


@dataclass(frozen=True)
class ShiftMatrix:
    """M = S + εI of a shift S, split into magnitudes, sign and diagonal; it has the pattern of the graph.

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
    check_choice("shift", shift, get_args(Shift))


def shift_matrix(graph: Graph, epsilon: float, shift: Shift) -> ShiftMatrix:
    """Return S + εI for S one of A, L = D − A, A_N = D^-1/2 A D^-1/2 or Δ = I − A_N.

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
    """Return values per stored direction and a diagonal (N,) as CSR (N, N); explicit zeros preserve the pattern."""
    n = graph.n_nodes
    before = np.concatenate([[0], np.cumsum(graph.indices < graph.rows())])  # entries left of the diagonal so far
    position = graph.indptr[:-1] + np.diff(before[graph.indptr])
    columns = np.insert(graph.indices, position, np.arange(n))
    data = np.insert(values, position, diagonal)
    return sp.csr_array((data, columns, graph.indptr + np.arange(n + 1)), shape=(n, n))


@dataclass(frozen=True)
class HadamardFactors:
    """The factors of S_ρ = D_ρ^-1/2 M^(ρ) D_ρ^-1/2 for ρ = 1..α, every one of magnitude at most 1.

    With m_i = max(M_ii, max_j |M_ij|), the plain |M_ij|^ρ / √(d_ρ(i) d_ρ(j)) over- and underflows for
    weights far from 1. Dividing rows and columns by m first gives

        S_ρ(i, j) = sign^ρ · b_ij^ρ · c_ρ(i) · c_ρ(j),      S_ρ(i, i) = t_i^ρ · c_ρ(i)².

    Attributes:
        b: |M_ij| / √(m_i m_j) of every stored direction, (2 n_edges,).
        c: (Σ_j (|M_ij| / m_i)^ρ)^-1/2, the sum taken with the diagonal, (N, α).
        t: M_ii / m_i, (N,).
        sign: the common sign of the off-diagonal entries of M.
        identical: whether all S_ρ are the same because every power of b and t is; false for a graph without edges.
    """

    b: NDArray[np.floating]
    c: NDArray[np.float64]
    t: NDArray[np.float64]
    sign: int
    identical: bool


def hadamard_factors(
    graph: Graph, alpha: int, epsilon: float, shift: Shift, dtype: type[np.floating] = np.float64
) -> HadamardFactors:
    """Compute the factors of the α normalised Hadamard powers of `graph` in float64; b is stored as `dtype`."""
    check_shift(shift)
    native = kernel.native_variant("cpu")
    if native is not None and graph.indptr.dtype == np.int32:
        b, c, t = np.empty(len(graph.indices), dtype), np.empty((graph.n_nodes, alpha)), np.empty(graph.n_nodes)
        csr = (graph.indptr, graph.indices, graph.weights)
        identical = native[0].hadamard_factors(*csr, epsilon, get_args(Shift).index(shift), ROUNDING, b, c, t)
        return HadamardFactors(b, c, t, -1 if shift.endswith("laplacian") else 1, identical)
    matrix = shift_matrix(graph, epsilon, shift)
    m = np.maximum(matrix.diagonal, graph.row_maxima(matrix.magnitudes))
    m[m == 0] = 1.0  # an isolated node at ε = 0: its row of S_ρ is zero whatever the scale
    t = matrix.diagonal / m
    root = np.sqrt(m)
    rows = graph.rows()
    b = matrix.magnitudes / (root[rows] * root[graph.indices])
    relative = matrix.magnitudes / m[rows]
    degrees = np.stack([t**rho + graph.row_sums(relative**rho) for rho in range(1, alpha + 1)], axis=1)
    distances = np.concatenate([np.minimum(t, np.abs(1 - t)), np.abs(b - 1)])  # from values that all powers share
    identical = matrix.sign > 0 and len(b) > 0 and bool(np.all(distances < ROUNDING))
    c = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    return HadamardFactors(b.astype(dtype), c, t, matrix.sign, identical)
