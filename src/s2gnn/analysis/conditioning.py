"""Condition number and definiteness of Hadamard powers of a shift operator plus εI."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from s2gnn.analysis.arguments import GraphLike, as_graph, as_orders
from s2gnn.analysis.spectrum import EXACT_NODES, extreme_eigenvalue
from s2gnn.operators import sobolev_term
from s2gnn.operators.shifts import Shift, shift_matrix, with_diagonal


@dataclass(frozen=True)
class Conditioning:
    """Extreme eigenvalues and definiteness of (M + εI)^(ρ) for orders ρ (R,) and values ε (E,).

    Attributes:
        orders: the orders ρ.
        epsilons: the values of ε.
        nodes: number of nodes N.
        smallest: smallest eigenvalues, (R, E).
        largest: largest eigenvalues, (R, E).
        definite: whether the matrix is positive definite, (R, E), see `is_definite`.
    """

    orders: tuple[int, ...]
    epsilons: tuple[float, ...]
    nodes: int
    smallest: NDArray[np.float64]
    largest: NDArray[np.float64]
    definite: NDArray[np.bool_]

    @property
    def numbers(self) -> NDArray[np.float64]:
        """κ = largest / smallest, (R, E); infinite if the smallest eigenvalue is below the rounding error."""
        resolved = self.smallest > _rounding(self.nodes, self.largest)
        return np.where(resolved, self.largest / np.where(resolved, self.smallest, 1.0), np.inf)


def conditioning(
    graph: GraphLike,
    orders: Sequence[int] = (1, 2, 3, 4, 5),
    epsilons: Sequence[float] = (0.0, 0.5, 1.0, 1.5, 2.0),
    shift: Shift = "laplacian",
    exact_nodes: int = EXACT_NODES,
) -> Conditioning:
    """Compute the extreme eigenvalues of (M + εI)^(ρ) with M = `shift`; by Lanczos above `exact_nodes` nodes.

    According to the paper it is positive definite for ε > 0 with the Laplacian, and for ε > 1 with the normalised
    adjacency matrix.
    """
    graph, orders = as_graph(graph), as_orders(orders)
    ends = np.array(
        [[_ends(sobolev_term(graph, order, epsilon, shift), exact_nodes) for epsilon in epsilons] for order in orders]
    )
    definite = np.array(
        [[is_definite(graph, order, epsilon, shift, exact_nodes) for epsilon in epsilons] for order in orders]
    )
    return Conditioning(orders, tuple(epsilons), graph.n_nodes, ends[..., 0], ends[..., 1], definite)


def is_definite(
    graph: GraphLike, rho: int, epsilon: float, shift: Shift = "laplacian", exact_nodes: int = EXACT_NODES
) -> bool:
    r"""Return whether (M + εI)^(ρ) with M = `shift` is positive definite, beyond rounding.

    Hadamard powers commute with diagonal scaling: for :math:`B = M + \epsilon I` with the diagonal D,

    .. math:: (D^{-1/2} B D^{-1/2})^{(\rho)} = (D^\rho)^{-1/2} B^{(\rho)} (D^\rho)^{-1/2},

    a congruence, which keeps the signs of the eigenvalues. The left-hand side has a unit diagonal however many
    magnitudes the entries of :math:`B^{(\rho)}` span, so that its smallest eigenvalue, unlike that of
    :math:`B^{(\rho)}`, is not lost next to the largest. For the Laplacian it is at least ε over the largest entry of D.
    """
    graph = as_graph(graph)
    matrix = shift_matrix(graph, epsilon, shift)
    if np.any(matrix.diagonal == 0):
        return False
    root = np.sqrt(matrix.diagonal)
    scaled = matrix.magnitudes / (root[graph.rows()] * root[graph.indices])
    low, high = _ends(with_diagonal(graph, matrix.sign**rho * scaled**rho, np.ones(graph.n_nodes)), exact_nodes)
    # The diagonal is a sum of up to N weights, the scaling takes four more operations; a power multiplies the error.
    return bool(low > _rounding(rho * (graph.n_nodes + 4), high))


def _rounding(operations: int, largest: Any) -> Any:
    """Return a bound on the error of a computed eigenvalue after `operations` operations, given the largest one."""
    return operations * np.finfo(np.float64).eps * np.abs(largest)


def _ends(matrix: sp.csr_array, exact_nodes: int) -> tuple[float, float]:
    if matrix.shape[0] <= exact_nodes:
        values = scipy.linalg.eigvalsh(matrix.toarray())
        return float(values[0]), float(values[-1])
    return extreme_eigenvalue(matrix, "smallest"), extreme_eigenvalue(matrix, "largest")
