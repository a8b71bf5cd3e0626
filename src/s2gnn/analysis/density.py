"""The eigenvalues of a large symmetric matrix as a distribution, by the kernel polynomial method."""

from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import eigsh

from s2gnn.errors import InputError

MOMENTS = 200  # polynomials of the expansion
PROBES = 20  # random vectors; the error of a moment falls with the root of PROBES × N


def extreme_eigenvalue(matrix: sp.csr_array, which: Literal["smallest", "largest"]) -> float:
    """One end of the spectrum of a symmetric matrix, by Lanczos."""
    # A constant vector would be an eigenvector of a Laplacian, from which Lanczos gets nowhere.
    start = np.linspace(1.0, 2.0, matrix.shape[0])
    end = {"smallest": "SA", "largest": "LA"}[which]
    return float(eigsh(matrix, k=1, which=end, return_eigenvectors=False, v0=start)[0])


def spectral_quantiles(
    matrix: sp.csr_array, shares: NDArray[np.float64], low: float, high: float
) -> NDArray[np.float64]:
    """The eigenvalues below which the given shares of all eigenvalues lie, approximately.

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
    """Tr T_m((M − middle) / radius) / N for m = 0, …, MOMENTS − 1."""
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
    """Jackson's damping factors, which keep the density from ringing."""
    m, step = np.arange(MOMENTS), np.pi / (MOMENTS + 1)
    factors: NDArray[np.float64] = (MOMENTS - m + 1) * np.cos(m * step) + np.sin(m * step) / np.tan(step)
    return factors / (MOMENTS + 1)
