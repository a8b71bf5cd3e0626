"""Condition number and definiteness of Hadamard powers of a shift operator plus εI."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from s2gnn.analysis.density import extreme_eigenvalue
from s2gnn.analysis.spectrum import EXACT_NODES
from s2gnn.graphs import Graph
from s2gnn.operators import sobolev_term
from s2gnn.operators.shifts import Shift


@dataclass(frozen=True)
class Conditioning:
    """The ends of the spectrum of (M + εI)^(ρ) for orders ρ (R,) and values ε (E,).

    Attributes:
        orders: ρ.
        epsilons: ε.
        nodes: N.
        smallest: eigenvalue, (R, E).
        largest: eigenvalue, (R, E).
    """

    orders: tuple[int, ...]
    epsilons: tuple[float, ...]
    nodes: int
    smallest: NDArray[np.float64]
    largest: NDArray[np.float64]

    @property
    def numbers(self) -> NDArray[np.float64]:
        """κ = largest / smallest, (R, E); infinite where the matrix is not positive definite."""
        definite = self.definite
        return np.where(definite, self.largest / np.where(definite, self.smallest, 1.0), np.inf)

    @property
    def definite(self) -> NDArray[np.bool_]:
        """Whether the smallest eigenvalue is positive beyond rounding, (R, E)."""
        rounding = self.nodes * np.finfo(np.float64).eps * np.abs(self.largest)
        return np.asarray(self.smallest > rounding)


def conditioning(
    graph: Graph,
    orders: Sequence[int] = (1, 2, 3, 4, 5),
    epsilons: Sequence[float] = (0.0, 0.5, 1.0, 1.5, 2.0),
    shift: Shift = "laplacian",
    exact_nodes: int = EXACT_NODES,
) -> Conditioning:
    """The extreme eigenvalues of (M + εI)^(ρ), M being `shift`; above `exact_nodes` nodes by Lanczos.

    The paper: with the Laplacian positive definite for every ε > 0, with the normalised adjacency matrix for ε > 1.
    """
    ends = np.array(
        [[_ends(sobolev_term(graph, order, epsilon, shift), exact_nodes) for epsilon in epsilons] for order in orders]
    )
    return Conditioning(tuple(orders), tuple(epsilons), graph.n_nodes, ends[..., 0], ends[..., 1])


def _ends(matrix: sp.csr_array, exact_nodes: int) -> tuple[float, float]:
    if matrix.shape[0] <= exact_nodes:
        values = scipy.linalg.eigvalsh(matrix.toarray())
        return float(values[0]), float(values[-1])
    return extreme_eigenvalue(matrix, "smallest"), extreme_eigenvalue(matrix, "largest")
