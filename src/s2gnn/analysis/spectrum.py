"""The normalised spectra of matrix powers and Hadamard powers of the Laplacian."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import eigsh

from s2gnn.analysis.arguments import GraphLike, as_graph, as_orders
from s2gnn.errors import InputError
from s2gnn.graphs import Graph
from s2gnn.operators import sobolev_term

Method = Literal["decomposition", "kernel polynomials"]

# A full decomposition of this size takes some seconds.
EXACT_NODES = 2000
MOST_BITS = 900  # of float64's exponent, for powers of the largest weight; sums over nodes need the rest
_POINTS = 501
MOMENTS = 200  # polynomials of the expansion
PROBES = 20  # random vectors; the error of a moment falls with the root of PROBES × N


@dataclass(frozen=True)
class Penalisation:
    """Eigenvalues of L^ρ and L^(ρ), each divided by its largest, sorted.

    Attributes:
        orders: ρ, (R,).
        shares: share of eigenvalues at or below each point of the curves, (P,).
        regular: eigenvalues of the matrix power L^ρ, (R, P).
        sparse: eigenvalues of the Hadamard power L^(ρ), (R, P).
        distances: Wasserstein distance of the two spectra for each order, (R,): the mean of |regular − sparse|.
        correlations: correlation of the two curves for each order, (R,).
        method: method that computed the eigenvalues.
    """

    orders: tuple[int, ...]
    shares: NDArray[np.float64]
    regular: NDArray[np.float64]
    sparse: NDArray[np.float64]
    distances: NDArray[np.float64]
    correlations: NDArray[np.float64]
    method: Method


def penalisation(
    graph: GraphLike, orders: Sequence[int] = (1, 2, 3, 4, 5), exact_nodes: int = EXACT_NODES
) -> Penalisation:
    """Return the normalised eigenvalue penalisation of L^ρ and L^(ρ) (the paper's Figure 3).

    Up to `exact_nodes` nodes a full decomposition is computed, for larger graphs quantiles of the spectral density, by
    the kernel polynomial method. The eigenvalues of L^ρ are powers of those of L; those of L^(ρ) are computed
    separately.
    """
    graph, orders = as_graph(graph), as_orders(orders)
    if graph.n_edges == 0:
        raise InputError("the graph has no edges, so that all eigenvalues of its Laplacian are 0: nothing to normalise")
    largest = graph.weights.max()
    if max(orders) * abs(np.log2(largest)) > MOST_BITS:
        raise InputError(
            f"the largest weight is {largest:.3g}, whose powers exceed the range of float64: divide the weights by it, "
            "which changes no normalised spectrum"
        )
    exact = graph.n_nodes <= exact_nodes
    shares = np.linspace(0.0, 1.0, graph.n_nodes if exact else _POINTS)
    first = _normalised(graph, 1, shares, exact)
    regular = np.array([first**order for order in orders])
    sparse = np.array([first if order == 1 else _normalised(graph, order, shares, exact) for order in orders])
    distances = np.abs(regular - sparse).mean(axis=1)
    correlations = np.array([np.corrcoef(pair)[0, 1] for pair in zip(regular, sparse, strict=True)])
    method: Method = "decomposition" if exact else "kernel polynomials"
    return Penalisation(orders, shares, regular, sparse, distances, correlations, method)


def _normalised(graph: Graph, order: int, shares: NDArray[np.float64], exact: bool) -> NDArray[np.float64]:
    """Return the sorted eigenvalues of L^(ρ), or their quantiles, divided by the largest."""
    matrix = sobolev_term(graph, order, epsilon=0.0)
    if exact:
        values = np.maximum(scipy.linalg.eigvalsh(matrix.toarray()), 0.0)
        return np.asarray(values / values[-1])
    largest = extreme_eigenvalue(matrix, "largest")
    values = spectral_quantiles(matrix, shares, 0.0, largest)
    return np.clip(values / largest, 0.0, 1.0)


def extreme_eigenvalue(matrix: sp.csr_array, which: Literal["smallest", "largest"]) -> float:
    """Return the smallest or largest eigenvalue of a symmetric matrix, by Lanczos."""
    # A constant vector would be an eigenvector of a Laplacian, from which Lanczos gets nowhere.
    start = np.linspace(1.0, 2.0, matrix.shape[0])
    end = {"smallest": "SA", "largest": "LA"}[which]
    return float(eigsh(matrix, k=1, which=end, return_eigenvectors=False, v0=start)[0])


def spectral_quantiles(
    matrix: sp.csr_array, shares: NDArray[np.float64], low: float, high: float
) -> NDArray[np.float64]:
    """Return the eigenvalues below which the given shares of all eigenvalues lie, approximately.

    The density is expanded in Chebyshev polynomials; its moments tr T_m(M̃)/N are estimated with random signs as probes
    (Hutchinson) and damped by Jackson's kernel, so that a single eigenvalue appears about π (high − low) / (2 MOMENTS)
    wide.

    Args:
        matrix: symmetric (N, N).
        shares: in [0, 1].
        low: no eigenvalue is smaller.
        high: no eigenvalue is larger.
    """
    if not low < high:
        raise InputError(f"the eigenvalues lie in [{low}, {high}], but the interval must have a width")
    middle, radius = (high + low) / 2, (high - low) / 2 * (1 + 1e-3)
    estimated = _moments(matrix, middle, radius) * _jackson()
    angles = np.linspace(np.pi, 0.0, 20 * MOMENTS)  # x = cos(angle) grows from -1 to 1
    # The integral of the density up to x: of 1/π for the zeroth polynomial, of cos(mθ) 2/π for the others.
    orders = np.arange(1, MOMENTS)
    below = estimated[0] * (np.pi - angles) / np.pi
    below -= (np.sin(np.outer(angles, orders)) * (2 * estimated[1:] / (np.pi * orders))).sum(axis=1)
    below = np.maximum.accumulate(np.clip(below, 0.0, 1.0))
    return middle + radius * np.interp(shares, below, np.cos(angles))


def _moments(matrix: sp.csr_array, middle: float, radius: float) -> NDArray[np.float64]:
    """Return tr T_m((M − middle) / radius) / N for m = 0, …, MOMENTS − 1."""
    n = matrix.shape[0]
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(n, PROBES))

    def apply(block: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((matrix @ block - middle * block) / radius)

    result = np.empty(MOMENTS)
    before, now = signs, apply(signs)
    result[0] = 1.0
    for m in range(1, MOMENTS):
        result[m] = (signs * now).sum() / (n * PROBES)
        before, now = now, 2 * apply(now) - before
    return result


def _jackson() -> NDArray[np.float64]:
    """Return Jackson's damping factors, which keep the density from ringing."""
    m, step = np.arange(MOMENTS), np.pi / (MOMENTS + 1)
    factors: NDArray[np.float64] = (MOMENTS - m + 1) * np.cos(m * step) + np.sin(m * step) / np.tan(step)
    return factors / (MOMENTS + 1)
