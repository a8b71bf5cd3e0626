r"""Numerical verification of Theorem 2: a Hadamard power is a principal submatrix of a Kronecker product.

With :math:`L = U \Lambda U^T` and :math:`L^{(\rho-1)} = V M V^T`, row (i, i) of :math:`U \otimes V` is
:math:`u_i \otimes v_i`, so that the N selected rows K (N, N²) give :math:`L^{(\rho)} = K (\Lambda \otimes M) K^T`. The
eigenvalues of :math:`L^{(\rho)}` are not products of those of its factors; they interlace with them.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from s2gnn.analysis.arguments import GraphLike, as_graph
from s2gnn.errors import InputError
from s2gnn.operators import sobolev_term

MOST_NODES = 300  # K has the cube of that many entries


@dataclass(frozen=True)
class KroneckerForm:
    """Both sides of Theorem 2 for a Hadamard power of a graph's Laplacian.

    Attributes:
        error: the largest difference between K (Λ ⊗ M) Kᵀ and L^(ρ), relative to the largest entry of L^(ρ).
        eigenvalues: eigenvalues of L^(ρ), sorted, (N,).
        lower: lower bounds of the eigenvalues, the N smallest eigenvalues of L ⊗ L^(ρ−1), (N,).
        upper: upper bounds of the eigenvalues, the N largest eigenvalues of L ⊗ L^(ρ−1), (N,).
    """

    error: float
    eigenvalues: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    @property
    def interlaces(self) -> bool:
        """Whether every eigenvalue lies between its bounds, up to rounding."""
        slack = 1e-9 * max(1.0, float(np.abs(self.upper).max()))
        return bool(np.all(self.eigenvalues >= self.lower - slack) and np.all(self.eigenvalues <= self.upper + slack))


def kronecker_form(graph: GraphLike, rho: int) -> KroneckerForm:
    """Compute L^(ρ) from the eigendecompositions of L and L^(ρ−1), and compare."""
    graph = as_graph(graph)
    n = graph.n_nodes
    if n > MOST_NODES:
        raise InputError(f"the graph has {n} nodes, but the Kronecker form is built for at most {MOST_NODES}")
    if rho < 2:
        raise InputError(f"rho is {rho}, but a Kronecker form needs rho >= 2")
    left_values, left = scipy.linalg.eigh(sobolev_term(graph, 1, 0.0).toarray())
    right_values, right = scipy.linalg.eigh(sobolev_term(graph, rho - 1, 0.0).toarray())
    products = np.multiply.outer(left_values, right_values).ravel()  # (N²,), the diagonal of Λ ⊗ M
    rows = np.einsum("ij,ik->ijk", left, right).reshape(n, n * n)  # (N, N²), u_i ⊗ v_i
    power = sobolev_term(graph, rho, 0.0).toarray()
    built = (rows * products) @ rows.T
    scale = max(float(np.abs(power).max()), np.finfo(float).tiny)
    ordered = np.sort(products)
    return KroneckerForm(
        error=float(np.abs(built - power).max()) / scale,
        eigenvalues=np.asarray(scipy.linalg.eigvalsh(power)),
        lower=ordered[:n],
        upper=ordered[n * n - n :],
    )
