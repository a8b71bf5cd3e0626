r"""Theorem 3: bounds on the output of a simplified S2-GNN when edges and weights are perturbed.

The outputs compared are :math:`Y = \sigma(L^{(\rho)} X W)` with :math:`L^{(\rho)} = (L + \epsilon I)^{(\rho)}`, and the
output for :math:`A + E` and :math:`\hat W`. Norms are spectral; σ is ReLU, with Lipschitz constant 1.
"""

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from s2gnn.analysis.arguments import GraphLike, as_adjacency
from s2gnn.errors import InputError

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class StabilityBound:
    """A distance and its bounds, for one perturbation.

    Attributes:
        distance: the left-hand side.
        full: the bound with all orders m = 1..ρ of the perturbation, corrected and tightened as below; it always holds.
        first_order: the same with m = 1 only; it holds for small perturbations, up to terms of second order.
        literal: as printed, with the signed d_e^max = max_i d_{e,i}, which is too small where the perturbation takes
            weight away: the lemma with all orders, the theorem with the first.

    Correction: max_i |d_{e,i}| in place of the signed maximum, also in the norm of the perturbed operator. Tightening:
    A^(0) is the pattern of A, since E has no entry outside of it; all ones would give a valid but larger bound.
    """

    distance: float
    full: float
    first_order: float
    literal: float


def laplacian_bound(A: GraphLike, E: GraphLike, rho: int, epsilon: float) -> StabilityBound:
    """Return the lemma behind the theorem: ‖L^(ρ) − L̂^(ρ)‖ and its bounds; arguments as in `stability_bound`."""
    A, E = as_adjacency(A), as_adjacency(E)
    _check_graph(A, E, rho, epsilon)
    changes = E.sum(axis=1)
    corrected = _orders(A, E, rho, epsilon, float(np.abs(changes).max()))
    printed = _orders(A, E, rho, epsilon, float(changes.max()))
    distance = _norm(_power(A + E, rho, epsilon) - _power(A, rho, epsilon))
    return StabilityBound(distance, full=sum(corrected), first_order=corrected[0], literal=sum(printed))


def stability_bound(
    A: GraphLike, E: GraphLike, X: Matrix, W: Matrix, W_hat: Matrix, rho: int, epsilon: float
) -> StabilityBound:
    """Return the theorem: ‖Y − Ŷ‖ and its bounds.

    Args:
        A: a `Graph`, or a weighted adjacency matrix (N, N), symmetric, zero diagonal, no negative entry.
        E: the perturbation (N, N), symmetric, |E_ij| <= A_ij.
        X: features (N, F0).
        W: weights (F0, F1).
        W_hat: perturbed weights (F0, F1).
        rho: Hadamard power.
        epsilon: of L + εI.
    """
    A, E = as_adjacency(A), as_adjacency(E)
    _check_graph(A, E, rho, epsilon)
    _check_features(len(A), X, W, W_hat)
    distance = _norm(_relu(_power(A + E, rho, epsilon) @ X @ W_hat) - _relu(_power(A, rho, epsilon) @ X @ W))
    changes = E.sum(axis=1)
    perturbed = _norm((A + E) ** rho)
    root, size, change = float(np.linalg.norm(X)), _norm(W), _norm(W - W_hat)

    def bound(d_e: float, orders: int) -> float:
        operator = (float(A.sum(axis=1).max()) + d_e + epsilon) ** rho + perturbed
        return root * (operator * change + sum(_orders(A, E, rho, epsilon, d_e)[:orders]) * size)

    absolute, signed = float(np.abs(changes).max()), float(changes.max())
    return StabilityBound(distance, bound(absolute, rho), bound(absolute, 1), literal=bound(signed, 1))


def _orders(A: Matrix, E: Matrix, rho: int, epsilon: float, d_e: float) -> list[float]:
    """Return the terms m = 1..ρ of the lemma, `d_e` standing for the largest change of a degree."""
    largest = float(A.sum(axis=1).max()) + epsilon
    return [comb(rho, m) * (_eta(A, rho - m) * _norm(E**m) + largest ** (rho - m) * d_e**m) for m in range(1, rho + 1)]


def perturbation(A: GraphLike, snr: float, generator: np.random.Generator | int) -> Matrix:
    """Return a random symmetric E on the edges of A with ‖A‖_F² / ‖E‖_F² = 10^(snr/10), cut so that |E_ij| <= A_ij.

    Cutting makes the noise a little weaker than asked for where the ratio `snr`, in dB, is low.
    """
    A = as_adjacency(A)
    upper = np.triu(np.random.default_rng(generator).normal(size=A.shape) * (A > 0), 1)
    return np.clip(_scaled(upper + upper.T, A, snr), -A, A)


def noise(W: Matrix, snr: float, generator: np.random.Generator | int) -> Matrix:
    """Return normal noise of the shape of W with ‖W‖_F² / ‖noise‖_F² = 10^(snr/10)."""
    return _scaled(np.random.default_rng(generator).normal(size=W.shape), W, snr)


def _scaled(drawn: Matrix, signal: Matrix, snr: float) -> Matrix:
    size = float(np.linalg.norm(drawn))
    return drawn if size == 0 else drawn * (float(np.linalg.norm(signal)) / size * 10 ** (-snr / 20))


def _power(A: Matrix, rho: int, epsilon: float) -> Matrix:
    laplacian = np.diag(A.sum(axis=1) + epsilon) - A
    return np.asarray(laplacian**rho)


def _eta(A: Matrix, power: int) -> float:
    """Return the largest norm of a row of A^(power), A^(0) being the pattern of A."""
    entries = (A > 0).astype(float) if power == 0 else A**power
    return float(np.linalg.norm(entries, axis=1).max())


def _norm(matrix: Matrix) -> float:
    return float(np.linalg.norm(matrix, 2))


def _relu(values: Matrix) -> Matrix:
    return np.maximum(values, 0.0)


def _check_graph(A: Matrix, E: Matrix, rho: int, epsilon: float) -> None:
    n = len(A)
    if A.shape != (n, n) or E.shape != (n, n):
        raise InputError(f"A has shape {A.shape} and E {E.shape}, but both must be (N, N)")
    if not np.array_equal(A, A.T) or np.any(np.diag(A)) or np.any(A < 0):
        raise InputError("A must be symmetric with a zero diagonal and no negative weight")
    if not np.array_equal(E, E.T) or np.any(np.abs(E) > A):
        raise InputError("E must be symmetric with |E_ij| <= A_ij, so that no weight of A + E is negative")
    if rho < 1 or epsilon < 0:
        raise InputError(f"rho is {rho} and epsilon {epsilon}, but they must be at least 1 and 0")


def _check_features(n: int, X: Matrix, W: Matrix, W_hat: Matrix) -> None:
    if X.ndim != 2 or len(X) != n or W.shape != W_hat.shape or W.ndim != 2 or len(W) != X.shape[1]:
        raise InputError(f"X {X.shape}, W {W.shape}, W_hat {W_hat.shape}: expected ({n}, F0), (F0, F1), (F0, F1)")
