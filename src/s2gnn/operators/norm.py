"""The sparse Sobolev term, inner product and norm of graph signals (the paper, Section IV-B)."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from s2gnn.errors import InputError
from s2gnn.graphs import Graph
from s2gnn.operators.shifts import Shift, shift_matrix, with_diagonal
from s2gnn.operators.sobolev import check_epsilon


def sobolev_term(graph: Graph, rho: int, epsilon: float, shift: Shift = "laplacian") -> sp.csr_array:
    """Return (L + εI)^(ρ), the ρ-th Hadamard power of the shifted Laplacian, CSR (N, N) in float64.

    It has the pattern of L + εI for every ρ and is positive semi-definite, definite for ε > 0, by the
    Schur product theorem. `shift` can replace L by another shift operator.
    """
    if not isinstance(rho, int | np.integer) or rho < 1:
        raise InputError(f"rho is {rho!r}, but a Hadamard power here is an integer >= 1")
    check_epsilon(epsilon)
    matrix = shift_matrix(graph, epsilon, shift)
    return with_diagonal(graph, matrix.sign**rho * matrix.magnitudes**rho, matrix.diagonal**rho)


def sobolev_inner(graph: Graph, x: ArrayLike, y: ArrayLike, rho: int, epsilon: float) -> float:
    """Return ⟨x, y⟩ = xᵀ (L + εI)^(ρ) y, the sparse Sobolev inner product of two signals (N,)."""
    left, right = _signal(graph, x, "x"), _signal(graph, y, "y")
    return float(left @ (sobolev_term(graph, rho, epsilon) @ right))


def sobolev_norm(graph: Graph, x: ArrayLike, rho: int, epsilon: float) -> float:
    """Return ‖x‖ = √(xᵀ (L + εI)^(ρ) x), a norm of signals x (N,) for ε > 0 and a semi-norm for ε = 0.

    This norm is induced by the inner product. The paper also writes ‖(L + εI)^(ρ/2) x‖, which is different for Hadamard
    powers, and not real for odd ρ if entries are negative.
    """
    squared = sobolev_inner(graph, x, x, rho, epsilon)
    return float(np.sqrt(max(squared, 0.0)))  # rounding may leave −1e-17 on the kernel of the semi-norm


def _signal(graph: Graph, values: ArrayLike, name: str) -> NDArray[np.float64]:
    signal = np.asarray(values, dtype=np.float64)
    if signal.shape != (graph.n_nodes,):
        raise InputError(f"{name} has shape {signal.shape}, but the graph has {graph.n_nodes} nodes")
    return signal
