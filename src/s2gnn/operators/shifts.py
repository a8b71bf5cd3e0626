"""The shift operators of a graph, and their normalised Hadamard powers in a form that cannot overflow."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from s2gnn.graphs import Graph
from s2gnn.graphs.validation import check_choice

Shift = Literal["adjacency", "laplacian", "normalized_adjacency", "normalized_laplacian"]
BLOCK = 2**22  # stored directions worked on at a time
ROUNDING = 1e-12


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
    check_choice("shift", shift, get_args(Shift))


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
    before = np.concatenate([[0], np.cumsum(graph.indices < graph.rows())])  # entries left of the diagonal so far
    position = graph.indptr[:-1] + np.diff(before[graph.indptr])
    columns = np.insert(graph.indices, position, np.arange(n))
    data = np.insert(values, position, diagonal)
    return sp.csr_array((data, columns, graph.indptr + np.arange(n + 1)), shape=(n, n))


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
    """The factors of the α normalised Hadamard powers of `graph`, formed in float64; b is stored as `dtype`.

    Some rows at a time, so that temporary arrays are small compared with the graph.
    """
    matrix = shift_matrix(graph, epsilon, shift)
    m = np.maximum(matrix.diagonal, graph.row_maxima(matrix.magnitudes))
    m[m == 0] = 1.0  # an isolated node at ε = 0: its row of S_ρ is zero whatever the scale
    t = matrix.diagonal / m
    root = np.sqrt(m)
    b = np.empty(len(graph.indices), dtype)
    degrees = t[:, None] ** np.arange(1, alpha + 1)
    identical = matrix.sign > 0 and len(b) > 0 and bool(np.all(np.minimum(t, np.abs(1 - t)) < ROUNDING))
    for first, last in _row_blocks(graph):
        stored = slice(graph.indptr[first], graph.indptr[last])
        indptr = graph.indptr[first : last + 1] - graph.indptr[first]
        counts = np.diff(indptr)
        magnitudes, columns = matrix.magnitudes[stored], graph.indices[stored]
        exact = magnitudes / (np.repeat(root[first:last], counts) * root[columns])
        b[stored] = exact
        identical = identical and bool(np.all(np.abs(exact - 1) < ROUNDING))
        relative = magnitudes / np.repeat(m[first:last], counts)
        power = np.ones_like(relative)
        for rho in range(alpha):
            power *= relative
            block = sp.csr_array((power, columns, indptr), shape=(last - first, graph.n_nodes))
            degrees[first:last, rho] += block.sum(axis=1)
    c = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    return HadamardFactors(b, c, t, matrix.sign, identical)


def _row_blocks(graph: Graph) -> Iterator[tuple[int, int]]:
    """Ranges [first, last) of rows with about `BLOCK` stored directions each."""
    first = 0
    while first < graph.n_nodes:
        last = int(np.searchsorted(graph.indptr, int(graph.indptr[first]) + BLOCK, side="right")) - 1
        last = min(max(last, first + 1), graph.n_nodes)
        yield first, last
        first = last
