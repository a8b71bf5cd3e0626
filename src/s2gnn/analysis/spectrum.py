"""How regular and Hadamard powers of the Laplacian penalise frequencies: their normalised eigenvalues."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from s2gnn.analysis.density import extreme_eigenvalue, spectral_quantiles
from s2gnn.errors import InputError
from s2gnn.graphs import Graph
from s2gnn.operators import sobolev_term

Method = Literal["decomposition", "kernel polynomials"]

# A full decomposition of this size takes some seconds.
EXACT_NODES = 2000
_POINTS = 501


@dataclass(frozen=True)
class Penalisation:
    """Eigenvalues of L^ρ and L^(ρ), each divided by its largest, sorted.

    Attributes:
        orders: ρ, (R,).
        shares: the share of all eigenvalues at or below a point of the curves, (P,).
        regular: of the matrix power L^ρ, (R, P).
        sparse: of the Hadamard power L^(ρ), (R, P).
        distances: of both curves by order, (R,): the mean of |regular − sparse| over all frequencies, which is
            Wasserstein's distance of the two spectra; 0 is the same.
        correlations: of both curves by order, (R,); 1 is the same shape.
        method: how the eigenvalues were found.
    """

    orders: tuple[int, ...]
    shares: NDArray[np.float64]
    regular: NDArray[np.float64]
    sparse: NDArray[np.float64]
    distances: NDArray[np.float64]
    correlations: NDArray[np.float64]
    method: Method


def penalisation(graph: Graph, orders: Sequence[int] = (1, 2, 3, 4, 5), exact_nodes: int = EXACT_NODES) -> Penalisation:
    """The normalised eigenvalue penalisation of L^ρ and L^(ρ) (the paper's Figure 3).

    Up to `exact_nodes` nodes by a full decomposition; above, as quantiles of the density of eigenvalues, by kernel
    polynomials. The eigenvalues of L^ρ are powers of those of L; the ones of L^(ρ) are its own.
    """
    if graph.n_edges == 0:
        raise InputError("the graph has no edges, so that all eigenvalues of its Laplacian are 0: nothing to normalise")
    if not orders or any(order < 1 for order in orders):
        raise InputError(f"orders is {tuple(orders)}, but a power here is an integer >= 1, and one is needed")
    exact = graph.n_nodes <= exact_nodes
    shares = np.linspace(0.0, 1.0, graph.n_nodes if exact else _POINTS)
    first = _normalised(graph, 1, shares, exact)
    regular = np.array([first**order for order in orders])
    sparse = np.array([first if order == 1 else _normalised(graph, order, shares, exact) for order in orders])
    distances = np.abs(regular - sparse).mean(axis=1)
    correlations = np.array([np.corrcoef(pair)[0, 1] for pair in zip(regular, sparse, strict=True)])
    method: Method = "decomposition" if exact else "kernel polynomials"
    return Penalisation(tuple(orders), shares, regular, sparse, distances, correlations, method)


def _normalised(graph: Graph, order: int, shares: NDArray[np.float64], exact: bool) -> NDArray[np.float64]:
    """The sorted eigenvalues of L^(ρ), or their quantiles, divided by the largest."""
    matrix = sobolev_term(graph, order, epsilon=0.0)
    if exact:
        values = np.maximum(scipy.linalg.eigvalsh(matrix.toarray()), 0.0)
        return np.asarray(values / values[-1])
    largest = extreme_eigenvalue(matrix, "largest")
    values = spectral_quantiles(matrix, shares, 0.0, largest)
    return np.clip(values / largest, 0.0, 1.0)
