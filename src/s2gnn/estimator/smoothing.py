r"""Smoothing predictions over the graph while labelled rows keep their labels ("Correct and Smooth").

With :math:`S = \frac{1}{\alpha} \sum_\rho S_\rho`, the mean of the normalised Hadamard powers that an S2-GNN uses, the
smoothed signal F of a signal Z is the fixed point of

.. math:: F = a S F + (1 - a) Z, \qquad F_i = Y_i \text{ at labelled rows } i.

Huang, He, Singh, Lim and Benson: Combining label propagation and simple models out-performs graph neural networks
(ICLR 2021).
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from s2gnn.estimator.identical_branches import no_warning
from s2gnn.estimator.new_rows import FrozenDegrees
from s2gnn.graphs import Graph
from s2gnn.operators import SobolevOperator

AMOUNT = 0.8  # a: the share of the neighbours
STEPS = 50  # 0.8^50 is 1e-5


def smoothing_operator(graph: Graph, alpha: int, epsilon: float) -> SobolevOperator:
    """Return the operators S_1, …, S_α of smoothing, in float64."""
    with no_warning():
        return SobolevOperator(graph, alpha=alpha, epsilon=epsilon, dtype=torch.float64)


def smoothed(
    signal: NDArray[np.float64],
    operator: SobolevOperator,
    labelled: NDArray[np.int64],
    known: NDArray[Any],
    *,
    strength: NDArray[np.float64] | float = 1.0,
) -> NDArray[np.float64]:
    """Return the smoothed `signal` (N, C), with the values `known` (n, C) at the rows `labelled` (n,).

    A row of `strength` (n,) c < 1 keeps its value in part: :math:`F_i = c Y_i + (1 - c) (a S F + (1 - a) Z)_i`.
    """
    z, y, rows = (torch.from_numpy(np.ascontiguousarray(array)) for array in (signal, known, labelled))
    c = torch.as_tensor(strength, dtype=torch.float64).expand(len(rows))[:, None]
    f = z.clone()
    f[rows] = c * y + (1 - c) * z[rows]
    with torch.no_grad():
        for _ in range(STEPS):
            f = AMOUNT * operator.propagate(f).mean(dim=0) + (1 - AMOUNT) * z
            f[rows] = c * y + (1 - c) * f[rows]
    return np.asarray(f.numpy())


def smoothing_weights(
    rows: NDArray[np.float64],
    operator: SobolevOperator,
    labelled: NDArray[np.int64],
    *,
    strength: NDArray[np.float64] | float = 1.0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Return the weights of known values and signal in combinations of smoothed rows: `smoothed` read backwards.

    The smoothed signal is linear: for weights R of rows, :math:`R F = K Y + W Z`. S is symmetric, so the steps of
    `smoothed` in reverse order give K and W exactly, in as many products with the graph.

    Args:
        rows: R, (Q, N); 1 at one row for the weights of its own smoothed signal.
        operator: of the graph of the rows.
        labelled: the rows that keep their values, (n,).
        strength: of these values, see `smoothed`.

    Returns:
        K (Q, n) and W (Q, N).
    """
    kept, g = torch.from_numpy(labelled), torch.from_numpy(np.ascontiguousarray(rows.T))  # g: (N, Q)
    of_known, of_signal = torch.zeros(len(labelled), len(rows), dtype=torch.float64), torch.zeros_like(g)
    c = torch.as_tensor(strength, dtype=torch.float64).expand(len(kept))[:, None]
    with torch.no_grad():
        for _ in range(STEPS):
            of_known += c * g[kept]
            g[kept] = (1 - c) * g[kept]
            of_signal += (1 - AMOUNT) * g
            g = AMOUNT * operator.propagate(g).mean(dim=0)
    of_known += c * g[kept]
    g[kept] = (1 - c) * g[kept]
    return np.asarray(of_known.T.numpy()), np.asarray((of_signal + g).T.numpy())


def new_row_weights(edges: sp.csr_array, degrees: FrozenDegrees) -> tuple[sp.csr_array, NDArray[np.float64]]:
    """Return the weights of training rows (Q, N) and of the own signal (Q,) in the smoothed signal of new rows."""
    rows, diagonal = degrees.rows(edges)
    rest = 1 - AMOUNT * diagonal.mean(axis=1)
    received = sp.csr_array(sum(rows).multiply((AMOUNT / len(rows) / rest)[:, None]))
    return received, (1 - AMOUNT) / rest


def smoothed_new(
    signal: NDArray[np.float64], trained: NDArray[np.float64], edges: sp.csr_array, degrees: FrozenDegrees
) -> NDArray[np.float64]:
    r"""Return the smoothed `signal` (Q, C) of new rows, given the smoothed signal `trained` (N, C) of training rows.

    A new row i has one-way `edges` (Q, N), so that :math:`F_i = a (\sum_j S_{ij} F_j + S_{ii} F_i) + (1 - a) Z_i`.
    """
    received, own = new_row_weights(edges, degrees)
    result: NDArray[np.float64] = received @ trained + own[:, None] * signal
    return result
