r"""The regular counterpart of the Hadamard powers: normalised matrix powers, multiplied without being formed.

:math:`S_\rho = D_\rho^{-1/2} (A + \epsilon I)^\rho D_\rho^{-1/2}`, with :math:`D_\rho` the row sums of the power, joins
nodes up to ρ hops apart and fills up with ρ. As ρ sparse factors it costs ρ products with the edges of the graph.
"""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from torch import Tensor

from s2gnn.graphs import Graph
from s2gnn.operators.matrix import SPARSE_BELOW, ConstantMatrix, as_tensor


def matrix_powers(graph: Graph, alpha: int, epsilon: float, like: Tensor) -> tuple[ConstantMatrix, ...]:
    """Return S_ρ (N, N) for ρ = 1..α in the type and on the device of `like`, each in the form that multiplies faster.

    That is ρ sparse factors, or the matrix itself if N is so small that one dense product is faster; either way, the
    memory is bounded by the number of edges.
    """
    dense_cost = SPARSE_BELOW * graph.n_nodes**2
    return tuple(
        _factored(factors, like)
        if sum(factor.nnz for factor in factors) <= dense_cost
        else ConstantMatrix.from_scipy(_multiplied(factors), like, symmetric=True)
        for factors in power_factors(graph, alpha, epsilon)
    )


def power_factors(graph: Graph, alpha: int, epsilon: float) -> list[list[sp.csr_array]]:
    r"""Return for each ρ = 1..α factors F_ρ, …, F_1 of S_ρ, with the pattern of A + εI, CSR (N, N) in float64.

    With :math:`d_j = (A + \epsilon I)^j 1`, the entries are

    .. math::
        F_j(i, k) = a_{ik} \sqrt{\frac{d_{j-1}(k)}{d_j(i)} \cdot \frac{d_{\rho-j}(i)}{d_{\rho-j+1}(k)}},

    so that the roots cancel between neighbouring factors. Both :math:`a_{ik} d_{j-1}(k) / d_j(i)` and its mirror image
    are shares of a sum: for any weights, no entry exceeds 1 and no factor increases the norm of a signal. The zero row
    of an isolated node at ε = 0 remains zero. The transpose of F_j is F_{ρ+1−j}.
    """
    shifted = (graph.to_scipy() + epsilon * sp.eye_array(graph.n_nodes, format="csr")).tocsr()
    shifted.eliminate_zeros()
    rows, columns = np.repeat(np.arange(graph.n_nodes), np.diff(shifted.indptr)), shifted.indices
    log_a = np.log(shifted.data)  # (nnz,); logarithms, because degrees of powers overflow
    log_d = _log_degrees(log_a, rows, columns, graph.n_nodes, alpha)

    def factor(rho: int, j: int) -> sp.csr_array:
        share = log_a + log_d[j - 1][columns] - log_d[j][rows]
        mirrored = log_a + log_d[rho - j][rows] - log_d[rho - j + 1][columns]
        return sp.csr_array((np.exp((share + mirrored) / 2), columns, shifted.indptr), shape=shifted.shape)

    return [[factor(rho, j) for j in range(rho, 0, -1)] for rho in range(1, alpha + 1)]


def _log_degrees(
    log_a: NDArray[np.float64], rows: NDArray[np.int64], columns: NDArray[np.int32], n: int, alpha: int
) -> list[NDArray[np.float64]]:
    """Compute log d_0, …, log d_α, each (N,), from the logarithms of the matrix entries; −∞ for an empty row."""
    degrees = [np.zeros(n)]
    for _ in range(alpha):
        terms = log_a + degrees[-1][columns]
        largest = np.full(n, -np.inf)
        np.maximum.at(largest, rows, terms)
        sums = np.bincount(rows, np.exp(terms - largest[rows]), minlength=n)
        degrees.append(largest + np.log(sums, out=np.zeros(n), where=sums > 0))
    return degrees


def _factored(factors: list[sp.csr_array], like: Tensor) -> ConstantMatrix:
    tensors = tuple(as_tensor(factor, like) for factor in factors)
    return ConstantMatrix(tensors, tensors[::-1])


def _multiplied(factors: list[sp.csr_array]) -> sp.csr_array:
    """Multiply the factors; the product has few zeros."""
    full = factors[0].nnz > SPARSE_BELOW * factors[0].shape[0] ** 2
    *left, last = [factor.toarray() for factor in factors] if full else factors
    product = last.toarray() if sp.issparse(last) else last
    for factor in reversed(left):
        product = factor @ product
    return sp.csr_array(product)
