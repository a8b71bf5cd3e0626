"""How a new row is joined to the training rows: one-way edges, each kind of graph by its own rule."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from s2gnn.graphs.knn import gaussian_weights
from s2gnn.graphs.neighbours import nearest_rows

SMALLEST_LEARNED_WEIGHT = 1e-4


@dataclass(frozen=True)
class GaussianAttachment:
    """The k nearest training rows, with weights factor · exp(−d²/σ²).

    Attributes:
        k: number of neighbours.
        sigma: the width that the training graph was built with.
        factor: 1 on a k-NN graph; on a graph of another origin, what brings the weighted degree of a typical row to
            that of the training rows.
    """

    k: int
    sigma: float
    factor: float = 1.0

    def edges(self, X: Any, degrees: NDArray[np.float64], new: Any) -> sp.csr_array:
        """The weights of the edges from `new` rows (Q, M) to training rows X (N, M), (Q, N)."""
        del degrees
        indices, distances = nearest_rows(X, new, min(self.k, X.shape[0]))
        return _rows(indices, self.factor * gaussian_weights(distances, self.sigma), X.shape[0])


@dataclass(frozen=True)
class LearnedAttachment:
    r"""The weights that the learned graph's objective gives to one more row while the others stay as they are.

    At the optimum of the training graph :math:`w_{ij} = \max(0, (1/d_i + 1/d_j)/2 - \theta z_{ij})`, with the weighted
    degrees d and squared distances z. A new row i takes the d_j of the training rows and its own
    :math:`d_i = \sum_j w_{ij}`. The right-hand side falls with d_i, so there is one solution: with
    :math:`s = 1/(2 d_i)` and :math:`g_j = \theta z_{ij} - 1/(2 d_j)` in ascending order, the first m are neighbours and

    .. math:: s = \frac{G_m + \sqrt{G_m^2 + 2m}}{2m}, \qquad G_m = \sum_{j \le m} g_j, \qquad g_m < s \le g_{m+1}.

    A training row that is asked for in this way gets the weights that it has.

    Attributes:
        candidates: that many nearest training rows may become neighbours.
        theta: the factor of squared distances that the training graph was learned with.
    """

    candidates: int
    theta: float

    def edges(self, X: Any, degrees: NDArray[np.float64], new: Any) -> sp.csr_array:
        """The weights of the edges from `new` rows (Q, M) to training rows X (N, M), (Q, N)."""
        indices, distances = nearest_rows(X, new, min(self.candidates, X.shape[0]))
        weights = learned_weights(self.theta * distances**2, degrees[indices])
        return _rows(indices, np.where(weights < SMALLEST_LEARNED_WEIGHT, 0.0, weights), X.shape[0])


Attachment = GaussianAttachment | LearnedAttachment


def learned_weights(scaled: NDArray[np.float64], degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weights of `LearnedAttachment`, (Q, m).

    Args:
        scaled: θ z of the candidates of each new row, (Q, m).
        degrees: of these candidates, (Q, m); one of degree zero, which no edge reached in training, gets none.
    """
    half = np.divide(0.5, degrees, out=np.full(degrees.shape, -np.inf), where=degrees > 0)
    g = scaled - half  # infinite where the degree is zero
    ascending = np.sort(g, axis=1)
    count = np.arange(1, g.shape[1] + 1)
    finite = np.isfinite(ascending)
    sums = np.cumsum(np.where(finite, ascending, 0.0), axis=1)
    s = (sums + np.sqrt(sums**2 + 2 * count)) / (2 * count)  # (Q, m), were the first 1..m the neighbours
    n_neighbours = np.maximum((finite & (ascending < s)).sum(axis=1), 1)
    chosen = np.take_along_axis(s, n_neighbours[:, None] - 1, axis=1)
    weights: NDArray[np.float64] = np.maximum(chosen - g, 0.0)
    return weights


def _rows(indices: NDArray[np.int64], weights: NDArray[np.float64], n: int) -> sp.csr_array:
    """Lists of neighbours (Q, m) and their weights as a CSR array (Q, n) without zeros."""
    pointers = np.arange(0, indices.size + 1, indices.shape[1])
    edges = sp.csr_array((weights.ravel(), indices.ravel(), pointers), shape=(len(indices), n))
    edges.eliminate_zeros()
    edges.sort_indices()
    return edges
