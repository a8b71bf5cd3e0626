"""Erdős–Rényi graphs: every pair of nodes is an edge with the same probability."""

import math

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from s2gnn.errors import InputError
from s2gnn.graphs.graph import Graph


def erdos_renyi(n_nodes: int, p: float, seed: int) -> Graph:
    """Generate a random graph whose pairs of nodes are edges with probability `p`, with weights uniform in (0, 1].

    Time and memory are linear in the number of edges: the number of pairs skipped between two edges is drawn from a
    geometric distribution (Batagelj and Brandes, 2005).
    """
    if not 0 <= p <= 1:
        raise InputError(f"p is {p}, but a probability is between 0 and 1")
    rng = np.random.default_rng(seed)
    codes = _successes(math.comb(n_nodes, 2), p, rng)
    starts = np.concatenate([[0], np.cumsum(np.arange(n_nodes - 1, -1, -1))])  # of the pairs (i, i + 1..N - 1)
    rows = np.searchsorted(starts, codes, side="right") - 1
    columns = codes - starts[rows] + rows + 1
    upper = sp.csr_array(
        (1 - rng.random(len(codes)), columns, np.searchsorted(codes, starts)), shape=(n_nodes, n_nodes)
    )
    return Graph.from_scipy(upper + upper.T)


def _successes(trials: int, p: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return which of independent trials succeed, each with probability `p`, in ascending order."""
    if p == 0:
        return np.empty(0, dtype=np.int64)
    last, parts = -1, []
    while last < trials:
        gaps = rng.geometric(p, size=int(1.05 * p * (trials - last)) + 16)
        parts.append(last + np.cumsum(np.minimum(gaps, trials + 1)))
        last = int(parts[-1][-1])
    found = np.concatenate(parts)
    return found[: np.searchsorted(found, trials)]
