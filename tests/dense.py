"""Independent oracles: the paper's definitions on dense float64 matrices, entry by entry where it matters."""

import math
from fractions import Fraction

import numpy as np


def shift(A, name):
    d = A.sum(axis=1)
    D = np.diag(d)
    inverse_root = np.diag([1 / math.sqrt(v) if v > 0 else 0.0 for v in d])
    normalized = inverse_root @ A @ inverse_root
    return {
        "adjacency": A,
        "laplacian": D - A,
        "normalized_adjacency": normalized,
        "normalized_laplacian": np.diag((d > 0).astype(float)) - normalized,
    }[name]


def sobolev(A, rho, epsilon, name="adjacency"):
    """S_ρ by the formula, with powers and row sums as exact fractions so that nothing over- or underflows."""
    M = shift(A, name) + epsilon * np.eye(len(A))
    powers = [[Fraction(float(v)) ** rho for v in row] for row in M]
    degrees = [sum(abs(v) for v in row) for row in powers]
    S = np.zeros_like(M)
    for i, row in enumerate(powers):
        for j, value in enumerate(row):
            if value:
                squared = value * value / (degrees[i] * degrees[j])
                S[i, j] = math.copysign(math.sqrt(squared), value)
    return S


def layer(x, A, weight, bias, epsilon, fuse):
    """The paper's equations (propagation rule and fusion), transcribed: fuse gets B_0..B_α."""
    branches = [np.maximum(x @ weight[0] + bias[0], 0)]
    for rho in range(1, len(weight)):
        A_rho = (A + epsilon * np.eye(len(A))) ** rho
        D = np.diag(A_rho.sum(axis=1) ** -0.5)
        branches.append(np.maximum(D @ A_rho @ D @ x @ weight[rho] + bias[rho], 0))
    return fuse(branches)
